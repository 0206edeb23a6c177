# The log of llm.
mkdir -p .config/io.datasette.llm
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())' .config/io.datasette.llm/logs.db "$CORPUS/llm/logs.sql"
touch -d 2026-01-05 .config/io.datasette.llm/logs.db
