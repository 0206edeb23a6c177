from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, options, output
from segue.errors import UsageError
from segue.integrations.registry import INTEGRATIONS, MODULES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from segue.library import Library
    from segue.transfer.import_sessions import FailedImport, Imported

TOOLS = tuple(MODULES)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """The AI tools; files where no tool begins like this."""
    from click.shell_completion import CompletionItem

    found = [CompletionItem(tool) for tool in TOOLS if tool.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


@options.verb(
    "segue import claude --all",
    "segue import codex 01a1df33",
    "segue import login.json",
    "segue import chatgpt-export.zip",
    "segue import backup/ --store journal:archive",
    name="import",
)
@click.argument("tool", metavar="TOOL|FILE|FOLDER", type=click.Path(), shell_complete=_complete)
@click.argument("id", metavar="[ID]", type=options.text, default="")
@click.option("--all", "everything", is_flag=True, help="Import all sessions of the tool.")
@click.option("--id", "name", metavar="NAME", type=options.text, default="", help="Import the FILE under this id.")
@options.library
@options.as_json
def command(*, library: Library, tool: str, id: str, everything: bool, name: str, as_json: bool) -> int:
    """Import sessions from AI tools, exports or journals.

    TOOL is the name of an AI tool, as shown by segue tools, and ID is the id of a session in it, its beginning or
    end. FILE is what segue export wrote, a journal, an export archive of ChatGPT or Claude.ai, or - for standard input;
    FOLDER has exports or journals. What is in the store already is not imported again, and what is new is added. No
    source is changed. With --json one line per session.
    """
    if tool not in TOOLS:
        from segue.cli._import_files import import_path

        if id or everything:
            raise UsageError(f"{tool!r:.60} is not an AI tool", hint=f"there are {', '.join(TOOLS)}")
        return import_path(library, tool, id=name, as_json=as_json)
    if name:
        raise UsageError("--id is for files only", hint="sessions of AI tools have fixed ids in the store")
    from segue.console.paths import machine_trust
    from segue.transfer.import_position import ImportPositions
    from segue.transfer.import_sessions import ImportWatch, import_session
    from segue.transfer.originals import Originals
    from segue.user_folders import cache_folder

    if bool(id) == everything:
        raise UsageError("specify a session or --all", hint=f"for example: segue import {tool} --all")
    integration, home = INTEGRATIONS[tool], Path.home()
    trust, positions = machine_trust(), ImportPositions(cache_folder())
    if id:
        external = integration.find_session(id, home, os.environ)
        if original := Originals(trust.links, integration, library.store).find(external):
            raise UsageError(
                f"{tool} session {external.id} is a copy of session {original}, which is in the store",
                hint=f"import its replies with: segue resume {original} --from {tool}",
            )
        show(import_session(integration, external, library.store, trust=trust, positions=positions), as_json=as_json)
        return exit_codes.Exit.DONE
    code, count = exit_codes.Exit.DONE, 0
    watch = ImportWatch([integration], library.store, home=home, environ=os.environ, trust=trust, positions=positions)
    for found in watch.poll():
        count += 1
        code = show(found, as_json=as_json) or code
    if not count:
        has_copies = next(integration.sessions(home, os.environ), None) is not None
        what = "only copies of sessions in the store" if has_copies else "no sessions"
        output.warn(f"{tool} has {what} in {integration.root(home, os.environ)}")
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
