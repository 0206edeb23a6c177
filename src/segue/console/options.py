"""What the verbs share: their help, their options, and how ids, branches and tags complete in a shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from segue.errors import SegueError, UsageError

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Head

F = TypeVar("F", bound=Callable[..., object])


class VerbCommand(click.Command):
    """A command with examples under its options."""

    examples: Sequence[str] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")


def verb(
    *examples: str, takes_dashes: bool = False, name: str | None = None
) -> Callable[[Callable[..., int | None]], VerbCommand]:
    """Make a function a verb; `takes_dashes` leaves words such as -x to it."""
    settings: dict[str, object] = {"help_option_names": ["--help"] if takes_dashes else ["-h", "--help"]}
    if takes_dashes:
        settings["ignore_unknown_options"] = True

    def make(function: Callable[..., int | None]) -> VerbCommand:
        module = function.__module__.rpartition(".")[2]
        command = click.command(name or module, cls=VerbCommand, context_settings=settings)(function)
        command.examples = examples
        return command

    return make


def text(value: str) -> str:
    """Text from the command line, which the system hands over as bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{value!r:.60} is not UTF-8", hint="convert it first") from None
    return value


def library(function: F) -> F:
    """`--store`, handed over as the library that it names."""
    return click.option(
        "--store",
        "library",
        metavar="URL",
        envvar="SEGUE_STORE",
        callback=_open,
        help="Where the sessions are, as in journal:/path; SEGUE_STORE says it for all calls.",
    )(function)


def as_json(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors.")(function)


def session(function: F) -> F:
    return click.argument("id", metavar="ID", type=text, shell_complete=complete_ids)(function)


def yes(function: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(function)


def yes_to_tools(function: F) -> F:
    about = "Let tools do what the scope allows without a question; it is not widened."
    return click.option("-y", "--yes", is_flag=True, help=about)(function)


def branch(function: F) -> F:
    return click.option(
        "--branch",
        metavar="NAME",
        type=text,
        shell_complete=complete_branches,
        help="Another branch than the active one.",
    )(function)


def agent(function: F) -> F:
    return click.option(
        "--agent",
        metavar="NAME",
        default="",
        type=text,
        shell_complete=complete_answerers,
        help="Who answers: a preset, offline, openai/MODEL, claude, 'command:…'.",
    )(function)


def model(function: F) -> F:
    return click.option("--model", metavar="NAME", default="", type=text, help="Another model than theirs.")(function)


def complete_answerers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    from segue.console.surface import open_agents, open_surface

    try:
        names = open_agents(open_surface()).names()
    except SegueError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    found = _library(ctx)
    try:
        return sorted(name for name in found.store.ids() if name.startswith(incomplete)) if found else []
    except SegueError:
        return []  # a shell that completes has no place for complaints


def complete_branches(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    found = _library(ctx)
    # Behind an option that still lacks its value, click has not sorted the arguments yet.
    id = ctx.params.get("id") or next(iter(ctx.args), "")
    try:
        names = found.overview(id).branches if found else {}
    except SegueError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))


def complete_tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _complete_from_heads(ctx, incomplete, lambda head: head.tags)


def complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _complete_from_heads(ctx, incomplete, lambda head: (head.agent,))


def _complete_from_heads(ctx: click.Context, incomplete: str, words: Callable[[Head], Sequence[str]]) -> list[str]:
    found = _library(ctx)
    try:
        known = {word for head in found.list() for word in words(head)} if found else set()
    except SegueError:
        return []
    return sorted(word for word in known if word and word.startswith(incomplete))


def _library(ctx: click.Context) -> Library | None:
    return ctx.params.get("library")


def open_library(url: str | None = None) -> Library:
    from segue.console.indexed_library import IndexedLibrary
    from segue.console.traces import forget
    from segue.library import open as open_url
    from segue.user_folders import cache_folder

    return IndexedLibrary(open_url(url or None).store, forget=forget, index_folder=cache_folder)


def _open(ctx: click.Context, param: click.Parameter, value: str | None) -> Library:  # noqa: ARG001 - click's signature
    found = open_library(value)
    ctx.call_on_close(found.close)
    return found
