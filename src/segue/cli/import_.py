from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, options, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library
    from segue.transfer.import_sessions import FailedImport, Imported

TOOLS = ("claude", "codex", "gemini", "opencode", "pi", "llm", "aider")


@options.verb(
    "segue import claude --all",
    "segue import codex 01a1df33",
    "segue import opencode --all --store journal:archive",
    name="import",
)
@click.argument("tool", metavar="TOOL", type=click.Choice(TOOLS))
@click.argument("id", metavar="[ID]", type=options.text, default="")
@click.option("--all", "everything", is_flag=True, help="All sessions that the tool has here.")
@options.library
@options.as_json
def command(*, library: Library, tool: str, id: str, everything: bool, as_json: bool) -> int:
    """Copy sessions of an AI tool into the store: all of it the first time, later what is new.

    TOOL is claude, codex, gemini, opencode, pi, llm or aider. ID is the tool's own name of a session, or its beginning.
    The tool's files are only read. With --json a line a session.
    """
    from segue.integrations.histories import HISTORIES, find_external
    from segue.transfer.import_sessions import ImportWatch, import_session

    if bool(id) == everything:
        raise UsageError("say which session, or --all", hint=f"as in: segue import {tool} --all")
    history, home = HISTORIES[tool], Path.home()
    if id:
        kept = find_external(history, id, home, os.environ)
        show(import_session(history, kept, library.store), as_json=as_json)
        return exit_codes.Exit.DONE
    code, count = exit_codes.Exit.DONE, 0
    for found in ImportWatch([history], library.store, home=home, environ=os.environ).poll():
        count += 1
        code = show(found, as_json=as_json) or code
    if not count:
        output.warn(f"{tool} has no sessions in {history.root(home, os.environ)}")
    return code


def show(found: Imported | FailedImport, *, as_json: bool) -> exit_codes.Exit:
    """A line for what became of a session; beside it, whatever could not be read."""
    from segue.transfer.import_sessions import FailedImport

    if isinstance(found, FailedImport):
        what = f"{found.tool} session {found.native_id}" if found.native_id else found.tool
        output.warn(f"{what}: {found.error}")
        return exit_codes.exit_code_of(found.error)
    for damage in found.damages:
        output.warn(f"{damage.place}: {damage.reason}")
    if as_json:
        from msgspec.structs import asdict

        output.data_line(asdict(found) | {"damages": [str(damage) for damage in found.damages]})
    elif not found.session_id:
        output.line(f"{found.tool} session {found.native_id}: there is nothing in it yet")
    else:
        turns = f"{found.turns} {'turn' if found.turns == 1 else 'turns'}" if found.turns else "nothing new"
        waits = "; an answer that is being written waits" if found.is_growing else ""
        output.line(f"{found.session_id}: {turns}{waits}")
    return exit_codes.Exit.DONE
