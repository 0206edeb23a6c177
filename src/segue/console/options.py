"""What the verbs share: the form of their help, common options, and shell completion of ids, branches and tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from segue.errors import SegueError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from segue.library import Library
    from segue.model import Head

F = TypeVar("F", bound=Callable[..., object])

_LAST_OPTION = "--last"


LAST = "@last"
"""What `--last` passes as the session: the first one of `segue list`."""
PREVIOUS = "-"
"""The session that the last command in this terminal used."""
LONGEST_ID = 128


class SessionArgument(click.Argument):
    """An argument that names one session, or several."""


class SessionOption(click.Option):
    """An option that names a session."""


class CommandWithExamples(click.Command):
    """A command whose help ends with examples. `--last` takes the place of its session."""

    examples: Sequence[str] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if _LAST_OPTION in args and any(param.name == "last" for param in self.params):
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            if given.get("last"):
                args = [LAST, *args]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")


def verb(
    *examples: str, takes_dashes: bool = False, name: str | None = None
) -> Callable[[Callable[..., int | None]], CommandWithExamples]:
    """Turn a function into a verb. With `takes_dashes` an unknown option such as -x is passed to it as an argument."""
    settings: dict[str, object] = {"help_option_names": ["--help"] if takes_dashes else ["-h", "--help"]}
    if takes_dashes:
        settings["ignore_unknown_options"] = True

    def make(function: Callable[..., int | None]) -> CommandWithExamples:
        module = function.__module__.rpartition(".")[2]
        command = click.command(name or module, cls=CommandWithExamples, context_settings=settings)(function)
        command.examples = examples
        return command

    return make


def text(value: str) -> str:
    """The click type of text arguments: valid UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        from segue.formats.store_url import hide_password

        raise UsageError(f"{hide_password(value)!r:.60} is not UTF-8", hint="convert it first") from None
    return value


def library(function: F) -> F:
    """`--store`, passed to the verb as an open library."""
    return click.option(
        "--store",
        "library",
        metavar="URL",
        envvar="SEGUE_STORE",
        callback=_open,
        help="Store URL, e.g. journal:/path. [env: SEGUE_STORE]",
    )(function)


def as_json(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")(function)


def session(function: F) -> F:
    """ID or words or `--last`, passed to the verb as one text for `segue.cli._lookup`."""
    return session_argument("id", metavar="ID", callback=join_words)(function)


def optional_session(function: F) -> F:
    """Like `session`; without it, the verb gets None."""
    return session_argument("id", metavar="[ID]", required=False, callback=join_words)(function)


def first_session(function: F) -> F:
    """Like `session`, before other arguments: several words must be quoted."""
    return session_argument("id", metavar="ID", nargs=1)(function)


def session_argument(
    name: str,
    *,
    metavar: str,
    nargs: int = -1,
    required: bool = True,
    callback: Callable[[click.Context, click.Parameter, tuple[str, ...]], str | None] | None = None,
) -> Callable[[F], F]:
    """An argument for sessions, and `--last`, which takes its place."""
    argument = click.argument(
        name,
        cls=SessionArgument,
        metavar=metavar,
        nargs=nargs,
        required=required,
        callback=callback,
        type=text,
        shell_complete=complete_ids,
    )
    last = click.option(
        _LAST_OPTION, is_flag=True, expose_value=False, help="Use the first session of segue list as ID."
    )
    return lambda function: argument(last(function))


def join_words(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str | None:  # noqa: ARG001 - click's signature
    if LAST in words and len(words) > 1:
        raise UsageError("--last and an ID or words cannot be used together", hint="omit one of them")
    return " ".join(words) if words else None


def yes(function: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(function)


def yes_to_tools(function: F) -> F:
    about = "Run tools that the scope allows without asking; the scope is not widened."
    return click.option("-y", "--yes", is_flag=True, help=about)(function)


def branch(function: F) -> F:
    return click.option(
        "--branch",
        metavar="NAME",
        type=text,
        shell_complete=complete_branches,
        help="Branch to use instead of the active one.",
    )(function)


def agent(function: F) -> F:
    return click.option(
        "--agent",
        metavar="NAME",
        default="",
        type=text,
        shell_complete=complete_available_agents,
        help="Agent: a preset, offline, openai/MODEL, claude, 'command:…'.",
    )(function)


def model(function: F) -> F:
    return click.option(
        "--model", metavar="NAME", default="", type=text, help="Model to use instead of the agent's default."
    )(function)


def complete_available_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    from segue.console.surface import open_agents, open_surface

    try:
        names = open_agents(open_surface()).names()
    except SegueError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from segue.console.completion import complete_sessions

    return complete_sessions(lambda: ctx.obj(ctx, incomplete) if ctx.obj is not None else ())(ctx, param, incomplete)


def complete_branches(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    found = _library(ctx)
    # After an option without its value, click has not parsed the arguments yet.
    id = ctx.params.get("id") or next(iter(ctx.args), "")
    try:
        names = found.overview(id).branches if found else {}
    except SegueError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))


def complete_tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _complete_from_heads(ctx, incomplete, lambda head: head.tags)


def complete_recorded_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _complete_from_heads(ctx, incomplete, lambda head: (head.agent,))


def _complete_from_heads(ctx: click.Context, incomplete: str, values: Callable[[Head], Sequence[str]]) -> list[str]:
    found = _library(ctx)
    try:
        known = {value for head in _newest(found) for value in values(head)} if found else set()
    except SegueError:
        return []
    return sorted(value for value in known if value and value.startswith(incomplete))


def _newest(library: Library) -> Sequence[Head]:
    """All sessions, or of a store that may have very many the last active ones."""
    from segue.queries import MOST

    return library.list(limit=None if library.store.queries is None else MOST)


def _library(ctx: click.Context) -> Library | None:
    return ctx.params.get("library")


def open_library(url: str | None = None) -> Library:
    from segue.console.indexed_library import IndexedLibrary
    from segue.console.traces import forget
    from segue.library import open as open_url
    from segue.user_folders import cache_folder

    return IndexedLibrary(open_url(url or None).store, forget=forget, index_folder=cache_folder)


def is_store_option_given() -> bool:
    return click.get_current_context().get_parameter_source("library") is click.core.ParameterSource.COMMANDLINE


def _open(ctx: click.Context, param: click.Parameter, value: str | None) -> Library:  # noqa: ARG001 - click's signature
    found = open_library(value)
    ctx.call_on_close(found.close)
    return found
