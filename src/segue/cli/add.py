from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.cli._change import report, writing
from segue.console import options, output
from segue.durable.kernel import storage_error
from segue.errors import ConflictError, SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.library import Library
    from segue.model import Turn
    from segue.session import LiveSession

_ROLES = ("user", "assistant", "system", "tool")
_PIECE = 1 << 16


@options.verb(
    'segue add qa-2026 "Why does login fail?"',
    "segue add qa-2026 --role assistant --tokens 7 < answer.txt",
    "segue export other --format jsonl | segue add qa-2026 --jsonl",
)
@options.session
@click.argument("text", metavar="[TEXT]", required=False, type=options.text)
@click.option("--role", type=click.Choice(_ROLES), default="user", show_default=True, help="Who says it.")
@click.option("--tokens", metavar="N", type=click.IntRange(min=0), help="How many tokens it has.")
@click.option("--jsonl", is_flag=True, help="Read many turns from standard input, a JSON object a line.")
@options.library
@options.as_json
def command(
    *, library: Library, id: str, text: str | None, role: str, tokens: int | None, jsonl: bool, as_json: bool
) -> None:
    """Record a turn: TEXT, or standard input.

    Standard input is read without TEXT and where TEXT is `-`; one newline at its end does not count.

    With --jsonl each line is a turn: role and content, and tokens, timestamp, id, parts and native where you have them;
    other fields are kept. A turn whose id is recorded already is not recorded again.
    """
    if jsonl and text not in {None, "-"}:
        raise UsageError("--jsonl reads standard input, and there is TEXT as well", hint="leave one of them out")
    content = "" if jsonl else _content(text)
    with writing(library, id) as live:
        name = live.id
        if jsonl:
            count = _add_lines(live)
        else:
            live.add(role, content, tokens=tokens)
            count = 1
    report(library, name, f"{count} turn{'' if count == 1 else 's'} recorded in {name}", as_json=as_json)


def _content(text: str | None) -> str:
    if text not in {None, "-"}:
        content = text or ""
    else:
        try:
            content = b"".join(_pieces()).decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is not UTF-8 (byte {error.start + 1}); nothing was recorded", hint="convert it first"
            ) from None
        content = content.removesuffix("\n").removesuffix("\r")
    if not content:
        raise UsageError("there is nothing to record: the text is empty", hint="give TEXT, or standard input")
    return content


def _add_lines(live: LiveSession) -> int:
    """Record whatever lines have arrived, together; what stands before a bad one stays recorded."""
    from segue.formats.transcript import BadTurnError, decode_turn

    number = count = 0
    for lines in _arrived():
        turns: list[tuple[int, Turn]] = []
        bad: UsageError | None = None
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                turn = decode_turn(line, now=datetime.now(UTC), branch=live.branch, id=os.urandom(8).hex())
            except BadTurnError as error:
                bad = UsageError(f"line {number} of standard input: {error}", hint="correct it and go on from there")
                break
            turns.append((number, turn))
        count += _record(live, turns, count)
        if bad is not None:
            raise _placed(bad, str(bad), count)
        output.progress(f"{count} turns recorded")
    output.progress("")
    return count


def _record(live: LiveSession, turns: list[tuple[int, Turn]], before: int) -> int:
    if not turns:
        return 0
    try:
        live.record(*(turn for _, turn in turns))
    except (UsageError, ConflictError):  # all or none: find the one, and keep what stands before it
        for at, (number, turn) in enumerate(turns):
            try:
                live.record(turn)
            except SegueError as error:
                raise _placed(error, f"line {number} of standard input: {error}", before + at) from None
    except SegueError as error:
        raise _placed(error, str(error), before) from None
    return len(turns)


def _placed(error: SegueError, message: str, recorded: int) -> SegueError:
    output.progress("")
    stays = f"{recorded} turn{' is' if recorded == 1 else 's are'} recorded and stay{'s' if recorded == 1 else ''}"
    error.args = (f"{message} ({stays if recorded else 'nothing was recorded'})",)
    return error


def _arrived() -> Iterator[list[bytes]]:
    """Whole lines, in the lots in which they come: a fast writer is recorded in batches, a slow one line by line."""
    rest: list[bytes] = []
    for piece in _pieces():
        head, newline, tail = piece.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head]).split(b"\n")
            rest = [tail]
        else:
            rest.append(piece)
    if last := b"".join(rest):
        yield [last]


def _pieces() -> Iterator[bytes]:
    if sys.stdin is None or output.is_terminal(sys.stdin):
        raise UsageError("there is no text to record", hint="give TEXT, or send it to standard input")
    try:
        while piece := os.read(sys.stdin.fileno(), _PIECE):  # what is there, without waiting for more
            yield piece
    except OSError as error:
        raise storage_error(error, "standard input", "read") from None
