"""Blocks of lines give what the lines give one by one, wherever the blocks are cut and whatever is in them."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from segue.formats.journal import JournalLine, decode_line, encode_append, encode_checkpoint
from segue.model import apply, initial_overview
from segue.stores.journal import parser
from segue.stores.journal.parser import Parser
from tests.support.journals import metadata, turn


def lines_of(choice: random.Random) -> list[bytes]:
    """Appends of one and of several events, with checkpoints between them."""
    first = replace(metadata("x"), seq=1)
    data, overview = encode_append([first]), initial_overview(first)
    for _ in range(60):
        count = choice.choice([1, 1, 2, 5])
        events = [replace(turn(overview.seq + at), seq=overview.seq + at) for at in range(1, count + 1)]
        data, overview = data + encode_append(events), apply(overview, *events)
        if choice.random() < 0.1:
            data += encode_checkpoint(overview)
    return data.splitlines(keepends=True)


def damage(lines: list[bytes], choice: random.Random) -> None:
    at = choice.randrange(len(lines))
    match choice.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines[at] = lines[at].replace(b'"type"', b'"tYpe"')
        case 2:
            lines.insert(at, b'{"type":"turn","role":"user","content":"by hand"}\n')
        case _:
            lines.insert(at, lines[choice.randrange(len(lines))])


def outcome(blocks: list[bytes]) -> dict[str, object]:
    found = Parser("x", "x.jsonl")
    for block in blocks:
        found.feed(block)
    found.finish(b"")
    return vars(found)


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_read_as_their_lines(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = random.Random(seed)
    lines = lines_of(choice)
    for _ in range(seed % 3):
        damage(lines, choice)
    cuts = sorted(choice.sample(range(len(lines)), choice.randrange(6)))
    blocks = [b"".join(lines[low:high]) for low, high in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    fast = outcome(blocks)
    monkeypatch.setattr(parser, "decode_plain", lambda *_: None)
    assert fast == outcome(lines)


def test_whole_appends_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a block ends within an append: only the lines of that one are read one by one."""
    lines = lines_of(random.Random(7))
    careful: list[bytes] = []

    def decode(line: bytes) -> JournalLine:
        careful.append(line)
        return decode_line(line)

    monkeypatch.setattr(parser, "decode_line", decode)
    outcome([b"".join(lines[low : low + 20]) for low in range(0, len(lines), 20)])
    assert len(careful) < 5 * (len(lines) / 20 + 1)
