from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import AmbiguousIdError, InvalidIdError, NotFoundError, SegueError, SessionLockedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.cli._external import ExternalMatch
    from segue.library import Library
    from segue.model import Head

_OFFERED = 10
_SHORTEST = 4
"""What is shorter is more likely a word than the beginning of an id that a tool made."""
_LOOKED_INTO = 200
"""Sessions whose last turns are searched, where no title matches: more would take too long."""


@options.verb(
    "segue resume --last",
    "segue resume qa-2026",
    "segue resume login bug",
    "segue resume login --agent ollama/qwen3",
    "segue resume login --with codex",
    "segue resume login --with claude --print",
)
@click.argument("words", metavar="[ID|WORDS]...", nargs=-1, type=options.text, shell_complete=options.complete_ids)
@click.option("--last", is_flag=True, help="The session that was active last.")
@click.option(
    "--with",
    "tool",
    metavar="TOOL",
    default="",
    type=options.text,
    help="Go on in claude, codex, gemini, opencode, pi or any command.",
)
@click.option("--print", "printed", is_flag=True, help="Print the command for that instead of running it.")
@click.option(
    "--from", "back", metavar="TOOL", default="", type=options.text, help="Only take back what was said in a tool."
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
    back: str,
    agent: str,
    model: str,
    yes: bool,
) -> int:
    """Go on with a conversation: by its id, the beginning of it, or words of its title.

    The last turns are shown, and where it stopped. A question that was not answered can be asked again. If several
    sessions match, you are asked which one; without a terminal they are listed, and nothing is resumed.

    The id may be that of a session which an AI tool keeps, as segue list shows it: it goes on in that tool. With
    --agent, or --with another tool, it is copied into the store first.

    With --with the conversation goes on in an AI tool, in a new session of the tool that holds all that was said, or in
    any other command, which is told in words. What could not be carried is said. What is said there comes back when the
    tool ends, or with the next resume.
    """
    from segue.chat.lifecycle import find_drift, resume, run, show_recap
    from segue.cli._external import bring_in
    from segue.cli._handover import catch_up, import_from_tool, resume_in_tool, resume_native
    from segue.cli.chat import dialect
    from segue.console.durations import ago
    from segue.console.surface import open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.integrations import INTEGRATIONS
    from segue.tools.approval import TerminalApprover

    _refuse_clashes(last=last, words=words, ways=(tool, back, agent))
    kept = None if back else _kept(library, words)
    if kept is not None and not agent and tool in {"", kept.tool} and kept.tool in INTEGRATIONS:
        return resume_native(kept, model=model, printed=printed)
    if printed and not tool:
        raise UsageError("--print prints the command of a tool", hint="say which one by --with")
    name = bring_in(library, kept) if kept is not None else _find(library, words, last=last)
    if name is None:
        return Exit.DECLINED
    if back:
        import_from_tool(library, name, back)
        return Exit.DONE
    surface = open_surface()
    terminal = surface.terminal
    resolver = open_agents(
        surface,
        approver=TerminalApprover(terminal, yes=yes),
        preset_for=preset_by_type(surface.cwd),
    )
    if (owner := library.store.owner(name)) is not None:  # before anybody is asked anything
        raise SessionLockedError(name, pid=owner.pid, host=owner.host, since=owner.since)
    before = library.overview(name)
    is_over = before.status == "completed"
    if is_over and not yes and not terminal.ask(f"Session {name} is completed. Go on with it?", default=False):
        output.warn(f"session {name} stays as it is")
        return Exit.DECLINED
    if tool:
        return resume_in_tool(library, name, tool, model=model, printed=printed, force=is_over)
    catch_up(library, name)
    conversation = resume(library, resolver, name, agent=agent, model=model, force=is_over)
    try:
        show_recap(conversation.session, terminal, when=ago(before.updated_at, datetime.now(UTC)), was=before.status)
        if changed := find_drift(conversation):
            terminal.note(changed)
    except BaseException:
        conversation.session.release()
        raise
    return run(library, conversation, resolver, dialect=dialect(library, resolver))


def _refuse_clashes(*, last: bool, words: Sequence[str], ways: Sequence[str]) -> None:
    if last and words:
        raise UsageError("--last and words exclude each other", hint="leave one of them out")
    if sum(map(bool, ways)) > 1:
        raise UsageError("--with, --from and --agent exclude each other", hint="leave all but one of them out")


def _find(library: Library, words: Sequence[str], *, last: bool) -> str | None:
    return _last(library) if last else _chosen(_matching(library, words), words)


def _last(library: Library) -> str:
    for head in library.list():
        if not head.damage:
            return head.id
        output.warn(f"{head.id} is damaged ({head.damage}); segue verify {head.id} shows every place")
    raise _nothing(library)


def _kept(library: Library, words: Sequence[str]) -> ExternalMatch | None:
    """The session that a tool keeps under this id; what the store has comes first."""
    from segue.cli._external import find_external_match

    if len(words) != 1:
        return None
    try:
        library.resolve(words[0])
    except AmbiguousIdError:
        return None
    except (InvalidIdError, NotFoundError):
        return find_external_match(words[0], shortest=_SHORTEST)
    return None


def _matching(library: Library, words: Sequence[str]) -> list[Head]:
    """By id, by the beginning of one, by words of the title, or else by what was said last; the last active first."""
    if len(words) == 1:
        try:
            return [library.store.head(library.resolve(words[0]))]
        except AmbiguousIdError as error:
            candidates = set(error.candidates)
            return [head for head in library.list() if head.id in candidates]
        except (InvalidIdError, NotFoundError):
            pass  # it is no id
    wanted = [word.casefold() for word in words]
    heads = library.list()
    if not heads:
        raise _nothing(library)
    found = [head for head in heads if _has(wanted, head.id, head.title, *head.tags)]
    if not found:
        found = [head for head in heads[:_LOOKED_INTO] if not head.damage and _has(wanted, *_said(library, head.id))]
    if not found:
        text = " ".join(words)
        raise NotFoundError(f"no session matches {text!r} in {library.store.url}", hint="segue list shows all")
    return found


def _has(wanted: Sequence[str], *texts: str) -> bool:
    text = "\n".join(texts).casefold()
    return all(word in text for word in wanted)


def _said(library: Library, id: str) -> list[str]:
    from segue.chat.summary import summarize

    try:
        return [library.store.overview(id).summary, summarize(library.store.tail(id, 2))]
    except SegueError:
        return []  # damaged, or gone meanwhile: what cannot be read matches nothing


def _chosen(heads: Sequence[Head], words: Sequence[str]) -> str | None:
    """The one there is, or the one a person chooses; None if that is none of them."""
    if len(heads) == 1:
        return heads[0].id
    lines = [f"  {number:>2}  {_line(head)}" for number, head in enumerate(heads[:_OFFERED], 1)]
    more = [f"      and {len(heads) - _OFFERED} more; segue list shows all"] if len(heads) > _OFFERED else []
    output.write_stderr("\n".join([*lines, *more]))
    if not output.stdin_is_tty():
        what = f"{len(heads)} sessions match {' '.join(words)!r}" if words else f"there are {len(heads)} sessions"
        raise NotFoundError(what, hint="say one of these ids, or --last")
    while answer := output.prompt("Which one? (a number; Enter for none) "):
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
    return NotFoundError(f"there are no sessions in {library.store.url}", hint="segue chat starts one")
