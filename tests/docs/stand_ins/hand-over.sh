# Claude Code, which prints its input, and a session of Codex.
mkdir -p tools .codex/sessions/2026/01/05
printf '#!/bin/sh\necho "My input: $(cat)"\n' > tools/claude && chmod +x tools/claude
PATH="$PWD/tools:$PATH"
echo '{"timestamp":"2026-01-05T09:30:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why is it slow?"}]}}' > .codex/sessions/2026/01/05/rollout-2026-01-05T09-30-00-01a1df33-fc2a-7eb2-8416-482a85e91f8c.jsonl
