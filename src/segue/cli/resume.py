from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._frameworks import check_no_program, check_not_framework
from segue.cli._lookup import choose_session, find_session
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from segue.cli._lookup import FoundSession
    from segue.library import Library


@options.verb(
    "segue resume --last",
    "segue resume qa-2026",
    "segue resume login bug",
    "segue resume login --agent ollama/qwen3",
    "segue resume login --with codex",
    "segue resume login --with claude --print",
)
@options.session_argument("words", metavar="[ID|WORDS]...", required=False)
@click.option(
    "--with",
    "tool",
    metavar="TOOL",
    default="",
    type=options.text,
    help="Continue in claude, codex, gemini, opencode, pi, kilo, qwen, copilot or any command.",
)
@click.option("--print", "printed", is_flag=True, help="Print the command of the tool instead of running it.")
@click.option(
    "--from", "source", metavar="TOOL", default="", type=options.text, help="Only import the replies from a tool."
)
@options.agent
@options.model
@options.yes
@options.library
def command(
    *,
    library: Library,
    words: tuple[str, ...],
    tool: str,
    printed: bool,
    source: str,
    agent: str,
    model: str,
    yes: bool,
) -> int:
    """Resume a session by its id or by words of its title.

    ID may be shortened to its beginning or its end; @2 is the second line of the last list, - the session used last.
    The last turns and a summary are shown. A question that was not answered
    can be asked again. If several sessions match, you choose one; without a terminal they are listed, and nothing is
    resumed.

    A session of a framework, such as langgraph, is continued by your program; --with or --agent continues it elsewhere.

    ID may also be a session of an AI tool, as shown by segue list: it continues in that tool. With --agent, or --with
    another tool, it is imported into the store first.

    With --with the conversation continues in an AI tool, in a new session of the tool that contains all turns, or in
    any other command, which gets them as text. Losses are listed. The replies are imported when the tool exits, or with
    the next resume.
    """
    if sum(map(bool, (tool, source, agent))) > 1:
        raise UsageError("--with, --from and --agent cannot be used together", hint="omit all but one of them")
    found = _find(library, words)
    library, id, external = found
    if source and external is not None:
        raise NotFoundError(
            f"{id} is a session of {external.tool}, and was not handed over from here",
            hint="name the session that was handed over",
        )
    if external is not None and not agent and tool in {"", external.tool} and external.integration.can_launch:
        from segue.cli._handover import resume_native

        return resume_native(external, model=model, printed=printed)
    check_not_framework(tool, agent)
    if external is None and not (tool or source or agent):
        check_no_program(library, id)
    if printed and not tool:
        raise UsageError("--print prints the command of a tool", hint="name the tool with --with")
    if external is not None:
        from segue.cli._external import import_match

        id = import_match(library, external)
    if source:
        from segue.cli._handover import import_from_tool

        import_from_tool(library, id, source)
        return Exit.DONE
    if tool:
        return _resume_in_tool(library, id, tool, model=model, printed=printed, yes=yes)
    return _resume_here(library, id, agent=agent, model=model, yes=yes)


def _resume_in_tool(library: Library, id: str, tool: str, *, model: str, printed: bool, yes: bool) -> int:
    from segue.cli._handover import resume_in_tool
    from segue.dialects.resuming import check_unlocked, confirm_completed

    check_unlocked(library, id)
    is_completed = library.overview(id).status == "completed"
    if is_completed and not yes and not confirm_completed(output.conversation(), f"session {id}"):
        return Exit.DECLINED
    return resume_in_tool(library, id, tool, model=model, printed=printed, force=is_completed)


def _resume_here(library: Library, id: str, *, agent: str, model: str, yes: bool) -> int:
    from segue.chat.lifecycle import run
    from segue.cli._handover import import_pending_replies
    from segue.cli.chat import dialect
    from segue.console.surface import open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.dialects.resuming import check_resumable, resume_conversation
    from segue.tools.approval import TerminalApprover

    surface = open_surface()
    terminal = surface.terminal
    resolver = open_agents(
        surface,
        preset_for=preset_by_type(surface.cwd),
        approver=TerminalApprover(terminal, yes=yes),
    )
    before = check_resumable(library, id, terminal, reopen=yes)
    if isinstance(before, Exit):
        return before
    import_pending_replies(library, id)
    conversation = resume_conversation(library, resolver, before, agent=agent, model=model)
    return run(library, conversation, resolver, dialect=dialect(library, resolver))


def _find(library: Library, words: tuple[str, ...]) -> FoundSession:
    if not words:
        return choose_session(library)
    if options.LAST in words and len(words) > 1:
        raise UsageError("--last and an ID or words cannot be used together", hint="omit one of them")
    return find_session(library, " ".join(words), skips_damaged=True)
