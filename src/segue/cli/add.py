from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing, print_change
from segue.console import options, output
from segue.durable.kernel import storage_error
from segue.errors import ConflictError, SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.library import Library
    from segue.model import Turn
    from segue.session import LiveSession

_ROLES = ("user", "assistant", "system", "tool")
_CHUNK = 1 << 16


@options.verb(
    'segue add qa-2026 "Why does login fail?"',
    "segue add qa-2026 --role assistant --tokens 7 < answer.txt",
    "segue export other --format jsonl | segue add qa-2026 --jsonl",
)
@options.first_session
@click.argument("text", metavar="[TEXT]", required=False, type=options.text)
@click.option("--role", type=click.Choice(_ROLES), default="user", show_default=True, help="Author of the turn.")
@click.option("--tokens", metavar="N", type=click.IntRange(min=0), help="Number of tokens.")
@click.option("--jsonl", is_flag=True, help="Read turns from standard input, one JSON object per line.")
@options.library
@options.as_json
def command(
    *, library: Library, id: str, text: str | None, role: str, tokens: int | None, jsonl: bool, as_json: bool
) -> None:
    """Record a turn from TEXT or standard input.

    Standard input is read if TEXT is missing or `-`; one newline at its end is removed.

    With --jsonl each line is a turn with role and content, and optionally tokens, timestamp, id, parts and native;
    other fields are preserved. A turn whose id is already recorded is skipped.
    """
    if jsonl and text not in {None, "-"}:
        raise UsageError("--jsonl reads standard input and cannot be used with TEXT", hint="omit one of them")
    content = "" if jsonl else _content(text)
    with editing(library, id) as live:
        if jsonl:
            count = _add_lines(live)
        else:
            live.add(role, content, tokens=tokens)
            count = 1
    print_change(live, f"{count} turn{'' if count == 1 else 's'} recorded in {live.id}", as_json=as_json)


def _content(text: str | None) -> str:
    if text not in {None, "-"}:
        content = text or ""
    else:
        try:
            content = b"".join(_chunks()).decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input is not UTF-8 (byte {error.start + 1}); nothing was recorded", hint="convert it first"
            ) from None
        content = content.removesuffix("\n").removesuffix("\r")
    if not content:
        raise UsageError("nothing to record: the text is empty", hint="pass TEXT, or pipe it to standard input")
    return content


def _add_lines(live: LiveSession) -> int:
    """Record the lines in the batches in which they arrive; turns before an invalid line stay recorded."""
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
                bad = UsageError(
                    f"line {number} of standard input: {error}", hint="correct it and continue from that line"
                )
                break
            turns.append((number, turn))
        count += _record(live, turns, count)
        if bad is not None:
            raise _with_count(bad, str(bad), count)
        output.progress(f"{count} turns recorded")
    output.progress("")
    return count


def _record(live: LiveSession, turns: list[tuple[int, Turn]], before: int) -> int:
    if not turns:
        return 0
    try:
        live.record(*(turn for _, turn in turns))
    except (UsageError, ConflictError):  # all or none: find the invalid one, and keep those before it
        for at, (number, turn) in enumerate(turns):
            try:
                live.record(turn)
            except SegueError as error:
                raise _with_count(error, f"line {number} of standard input: {error}", before + at) from None
    except SegueError as error:
        raise _with_count(error, str(error), before) from None
    return len(turns)


def _with_count(error: SegueError, message: str, recorded: int) -> SegueError:
    output.progress("")
    stays = f"{recorded} turn{' is' if recorded == 1 else 's are'} recorded and stay{'s' if recorded == 1 else ''}"
    error.args = (f"{message} ({stays if recorded else 'nothing was recorded'})",)
    return error


def _arrived() -> Iterator[list[bytes]]:
    """Whole lines as they arrive: a fast writer is recorded in batches, a slow one line by line."""
    rest: list[bytes] = []
    for chunk in _chunks():
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head]).split(b"\n")
            rest = [tail]
        else:
            rest.append(chunk)
    if last := b"".join(rest):
        yield [last]


def _chunks() -> Iterator[bytes]:
    if sys.stdin is None or output.is_terminal(sys.stdin):
        raise UsageError("no text to record", hint="pass TEXT, or pipe it to standard input")
    try:
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):  # returns what has arrived, without waiting for more
            yield chunk
    except OSError as error:
        raise storage_error(error, "standard input", "read") from None
