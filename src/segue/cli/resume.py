from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import AmbiguousIdError, InvalidIdError, NotFoundError, SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.cli._external import ExternalMatch
    from segue.library import Library
    from segue.model import Head

_LISTED = 10
_SHORTEST_PREFIX = 4
"""A shorter text is more likely a word than the prefix of an id of an AI tool."""
_SEARCHED = 200
"""In how many sessions the last turns are searched if no title matches: more would take too long."""


@options.verb(
    "segue resume --last",
    "segue resume qa-2026",
    "segue resume login bug",
    "segue resume login --agent ollama/qwen3",
    "segue resume login --with codex",
    "segue resume login --with claude --print",
)
@click.argument("words", metavar="[ID|WORDS]...", nargs=-1, type=options.text, shell_complete=options.complete_ids)
@click.option("--last", is_flag=True, help="Resume the session that was active last.")
@click.option(
    "--with",
    "tool",
    metavar="TOOL",
    default="",
    type=options.text,
    help="Continue in claude, codex, gemini, opencode, pi or any command.",
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
    last: bool,
    tool: str,
    printed: bool,
    source: str,
    agent: str,
    model: str,
    yes: bool,
) -> int:
    """Resume a session by its id or by words of its title.

    An id may be shortened to a unique prefix. The last turns and a summary are shown. A question that was not answered
    can be asked again. If several sessions match, you choose one; without a terminal they are listed, and nothing is
    resumed.

    ID may also be a session of an AI tool, as shown by segue list: it continues in that tool. With --agent, or --with
    another tool, it is imported into the store first.

    With --with the conversation continues in an AI tool, in a new session of the tool that contains all turns, or in
    any other command, which gets them as text. Losses are listed. The replies are imported when the tool exits, or with
    the next resume.
    """
    _refuse_clashes(last=last, words=words, targets=(tool, source, agent))
    external = None if source else _find_external(library, words)
    if external is not None and not agent and tool in {"", external.tool} and external.integration.can_launch:
        from segue.cli._handover import resume_native

        return resume_native(external, model=model, printed=printed)
    if printed and not tool:
        raise UsageError("--print prints the command of a tool", hint="name the tool with --with")
    id = _import(library, external) if external is not None else _find(library, words, last=last)
    if id is None:
        return Exit.DECLINED
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


def _import(library: Library, external: ExternalMatch) -> str:
    from segue.cli._external import import_match

    return import_match(library, external)


def _refuse_clashes(*, last: bool, words: Sequence[str], targets: Sequence[str]) -> None:
    if last and words:
        raise UsageError("--last and words cannot be used together", hint="omit one of them")
    if sum(map(bool, targets)) > 1:
        raise UsageError("--with, --from and --agent cannot be used together", hint="omit all but one of them")


def _find(library: Library, words: Sequence[str], *, last: bool) -> str | None:
    return _last(library) if last else _choose(_matching(library, words), words)


def _last(library: Library) -> str:
    for head in library.list():
        if not head.damage:
            return head.id
        output.warn(f"{head.id} is damaged ({head.damage}); for details: segue verify {head.id}")
    raise _nothing(library)


def _find_external(library: Library, words: Sequence[str]) -> ExternalMatch | None:
    """The session of an AI tool with this id; a session of the store comes first."""
    from segue.cli._external import find_external_match

    if len(words) != 1:
        return None
    try:
        library.resolve(words[0])
    except AmbiguousIdError:
        return None
    except (InvalidIdError, NotFoundError):
        return find_external_match(words[0], shortest=_SHORTEST_PREFIX)
    return None


def _matching(library: Library, words: Sequence[str]) -> list[Head]:
    """The sessions that match by id, prefix, words of the title, or else by their last turns; the last active first."""
    if len(words) == 1:
        try:
            return [library.store.head(library.resolve(words[0]))]
        except AmbiguousIdError as error:
            candidates = set(error.candidates)
            return [head for head in library.list() if head.id in candidates]
        except (InvalidIdError, NotFoundError):
            pass  # it is not an id
    wanted = [word.casefold() for word in words]
    heads = library.list()
    if not heads:
        raise _nothing(library)
    found = [head for head in heads if _has(wanted, head.id, head.title, *head.tags)]
    if not found:
        found = [head for head in heads[:_SEARCHED] if not head.damage and _has(wanted, *_last_texts(library, head.id))]
    if not found:
        text = " ".join(words)
        raise NotFoundError(f"no session matches {text!r} in {library.store.url}", hint="list all with: segue list")
    return found


def _has(wanted: Sequence[str], *texts: str) -> bool:
    text = "\n".join(texts).casefold()
    return all(word in text for word in wanted)


def _last_texts(library: Library, id: str) -> list[str]:
    from segue.chat.summary import summarize

    try:
        return [library.store.overview(id).summary, summarize(library.store.tail(id, 2))]
    except SegueError:
        return []  # damaged or deleted meanwhile: it does not match


def _choose(heads: Sequence[Head], words: Sequence[str]) -> str | None:
    """The only session, or the one that the user chooses; None if the user chooses none."""
    if len(heads) == 1:
        return heads[0].id
    lines = [f"  {number:>2}  {_line(head)}" for number, head in enumerate(heads[:_LISTED], 1)]
    more = [f"      and {len(heads) - _LISTED} more; list all with: segue list"] if len(heads) > _LISTED else []
    output.write_stderr("\n".join([*lines, *more]))
    if not output.stdin_is_tty():
        what = f"{len(heads)} sessions match {' '.join(words)!r}" if words else f"there are {len(heads)} sessions"
        raise NotFoundError(what, hint="use one of these ids, or --last")
    while answer := output.prompt("Which one? (a number, Enter to cancel) "):
        if answer.isdecimal() and 1 <= int(answer) <= len(lines):
            return heads[int(answer) - 1].id
    return None


def _line(head: Head) -> str:
    from segue.console.durations import ago
    from segue.formats.terminal import one_line

    facts = [head.title or "(no title)", f"{head.turn_count} turns", ago(head.updated_at, datetime.now(UTC))]
    facts.append("damaged" if head.damage else head.status)
    return one_line(f"{head.id}  {' · '.join(facts)}")


def _nothing(library: Library) -> NotFoundError:
    return NotFoundError(f"there are no sessions in {library.store.url}", hint="start one with: segue chat")
