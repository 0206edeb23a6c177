"""The commands of `cortext`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_HELP = {"help_option_names": ["-h", "--help"]}
_STATUSES = click.Choice(["active", "paused", "completed"])


class CortextCommands(click.Group):
    """In the order in which they are used; a word that names none is told what it may have meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return ["init", "new", "stop", "complete", "resume", "list"]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.commands, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "cortext --help shows all"
            raise UsageError(f"there is no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)


def _tool(help: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option("--tool", metavar="NAME", default="", help=help)


_agent = click.option("--agent", metavar="NAME", default="", help="Who answers in the built-in chat.")
_model = click.option("--model", metavar="NAME", default="", help="The model that answers.")
_type = click.option("--type", metavar="TYPE", default="", help="Only conversations of this type.")
_status = click.option("--status", type=_STATUSES, default=None, help="Only conversations with this status.")
_no_commit = click.option("--no-commit", is_flag=True, help="Leave git alone.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors; talk to nobody.")


@click.group("cortext", cls=CortextCommands, invoke_without_command=True, context_settings=_HELP)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.pass_context
def app(ctx: click.Context, *, version: bool) -> int:
    """Conversations in a workspace: begin one, stop it, and go on with it in whichever tool you use.

    An ID is what cortext list shows, or the beginning of it; other words are looked for in titles and summaries.
    """
    if version:
        from segue._version import __version__

        output.line(f"cortext {__version__}")
    elif ctx.invoked_subcommand is None:
        output.text(ctx.get_help())
    return exit_codes.Exit.DONE


@app.command(context_settings=_HELP)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="An AI tool that gets the slash commands.")
@click.option("--no-git", is_flag=True, help="Make no git repository.")
@click.option("--trust", is_flag=True, help="Let the hooks and filters of the repository run.")
def init(*, folder: Path, tools: tuple[str, ...], no_git: bool, trust: bool) -> int:
    """Make a folder a workspace, with slash commands for the AI tools that are found here, or named.

    Doing it again adds what is missing, and changes nothing that is there. Where the repository was not made here, you
    are asked whether its own hooks and filters may run when a conversation is committed.
    """
    from segue.dialects.cortext.init import set_up

    return set_up(folder, tools, git=not no_git, trusts=trust)


@app.command(context_settings=_HELP)
@click.argument("type", metavar="TYPE")
@click.argument("topic", metavar="TOPIC", nargs=-1)
@_tool("Where to talk: segue (the built-in chat), claude, codex, gemini, opencode.")
@_agent
@_model
@_no_commit
@_json
def new(*, type: str, topic: tuple[str, ...], tool: str, agent: str, model: str, no_commit: bool, as_json: bool) -> int:
    """Begin a conversation: brainstorm, debug, plan, learn, meeting, review, or a type of your own.

    A type of your own is a file .workspace/types/TYPE.md that says how the agent is to behave.
    """
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.lifecycle import begin

    with WorkspaceContext(commit=not no_commit) as desk:
        return begin(desk, type, " ".join(topic), tool=tool, agent=agent, model=model, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID]", nargs=-1)
@click.option("--summary", metavar="TEXT", default="", help="Where it stopped, in your words.")
@_no_commit
@_json
def stop(*, words: tuple[str, ...], summary: str, no_commit: bool, as_json: bool) -> int:
    """Save and pause a conversation: the one you call it from, unless you name another.

    Within an AI tool that is the conversation of its session; elsewhere the one that is active, or was last. If several
    are active and it cannot be told which one is meant, you are asked, or told their ids.
    """
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.lifecycle import leave

    with WorkspaceContext(commit=not no_commit) as desk:
        return leave(desk, " ".join(words), "paused", summary=summary, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID]", nargs=-1)
@click.option("--summary", metavar="TEXT", default="", help="What came of it, in your words.")
@_no_commit
@_json
def complete(*, words: tuple[str, ...], summary: str, no_commit: bool, as_json: bool) -> int:
    """Save a conversation and mark it as done."""
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.lifecycle import leave

    with WorkspaceContext(commit=not no_commit) as desk:
        return leave(desk, " ".join(words), "completed", summary=summary, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID|WORDS]", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Show what can be resumed, and resume nothing.")
@_type
@_status
@_tool("Go on in this tool: segue (the built-in chat), claude, codex, gemini, opencode.")
@_agent
@_model
@click.option("-y", "--yes", is_flag=True, help="Go on also if it was marked complete.")
@_no_commit
@_json
def resume(
    *,
    words: tuple[str, ...],
    only_list: bool,
    type: str,
    status: str | None,
    tool: str,
    agent: str,
    model: str,
    yes: bool,
    no_commit: bool,
    as_json: bool,
) -> int:
    """Go on with a conversation, in the tool that it was held in last.

    If several match, you are asked which one; without a terminal they are listed, and the exit code is 1.
    """
    from segue.dialects.cortext.choice import choose, matching
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.lifecycle import resume as come_back
    from segue.dialects.cortext.table import plain, show

    sought, only = " ".join(words), {"type": type, "status": status or ""}
    with WorkspaceContext(commit=not no_commit) as desk:
        if only_list:
            return show(desk.conversations, sought, **only, as_json=as_json)
        if as_json:
            found = matching(desk.conversations, sought, **only)
            if len(found) > 1:
                output.data([plain(card) for card in found])
                return exit_codes.Exit.DECLINED
            card = found[0]
        elif (chosen := choose(desk.conversations, sought, **only)) is not None:
            card = chosen
        else:
            return exit_codes.Exit.DECLINED
        return come_back(desk, card, tool=tool, agent=agent, model=model, yes=yes, as_json=as_json)


@app.command("list", context_settings=_HELP)
@click.argument("words", metavar="[WORDS]", nargs=-1)
@_type
@_status
@_json
def list_(*, words: tuple[str, ...], type: str, status: str | None, as_json: bool) -> int:
    """Show the conversations of the workspace, the last active first."""
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.table import show

    with WorkspaceContext(commit=False) as desk:
        return show(desk.conversations, " ".join(words), type=type, status=status or "", as_json=as_json)
