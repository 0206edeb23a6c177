"""The `segue` command: one module per verb, which parses, calls the library and prints. `app` finds them."""

from __future__ import annotations

from typing import NoReturn

from segue.console.entry import enter


def main() -> NoReturn:
    """The entry point of the command."""
    enter("segue", _run)


def _run(args: list[str]) -> int:
    if args[:2] == ["scope", "hook"]:
        from segue.cli._deadline import SECONDS, answer_within

        return answer_within(SECONDS, lambda: _perform(args))
    return _perform(args)


def _perform(args: list[str]) -> int:
    from segue.cli.app import run

    return run(args)
