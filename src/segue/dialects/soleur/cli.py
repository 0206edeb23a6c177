"""The commands of `soleur`; `spar` is the default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, output
from segue.dialects.soleur.paths import SoleurPaths
from segue.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_HELP = {"help_option_names": ["-h", "--help"]}
_OWN = {"-h", "--help", "-V", "--version"}


def _complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from segue.console.completion import complete_sessions, session_item
    from segue.dialects.soleur.sessions import open_store, preview
    from segue.library import Library

    def find() -> list[CompletionItem]:
        store = open_store(_paths())
        with Library(store) as library:
            return [session_item(head.id, preview(store, head)) for head in library.list()]

    return complete_sessions(find)(ctx, param, incomplete)


class SoleurCommands(click.Group):
    """Runs `spar` if no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not (args or ctx.resilient_parsing) or (args and args[0].startswith("-") and args[0] not in _OWN):
            args = ["spar", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return ["spar", "sessions", "load", "decisions"]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.commands, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "see soleur --help"
            raise UsageError(f"there is no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


@click.group("soleur", cls=SoleurCommands, invoke_without_command=True, context_settings=_HELP)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
def app(*, version: bool) -> int:
    """Think decisions through with a sparring partner.

    The default command is spar. ID is the id of a session, its beginning or its end.
    """
    if version:
        from segue._version import __version__

        output.line(f"soleur {__version__}")
    return exit_codes.Exit.DONE


@app.command(context_settings=_HELP)
@click.option("--session", metavar="ID", shell_complete=_complete_sessions, help="Resume this session.")
@click.option("--fresh", is_flag=True, help="Start a new session without asking.")
@click.option("--agent", metavar="NAME", default="", help="Preset or agent that answers, e.g. offline.")
def spar(*, session: str | None, fresh: bool, agent: str) -> int:
    """Resume the last session, or start a new one.

    Every answer is saved in ~/.soleur/sessions at once. A README.md in the current folder is offered as context.
    """
    from segue.dialects.soleur.chat import SoleurChat

    if session is not None and fresh:
        raise UsageError("--session and --fresh cannot be combined", hint="use one of them")
    with SoleurChat(_paths()) as chat:
        return chat.resume(session, agent) if session is not None else chat.start(agent, fresh=fresh)


@app.command(context_settings=_HELP)
@click.argument("id", metavar="ID", shell_complete=_complete_sessions)
@click.option("--agent", metavar="NAME", default="", help="Preset or agent to use from now on.")
def load(*, id: str, agent: str) -> int:
    """Resume a session."""
    from segue.dialects.soleur.chat import SoleurChat

    with SoleurChat(_paths()) as chat:
        return chat.resume(id, agent)


@app.command(context_settings=_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")
def sessions(*, as_json: bool) -> None:
    """List the saved sessions, the last active first."""
    from segue.dialects.soleur.sessions import show_list

    show_list(_paths(), as_json=as_json)


@app.command(context_settings=_HELP)
@click.option(
    "--project",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    default="",
    help="Project to show instead of the current one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")
def decisions(*, project: str, as_json: bool) -> None:
    """Show the decisions of the current project.

    They are stored in ~/.soleur/decisions, one Markdown file per project, which you may edit.
    """
    from segue.console.surface import here
    from segue.dialects.soleur.ledger import Ledger
    from segue.dialects.soleur.paths import project_name

    name = project or project_name(here())
    ledger = Ledger(_paths().decisions)
    if as_json:
        output.data(list(ledger.entries(name)))
    elif text := ledger.text(name):
        output.text(text)
    else:
        output.line(f"No decisions recorded in project {name}")


def _paths() -> SoleurPaths:
    return SoleurPaths(Path.home())
