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
from msgspec.structs import replace

from segue.durable.snapshot import read_signature
from segue.formats.transcript import iso, markdown_turns
from segue.transfer.window import handover_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.durable.folder import Folder
    from segue.model import Overview, Turn
    from segue.session import LiveSession

_BEGIN = re.compile(rb"^<!-- segue:begin sha256:([0-9a-f]{64}) -->[ \t]*\r?\n", re.MULTILINE)
_END = re.compile(rb"^<!-- segue:end -->[ \t]*\r?$", re.MULTILINE)
_ANY_MARKER = re.compile(rb"<!--\s*segue:(?:begin|end)\b")

_STARTS = "This conversation begins."
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
        _render_turns(about, turns),
    ]
    return "\n\n".join(section for section in sections if section)


def render_context(session: LiveSession, *, conversation_id: str, type: str, command: str) -> str:
    """The introduction and the turns, for an agent that has neither."""
    opening, left_out, last = handover_window(session)
    about = session.overview
    turns = [
        _render_turns(about, opening),
        f"[{left_out:,} messages in between are left out]" if left_out else "",
        _render_turns(about, last, first=about.turn_count - len(last) + 1),
    ]
    parts = [
        render_introduction(about, conversation_id=conversation_id, type=type, command=command),
        "## What was said",
        "\n\n".join(part for part in turns if part) or "Nothing yet.",
        f"## Now\n\n{_CONTINUES if about.turn_count else _STARTS}",
    ]
    return "\n\n".join(parts) + "\n"


def render_introduction(about: Overview, *, conversation_id: str, type: str, command: str) -> str:
    """What the conversation is, where it stopped and what was decided, for an agent that already has the turns."""
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
        f"# Conversation: {_flat(about.title or conversation_id)}",
        "\n".join(f"- {name}: {_flat(fact)}" for name, fact in facts.items()),
        f"## Where it stopped\n\n{about.summary}" if about.summary else "",
        f"## Decisions so far\n\n{decisions}" if decisions else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _render_turns(about: Overview, turns: Sequence[Turn], *, first: int = 1) -> str:
    """The turns as sections of Markdown, without the header of the session."""
    text = markdown_turns(replace(about, decisions=()), tuple(turns), about.branch, first=first)
    return text[text.index("\n## ") :].strip("\n") if turns else ""  # no line of the header begins so


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
