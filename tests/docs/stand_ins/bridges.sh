# What the example of the page stored, as the tests of the bridge run it.
cp -r "$CORPUS/bridges/google-adk" agents
