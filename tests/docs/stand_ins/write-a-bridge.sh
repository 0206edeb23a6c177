# The chats that the Python code on the page leaves.
"$(sed -n 's/^exec "\([^"]*\)".*/\1/p' "$(command -v segue)")" - "$CORPUS/../../docs/how-to/write-a-bridge.md" <<'PYTHON' > /dev/null
import re
import sys
from pathlib import Path

exec("".join(re.findall(r"^```python\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)))
PYTHON
