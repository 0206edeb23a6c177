# The sessions of Cline, as an integration reads them.
cp -R "$CORPUS/homes/cline/." .
find .cline -exec touch -d 2026-01-05 {} +
