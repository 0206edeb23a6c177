"""The commands of `cortext`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

_HELP = {"help_option_names": ["-h", "--help"]}
_STATUSES = click.Choice(["active", "paused", "completed"])


def _complete_conversations(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from segue.console.completion import complete_sessions, session_item
    from segue.dialects.cortext.context import WorkspaceContext

    def find() -> list[CompletionItem]:
        with WorkspaceContext(commit=False) as context:
            return [session_item(entry.id, entry.title) for entry in context.conversations.entries()]

    return complete_sessions(find)(ctx, param, incomplete)


class CortextCommands(click.Group):
    """The commands in the order in which they are used; an unknown one gets suggestions."""

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


_agent = click.option("--agent", metavar="NAME", default="", help="Agent of the built-in chat.")
_model = click.option("--model", metavar="NAME", default="", help="Model to use instead of the agent's default.")
_type = click.option("--type", metavar="TYPE", default="", help="Show only conversations of this type.")
_status = click.option("--status", type=_STATUSES, default=None, help="Show only conversations with this status.")
_limit = click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Show at most N conversations.")
_no_commit = click.option("--no-commit", is_flag=True, help="Commit nothing to git.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors; start no chat.")


@click.group("cortext", cls=CortextCommands, invoke_without_command=True, context_settings=_HELP)
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.pass_context
def app(ctx: click.Context, *, version: bool) -> int:
    """Conversations in a workspace: start one, stop it, and resume it in any AI tool.

    An ID is what cortext list shows, or the beginning of it; other words are searched in titles and summaries.
    """
    if version:
        from segue._version import __version__

        output.line(f"cortext {__version__}")
    elif ctx.invoked_subcommand is None:
        output.text(ctx.get_help())
    return exit_codes.Exit.DONE


@app.command(context_settings=_HELP)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Write the slash commands for this AI tool.")
@click.option("--no-git", is_flag=True, help="Do not create a git repository.")
@click.option("--trust", is_flag=True, help="Let git run the hooks and filters of the repository.")
def init(*, folder: Path, tools: tuple[str, ...], no_git: bool, trust: bool) -> int:
    """Make a folder a workspace, with slash commands for AI tools.

    The slash commands are for the AI tools given by --tool, or for those that are installed. Running it again adds what
    is missing and changes nothing else. If the git repository was not made on this machine, you are asked whether git
    may run its hooks and filters when a conversation is committed.
    """
    from segue.dialects.cortext.init import init_workspace

    return init_workspace(folder, tools, git=not no_git, trust=trust)


@app.command(context_settings=_HELP)
@click.argument("type", metavar="TYPE")
@click.argument("topic", metavar="TOPIC", nargs=-1)
@_tool("Where to chat: segue (the built-in chat), claude, codex, gemini, opencode.")
@_agent
@_model
@_no_commit
@_json
def new(*, type: str, topic: tuple[str, ...], tool: str, agent: str, model: str, no_commit: bool, as_json: bool) -> int:
    """Start a conversation.

    TYPE is brainstorm, debug, plan, learn, meeting, review, or a type of your own: a file .workspace/types/TYPE.md with
    instructions for the agent.
    """
    from segue.dialects.cortext.chat import start
    from segue.dialects.cortext.context import WorkspaceContext

    with WorkspaceContext(commit=not no_commit) as context:
        return start(context, type, " ".join(topic), tool=tool, agent=agent, model=model, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID]", nargs=-1, shell_complete=_complete_conversations)
@click.option("--summary", metavar="TEXT", default="", help="Describe where it stopped.")
@_no_commit
@_json
def stop(*, words: tuple[str, ...], summary: str, no_commit: bool, as_json: bool) -> int:
    """Save and pause a conversation.

    Without an ID it is the current one: in an AI tool the conversation of its session, elsewhere the one that is
    active, or was last. If several are active, you are asked which one; without a terminal their ids are shown.
    """
    from segue.dialects.cortext import chat
    from segue.dialects.cortext.context import WorkspaceContext

    with WorkspaceContext(commit=not no_commit) as context:
        return chat.stop(context, " ".join(words), "paused", summary=summary, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID]", nargs=-1, shell_complete=_complete_conversations)
@click.option("--summary", metavar="TEXT", default="", help="Describe the outcome.")
@_no_commit
@_json
def complete(*, words: tuple[str, ...], summary: str, no_commit: bool, as_json: bool) -> int:
    """Save a conversation and mark it as completed."""
    from segue.dialects.cortext import chat
    from segue.dialects.cortext.context import WorkspaceContext

    with WorkspaceContext(commit=not no_commit) as context:
        return chat.stop(context, " ".join(words), "completed", summary=summary, as_json=as_json)


@app.command(context_settings=_HELP)
@click.argument("words", metavar="[ID|WORDS]", nargs=-1, shell_complete=_complete_conversations)
@click.option("--list", "only_list", is_flag=True, help="List the conversations instead of resuming one.")
@_type
@_status
@_limit
@_tool("Resume in this tool: segue (the built-in chat), claude, codex, gemini, opencode.")
@_agent
@_model
@click.option("-y", "--yes", is_flag=True, help="Resume it even if it was marked complete.")
@_no_commit
@_json
def resume(
    *,
    words: tuple[str, ...],
    only_list: bool,
    type: str,
    status: str | None,
    limit: int | None,
    tool: str,
    agent: str,
    model: str,
    yes: bool,
    no_commit: bool,
    as_json: bool,
) -> int:
    """Resume a conversation in the tool that it was last in.

    If several match, you are asked which one; without a terminal they are listed, and the exit code is 1.
    """
    from segue.dialects.cortext import chat
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.selection import choose, entry_json, find_matches, show_conversations

    wanted, filters = " ".join(words), {"type": type, "status": status or ""}
    with WorkspaceContext(commit=not no_commit) as context:
        if only_list:
            return show_conversations(context.conversations, wanted, **filters, limit=limit, as_json=as_json)
        if as_json:
            found = find_matches(context.conversations, wanted, **filters)
            if len(found) > 1:
                output.data([entry_json(entry) for entry in found])
                return exit_codes.Exit.DECLINED
            entry = found[0]
        elif (chosen := choose(context.conversations, wanted, **filters)) is not None:
            entry = chosen
        else:
            return exit_codes.Exit.DECLINED
        return chat.resume(context, entry, tool=tool, agent=agent, model=model, yes=yes, as_json=as_json)


@app.command("list", context_settings=_HELP)
@click.argument("words", metavar="[WORDS]", nargs=-1)
@_type
@_status
@_limit
@_json
def list_(*, words: tuple[str, ...], type: str, status: str | None, limit: int | None, as_json: bool) -> int:
    """List the conversations of the workspace, newest first."""
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.selection import show_conversations

    with WorkspaceContext(commit=False) as context:
        return show_conversations(
            context.conversations, " ".join(words), type=type, status=status or "", limit=limit, as_json=as_json
        )
