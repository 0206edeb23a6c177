# A conversation of Claude Code, and one of Codex.
mkdir -p .claude/projects/-home-me-login .codex/sessions/2026/01/05
echo '{"type":"user","uuid":"1","parentUuid":null,"timestamp":"2026-01-05T09:30:00Z","message":{"role":"user","content":"Why does login fail?"}}' > .claude/projects/-home-me-login/5ee7.jsonl
echo '{"timestamp":"2026-01-05T09:30:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why is it slow?"}]}}' > .codex/sessions/2026/01/05/rollout-2026-01-05T09-30-00-01a1df33-fc2a-7eb2-8416-482a85e91f8c.jsonl
# An export archive of ChatGPT.
python3 -m zipfile -c chatgpt-export.zip "$CORPUS/archives/chatgpt/conversations.json"
