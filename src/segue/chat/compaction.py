"""Compaction: a conversation continues in a branch that begins with a summary of all turns before it.

Nothing is deleted: the turns stay in their branch. The window always sends the first turns of a branch, so the summary
is part of every later request.
"""

from __future__ import annotations

from contextlib import closing
from itertools import count as count_from
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from segue import process
from segue.chat.agent import AgentError, TextDelta
from segue.chat.agents.offline import OfflineAgent
from segue.chat.summary import summarize
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from segue.chat.agent import Piece, Request
    from segue.chat.conversation import Conversation
    from segue.model import Overview, Turn

_NAME = "compact"
_FEWEST_TURNS = 2
_MOST_TURNS = 200
"""Of an excerpt, which is not a summary and grows with the turns."""
_QUESTION = (
    "Summarize our conversation so far, so that we can continue it with your summary alone: the turns themselves will "
    "not be sent again. Keep what was asked, what was answered, found and decided, names, numbers, files and commands "
    "that still matter, what is open, and what was to come next. Reply with the summary only, as Markdown, in the "
    "language of the conversation."
)


class Compacted(NamedTuple):
    branch: str
    unread: int
    """Turns that did not fit into the request for the summary."""


def compact(conversation: Conversation, focus: str, *, show: Callable[[Iterable[str]], None]) -> Compacted:
    """Summarize the active branch, and continue in a new branch that begins with the summary.

    Nothing is recorded if there is no summary. `focus` is what the user wants to keep in it.
    """
    session = conversation.session
    conversation.save()
    if conversation.pending is not None:
        raise UsageError("your last message is not answered", hint="ask again, or take it back")
    count, before = session.overview.turn_count, session.branch
    if count < _FEWEST_TURNS:
        raise UsageError("there is nothing to summarize yet", hint="ask something first")
    texts: list[str] = []
    pieces, unread = _begin(conversation, focus)
    with process.interruptible(lambda: True), closing(pieces):
        show(_collected(pieces, texts))
    summary = "".join(texts).strip()
    if not summary:
        raise AgentError(f"{conversation.agent.name} gave no summary", hint="try again", can_retry=True)
    branch = session.fork(at=0, name=_free_name(session.overview))
    session.add("system", f"Summary of the {count:,} turns in branch {before}:\n\n{summary}")
    return Compacted(branch, unread)


def _begin(conversation: Conversation, focus: str) -> tuple[Generator[str], int]:
    """The summary as it streams, and the number of turns that are too many for it."""
    if isinstance(conversation.agent, OfflineAgent):
        turns = conversation.session.tail(_MOST_TURNS)
        return _excerpt(turns), conversation.session.overview.turn_count - len(turns)
    question = f"{_QUESTION} Most important: {focus}" if focus else _QUESTION
    request, unread = conversation.requests.make(
        question, preset=conversation.preset, changed=conversation.changed_files, model=conversation.model
    )
    return _ask(conversation, request), unread


def _ask(conversation: Conversation, request: Request) -> Generator[str]:
    # Every agent returns a generator; closing it stops the agent.
    with closing(cast("Generator[Piece]", conversation.agent.answer(request))) as pieces:
        yield from (piece.text for piece in pieces if isinstance(piece, TextDelta))


def _excerpt(turns: Sequence[Turn]) -> Generator[str]:
    """Each question with the main point of its answer, for an agent that is not a model."""
    questions = [at for at, turn in enumerate(turns) if turn.role == "user"]
    for start, end in pairwise([*questions, len(turns)]):
        yield f"- {summarize(turns[start:end])}\n"


def _collected(pieces: Iterable[str], texts: list[str]) -> Iterator[str]:
    for piece in pieces:
        texts.append(piece)
        yield piece


def _free_name(overview: Overview) -> str:
    names = (f"{_NAME}-{number}" if number > 1 else _NAME for number in count_from(1))
    return next(name for name in names if name not in overview.branches)
