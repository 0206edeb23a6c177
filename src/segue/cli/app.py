"""The `segue` command itself: it imports only the verb that is called."""

from __future__ import annotations

import os
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = {
    "Start": ("chat", "resume", "ask", "new", "add"),
    "Read": ("list", "search", "show", "tail", "export"),
    "Branch": ("fork", "branches", "tree", "diff", "switch"),
    "Organize": ("rename", "tag", "pause", "complete", "reopen", "relink"),
    "Delete": ("delete", "trash", "clean"),
    "Import and convert": ("tools", "import", "watch", "convert"),
    "Permissions": ("trust", "scope"),
    "Emacs": ("gptel",),
    "Maintain": ("verify", "recover", "store"),
    "Set up": ("setup", "completion"),
}
VERBS = tuple(verb for verbs in SECTIONS.values() for verb in verbs)
_ELSEWHERE = {"gptel": "segue.dialects.gptel.cli"}
COMPLETE_VARIABLE = "_SEGUE_COMPLETE"
_ENVIRONMENT = (
    ("SEGUE_STORE", "store URL, unless --store is given"),
    ("SEGUE_DEBUG", "if set, show the traceback of an unexpected error"),
    ("NO_COLOR", "if set, do not use colours"),
    ("PAGER", "pager for long text on a terminal"),
)


def module_of(verb: str) -> str:
    """The module of a verb; a Python keyword gets an underscore."""
    return _ELSEWHERE.get(verb) or f"segue.cli.{verb}{'_' if iskeyword(verb) else ''}"


class Verbs(click.Group):
    """The verbs, each in the module of its name, which is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(module_of(cmd_name)).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "see segue --help"
            raise UsageError(f"unknown command {args[0]!r}", hint=hint)
        name, command, rest = super().resolve_command(ctx, args)
        store = ctx.params.get("store")
        if store is not None and command is not None:
            rest = _with_store(command, ctx, store, rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, VERBS))
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                found = [(verb, self.get_command(ctx, verb)) for verb in verbs]
                formatter.write_dl(
                    [(verb.ljust(width), command.get_short_help_str(80)) for verb, command in found if command]
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Exit codes"):
            formatter.write_dl([(f"{code:d}", meaning) for code, meaning in exit_codes.MEANINGS.items()])
        with formatter.section("Environment"):
            formatter.write_dl(_ENVIRONMENT)


def _with_store(command: click.Command, ctx: click.Context, store: str, args: list[str]) -> list[str]:
    """The arguments of a verb with the --store that was given before it; one that follows it comes first."""
    if any("--store" in param.opts for param in command.params):
        return ["--store", store, *args]
    nested = command.get_command(ctx, args[0]) if isinstance(command, click.Group) and args else None
    if nested is None:
        raise UsageError(f"segue {command.name} uses no store", hint=f"see segue {command.name} --help")
    return [args[0], *_with_store(nested, ctx, store, args[1:])]


@click.group(
    "segue",
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.option("--store", metavar="URL", help="Store URL for the command that follows, e.g. postgresql://host/db.")
@click.pass_context
def app(ctx: click.Context, version: bool, store: str | None) -> int:
    """The session layer for AI agents: start a conversation anywhere, stop it anywhere, resume it anywhere.

    ID is the id of a session, its beginning or its end, words of its title or text, @2 for the second line of the last
    list in this terminal, - for the session that was used last, or --last for the first line of segue list.
    """
    if version:
        from segue._version import __version__

        output.line(f"segue {__version__}")
    elif ctx.invoked_subcommand is None:
        if output.stdout_is_tty():
            from segue.cli._welcome import welcome

            return welcome() if store is None else invoke(["list", "--pick", "--store", store])
        output.text(ctx.get_help())
    return exit_codes.Exit.DONE


def run(args: Sequence[str]) -> int:
    """Run the command line and return the exit code; no exception escapes."""
    given = list(args)
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        output.prepare()
        if instruction := os.environ.get(COMPLETE_VARIABLE, ""):
            from segue.cli.completion import find_sessions
            from segue.console.completion import answer

            return answer(app, "segue", instruction, sessions=find_sessions)
        return invoke(given)
    except BaseException as error:  # noqa: BLE001 - the last stop of every error
        return exit_codes.report(error, as_json=as_json)


def invoke(given: list[str]) -> int:
    """Run a verb from within another one, which handles its errors."""
    with app.make_context("segue", given) as ctx:
        code = app.invoke(ctx)
    return code if isinstance(code, int) else exit_codes.Exit.DONE
