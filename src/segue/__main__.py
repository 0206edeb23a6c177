"""`python -m segue` is `segue`."""

from segue.cli import main

main()
