# A conversation of Claude Code, and Claude Code itself, which prints its input.
mkdir -p .claude/projects/-home-me-login tools
echo '{"type":"user","uuid":"1","parentUuid":null,"timestamp":"2026-01-05T09:30:00Z","message":{"role":"user","content":"Why does login fail?"}}' > .claude/projects/-home-me-login/5ee7.jsonl
printf '#!/bin/sh\necho "My input: $(cat)"\n' > tools/claude && chmod +x tools/claude
PATH="$PWD/tools:$PATH"
