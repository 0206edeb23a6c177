# Claude Code, which does every task.
mkdir -p tools
printf '#!/bin/sh\ncat > prompt.txt\necho "working on $RALPH_STORY"; touch token.txt README\n$RALPHTOOL agent task done $RALPH_STORY.1 > /dev/null\n' > tools/claude
chmod +x tools/claude
PATH="$PWD/tools:$PATH"
