from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, options, output
from segue.errors import UsageError
from segue.integrations.registry import INTEGRATIONS, with_history

if TYPE_CHECKING:
    from segue.library import Library
    from segue.transfer.import_sessions import FailedImport, Imported

TOOLS = tuple(with_history())


@options.verb(
    "segue import claude --all",
    "segue import codex 01a1df33",
    "segue import opencode --all --store journal:archive",
    name="import",
)
@click.argument("tool", metavar="TOOL", type=click.Choice(TOOLS))
@click.argument("id", metavar="[ID]", type=options.text, default="")
@click.option("--all", "everything", is_flag=True, help="Import all sessions of the tool.")
@options.library
@options.as_json
def command(*, library: Library, tool: str, id: str, everything: bool, as_json: bool) -> int:
    """Import sessions of an AI tool into the store.

    The first import copies the whole session, later ones copy what is new. TOOL is claude, codex, gemini, opencode, pi,
    llm or aider. ID is the id of a session in the tool, or its beginning. The files of the tool are only read. With
    --json one line per session.
    """
    from segue.console.paths import machine_trust
    from segue.transfer.import_sessions import ImportWatch, import_session
    from segue.transfer.originals import Originals

    if bool(id) == everything:
        raise UsageError("specify a session or --all", hint=f"for example: segue import {tool} --all")
    integration, home = INTEGRATIONS[tool], Path.home()
    trust = machine_trust()
    if id:
        external = integration.find_session(id, home, os.environ)
        if original := Originals(trust.links, integration, library.store).find(external):
            raise UsageError(
                f"{tool} session {external.id} is a copy of session {original}, which is in the store",
                hint=f"import its replies with: segue resume {original} --from {tool}",
            )
        show(import_session(integration, external, library.store, trust=trust), as_json=as_json)
        return exit_codes.Exit.DONE
    code, count = exit_codes.Exit.DONE, 0
    for found in ImportWatch([integration], library.store, home=home, environ=os.environ, trust=trust).poll():
        count += 1
        code = show(found, as_json=as_json) or code
    if not count:
        output.warn(f"{tool} has no sessions in {integration.root(home, os.environ)}")
    return code


def show(found: Imported | FailedImport, *, as_json: bool) -> exit_codes.Exit:
    """Print one line for a session, and a warning for everything that could not be read."""
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
        output.line(f"{found.tool} session {found.native_id}: it is empty so far")
    else:
        turns = f"{found.turns} {'turn' if found.turns == 1 else 'turns'}" if found.turns else "nothing new"
        growing = "; an unfinished answer is left for the next import" if found.is_growing else ""
        output.line(f"{found.session_id}: {turns}{growing}")
    return exit_codes.Exit.DONE
