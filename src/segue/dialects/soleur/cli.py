"""The commands of `soleur`; without one, it is `spar`."""

from __future__ import annotations

from pathlib import Path

import click

from segue.console import exit_codes, output
from segue.dialects.soleur.paths import SoleurPaths
from segue.errors import UsageError

_HELP = {"help_option_names": ["-h", "--help"]}
_OWN = {"-h", "--help", "-V", "--version"}


class SoleurCommands(click.Group):
    """Words that name no command are those of `spar`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in _OWN):
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
            hint = f"did you mean {' or '.join(near)}?" if near else "soleur --help shows all"
            raise UsageError(f"there is no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


@click.group("soleur", cls=SoleurCommands, invoke_without_command=True, context_settings=_HELP)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
def app(*, version: bool) -> int:
    """Think decisions through with a sparring partner, and keep what you decide.

    Without a command it is soleur spar. An ID may be shortened to any beginning that only one session has.
    """
    if version:
        from segue._version import __version__

        output.line(f"soleur {__version__}")
    return exit_codes.Exit.DONE


@app.command(context_settings=_HELP)
@click.option("--session", metavar="ID", help="Go on with this session.")
@click.option("--fresh", is_flag=True, help="Begin a new session without asking.")
@click.option("--agent", metavar="NAME", default="", help="Who answers: a preset, or an agent such as offline.")
def spar(*, session: str | None, fresh: bool, agent: str) -> int:
    """Talk: go on with the last session, or begin one.

    Every answer is saved as it comes, to ~/.soleur/sessions. A README.md in the current folder is offered as context.
    """
    from segue.dialects.soleur.chat import SoleurChat

    if session is not None and fresh:
        raise UsageError("--session and --fresh do not go together", hint="leave one of them out")
    with SoleurChat(_places()) as door:
        return door.load(session, agent) if session is not None else door.start(agent, fresh=fresh)


@app.command(context_settings=_HELP)
@click.argument("id", metavar="ID")
@click.option("--agent", metavar="NAME", default="", help="Let another answer from now on.")
def load(*, id: str, agent: str) -> int:
    """Restore a session and go on with it."""
    from segue.dialects.soleur.chat import SoleurChat

    with SoleurChat(_places()) as door:
        return door.load(id, agent)


@app.command(context_settings=_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")
def sessions(*, as_json: bool) -> None:
    """Show the saved sessions, the last active first."""
    from segue.dialects.soleur.sessions import show

    show(_places(), as_json=as_json)


@app.command(context_settings=_HELP)
@click.option(
    "--project", metavar="[NAME]", is_flag=False, flag_value="", default="", help="Of another project than this one."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")
def decisions(*, project: str, as_json: bool) -> None:
    """Show what was decided in the project one is in, in all its sessions.

    It is in ~/.soleur/decisions, one Markdown file a project, which you may edit.
    """
    from segue.dialects.resuming import here
    from segue.dialects.soleur.ledger import Ledger
    from segue.dialects.soleur.paths import project_of

    name = project or project_of(here())
    ledger = Ledger(_places().decisions)
    if as_json:
        output.data(list(ledger.entries(name)))
    elif text := ledger.text(name):
        output.text(text)
    else:
        output.line(f"No decisions recorded in project {name}")


def _places() -> SoleurPaths:
    return SoleurPaths(Path.home())
