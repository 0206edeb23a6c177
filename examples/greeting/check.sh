#!/bin/sh
# Decides whether what is there works.
set -eu
test "$(sh greet.sh Ada)" = "Hello, Ada!" || { echo "greet.sh Ada says: $(sh greet.sh Ada)"; exit 1; }
test "$(sh greet.sh)" = "Hello, world!" || { echo "greet.sh says: $(sh greet.sh)"; exit 1; }
