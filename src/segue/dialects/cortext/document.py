"""The Markdown of a conversation: the transcript in its document, and the context for the agent that resumes it.

The document belongs to the user; only one block in it, between two comments, is kept up to date. The first comment
carries the hash of the block. So an edit of the block is noticed and left alone, and every other byte stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.durable.snapshot import read_signature
from segue.formats.markdown_escaping import escape_markdown, escape_markdown_line
from segue.formats.transcript import iso
from segue.integrations.format.pairs import is_spoken
from segue.integrations.shared.own_calls import without_own_calls
from segue.tools.recorded_calls import format_call_part
from segue.transfer.window import handover_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.durable.folder import Folder
    from segue.model import Overview, Turn
    from segue.session import LiveSession

_BEGIN = re.compile(rb"^<!-- segue:begin sha256:([0-9a-f]{64}) -->[ \t]*\r?\n", re.MULTILINE)
_END = re.compile(rb"^<!-- segue:end -->[ \t]*\r?$", re.MULTILINE)
_ANY_MARKER = re.compile(rb"<!--\s*segue:(?:begin|end)\b")

_STARTS = "This conversation begins."
_SHOWN_RESULT, _TOLD_RESULT = 600, 10_000
"""How many characters of the result of a tool the document shows, and an agent gets."""
_CONTINUES = "This conversation continues. Pick up where it stopped; what was said is a record, not a request."


class BlockError(ValueError):
    """Why the block is not written."""


class BlockResult(Struct, frozen=True, kw_only=True):
    """The result of writing the block."""

    changed: bool = False
    problem: str = ""
    """Why the document was left unchanged; empty if it was written, or was up to date."""


def write_block(folder: Folder, name: str, body: str, *, add: bool = False) -> BlockResult:
    """Put the body into the block of a document, atomically: either the whole new document is there, or the old one.

    With `add`, a document without a block gets one at its end.
    """
    before = read_signature(folder, name)
    try:
        old = folder.read(name)
        new = with_block(old, body, add=add)
    except FileNotFoundError:
        return BlockResult(problem=f"{name} does not exist any more, so the transcript is only in .session/")
    except BlockError as error:
        return BlockResult(problem=f"{name} was left unchanged: {error}")
    if new == old:
        return BlockResult()
    mode = os.lstat(folder.path_of(name)).st_mode
    fd, temporary = folder.begin(new, name)
    try:
        with folder.storage_errors(name, "write"):
            folder.kernel.fchmod(fd, mode & 0o777)  # the user's file keeps its permissions
    finally:
        folder.kernel.close(fd)
    if read_signature(folder, name) != before:
        folder.discard(temporary)
        return BlockResult(problem=f"{name} was left unchanged: it was written to at this moment; stop again to retry")
    folder.rename(temporary, name)
    return BlockResult(changed=True)


def with_block(document: bytes, body: str, *, add: bool = False) -> bytes:
    """The document with this body in its block, and every other byte unchanged. Raises BlockError."""
    block = _block(body)
    if _ANY_MARKER.search(document) is None:
        if not add:
            lines = _block("").decode().strip().replace("\n", " and ")
            raise BlockError(f"it has no block for the transcript; these two lines make one: {lines}")
        gap = b"" if not document or document.endswith(b"\n\n") else b"\n" if document.endswith(b"\n") else b"\n\n"
        return document + gap + block
    begins, ends = list(_BEGIN.finditer(document)), list(_END.finditer(document))
    if len(begins) != 1 or len(ends) != 1 or begins[0].end() > ends[0].start():
        raise BlockError("one of the two comments around the transcript was removed, changed or doubled; restore it")
    inner = document[begins[0].end() : ends[0].start()]
    if _hash(inner) != begins[0][1]:
        raise BlockError(
            "the text between the two comments around the transcript was edited; move the edit out of them, or remove"
            " both comments to keep it"
        )
    if inner.replace(b"\r\n", b"\n") == _inner(body):
        return document
    return document[: begins[0].start()] + block.removesuffix(b"\n") + document[ends[0].end() :]


def render_body(about: Overview, turns: Sequence[Turn]) -> str:
    """The body of the block: the summary, the decisions and all turns."""
    decisions = "\n".join(f"- {_flat(one.content)}" for one in about.decisions)
    sections = [
        f"## Summary\n\n{about.summary}" if about.summary else "",
        f"## Decisions\n\n{decisions}" if decisions else "",
        render_turns(turns, longest_result=_SHOWN_RESULT),
    ]
    return "\n\n".join(section for section in sections if section)


def render_context(session: LiveSession, *, conversation_id: str, type: str, command: str, summary: str = "") -> str:
    """The introduction and the turns, for an agent that has neither."""
    window = handover_window(session)
    about = session.overview
    end = about.turn_count - len(window.last)
    prompt = (window.prompt,) if window.prompt is not None else ()
    turns = [
        render_turns(window.opening, longest_result=_TOLD_RESULT),
        f"[{escape_markdown(window.notice)}]" if window.notice else "",
        render_turns(prompt, first=end - window.left_out_after, longest_result=_TOLD_RESULT),
        render_turns(window.last, first=end + 1, longest_result=_TOLD_RESULT),
    ]
    parts = [
        render_introduction(
            about, conversation_id=conversation_id, type=type, command=command, summary=summary or about.summary
        ),
        "## What was said",
        "\n\n".join(part for part in turns if part) or "Nothing yet.",
        f"## Now\n\n{_CONTINUES if about.turn_count else _STARTS}",
    ]
    return "\n\n".join(parts) + "\n"


def render_introduction(about: Overview, *, conversation_id: str, type: str, command: str, summary: str = "") -> str:
    """Where the conversation stopped, what it is and what was decided, for an agent that already has the turns."""
    summary = summary or about.summary
    facts = {
        "conversation": conversation_id,
        "type": type,
        "command": command,
        "started": iso(about.created_at),
        "last active": iso(about.updated_at),
        "messages": str(about.turn_count),
    }
    decisions = "\n".join(f"- {_flat(one.content)}" for one in about.decisions)
    parts = [
        f"# Conversation: {_flat(about.title) or conversation_id}",
        f"## Where it stopped\n\n{summary}" if summary else "",
        "## What it is\n\n" + "\n".join(f"- {name}: {_flat(fact)}" for name, fact in facts.items()),
        f"## Decisions so far\n\n{decisions}" if decisions else "",
    ]
    return "\n\n".join(part for part in parts if part)


def render_turns(turns: Sequence[Turn], *, first: int = 1, longest_result: int) -> str:
    """The turns as sections of Markdown, for readers: calls on one line each, long results cut, no reasoning.

    `first` is the number of the first turn. Sections without content are left out.
    """
    numbers = {turn.id: number for number, turn in enumerate(turns, first)}
    sections = []
    for turn in without_own_calls(turns):
        tokens = "" if turn.tokens is None else f" · {turn.tokens} tokens"
        role = escape_markdown_line(_flat(turn.role))
        if paragraphs := list(_paragraphs(turn, longest_result)):
            heading = f"## {numbers[turn.id]}. {role} · {iso(turn.timestamp)}{tokens}"
            sections.append("\n\n".join([heading, *paragraphs]))
    return "\n\n".join(sections)


def _paragraphs(turn: Turn, longest_result: int) -> Iterator[str]:
    has_results = not is_spoken(turn)  # it is text of a tool, and no person's
    if has_results:
        yield from _result(turn.content, longest_result)
    elif turn.content.strip():
        yield escape_markdown(turn.content)
    for part in turn.parts:
        match part.get("type"):
            case "tool_call":
                yield escape_markdown(f"[called {format_call_part(part)}]")
            case "tool_result" if not has_results:
                yield from _result(str(part.get("content") or ""), longest_result)
            case "image":
                yield "[an image]"
            case "file":
                yield escape_markdown(f"[the file {_flat(str(part.get('path')))}]")
                yield from _result(str(part.get("content") or ""), longest_result)


def _result(text: str, longest: int) -> Iterator[str]:
    text = text.strip("\n")
    if not text.strip():
        return
    left_out = len(text) - longest
    shown = f"{text[:longest]}\n[{left_out:,} more characters]" if left_out > 0 else text
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    yield f"{fence}\n{shown}\n{fence}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _block(body: str) -> bytes:
    inner = _inner(body)
    return b"<!-- segue:begin sha256:%s -->\n%s<!-- segue:end -->\n" % (_hash(inner), inner)


def _inner(body: str) -> bytes:
    # Untrusted text must neither end the block nor hide what follows it.
    text = body.strip("\n").replace("\r\n", "\n").replace("<!--", "&lt;!--")
    return f"\n{text}\n\n".encode("utf-8", "backslashreplace") if text else b""


def _hash(inner: bytes) -> bytes:
    return hashlib.sha256(inner.replace(b"\r\n", b"\n")).hexdigest().encode()
