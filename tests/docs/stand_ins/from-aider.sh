# A project with the history of aider.
mkdir shop
cp "$CORPUS/aider/history.md" shop/.aider.chat.history.md
touch -d 2026-01-05 shop/.aider.chat.history.md
