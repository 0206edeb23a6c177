"""Files of others: whatever their bytes are, they are read, or refused with the error that says so."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.dialects.gptel.format.assembly import BranchFiles, Files, assemble_session
from segue.dialects.gptel.format.conversation import BranchText
from segue.dialects.gptel.format.fields import find_fields, with_checksum, write_fields
from segue.dialects.gptel.format.footer import Upto, read_mark, read_page, read_whole
from segue.dialects.gptel.format.lisp import BadLispError, Symbol, parse_lisp
from segue.dialects.gptel.format.settings import overrides_in
from segue.dialects.gptel.format.sidecar import read_sidecar
from segue.formats.journal import encode_event
from segue.model import OverridesChanged, fold
from segue.testing.events import START, every_kind, metadata, turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Event

VARIABLES: dict[str, object] = {
    "gptel--preset": Symbol("executor"),
    "gptel-model": Symbol("gpt-4o"),
    "gptel--backend-name": "ChatGPT",
    "gptel--system-message": 'Speak like a "pirate".\n\\Ö',
    "gptel--tool-names": ["read_file", "list_dir"],
    "gptel-temperature": 0.8,
    "gptel-max-tokens": 4000,
    "gptel--num-messages-to-send": 6,
}
OVERRIDES = {"temperature": 0.8, "max_tokens": 4000, "model": "gpt-4o", "tools": ["read_file", "list_dir"]}
TURNS = [
    replace(turn(number), role=role, seq=number + 3, id=f"t{number}")
    for number, role in enumerate(["user", "assistant", "tool", "system", "user", "assistant"])
]
EVENTS: list[Event] = [
    replace(metadata("s"), seq=1),
    replace(OverridesChanged(values=OVERRIDES, timestamp=START, id="o"), seq=2),
    *TURNS,
]
PAGE = BranchText(TURNS).encode(Upto(EVENTS[-1].seq, 0), VARIABLES)
FIELDS = {"session_id": "s", "created": "2026-01-01T00:00:00+00:00", "paths": {"read": ["/a", "/b"]}, "n": 1.5}
ODD = [
    b"\f",
    b"\n\f",
    b"\r\n",
    b"\xff",
    b"\xed\xa0\x80",
    b"\0",
    b"9" * 400,
    b"1e999",
    b"#",
    b"(" * 60,
    b'"',
    b"\\",
    b"\xef\xbb\xbf",
]
ODD += [
    b"\\ud800",
    b"\\x110000",
    b"Local Variables:",
    b"End:",
    b"<!-- segue 9.9",
    b"nil",
    b"\xe2\x80\xa8",
    b". ",
    b"-->",
    b"''",
]


def flips(data: bytes) -> Iterator[bytes]:
    """Every byte of it changed, each in one of three ways."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ (1, 0x20, 0x80)[at % 3]]) + data[at + 1 :]


def mutants(data: bytes, chance: random.Random, count: int) -> Iterator[bytes]:
    """Pieces put in, taken out, doubled and moved."""
    for _ in range(count):
        mutant = data
        for _ in range(chance.randint(1, 6)):
            low = chance.randrange(len(mutant) + 1)
            high = min(len(mutant), low + chance.choice([0, 0, 1, 3, 40]))
            piece = chance.choice([chance.choice(ODD), mutant[high : high + 30], chance.randbytes(3), b""])
            mutant = mutant[:low] + piece + mutant[high:]
        yield mutant


def take_in(page: bytes) -> None:
    """All that is done with a page, down to the bytes that would be recorded."""
    read_whole(page)
    read_mark(page)
    overrides_in(read_page(page).variables)
    for events in (EVENTS, []):
        found = assemble_session(
            "s", list(events), Files({"main": BranchFiles(page)}, "main", with_checksum(write_fields(FIELDS)))
        )
        for event in found.events:
            encode_event(event)
        session = fold(found.events)
        BranchText(session.turns).encode(Upto(session.seq, 1), {})


@pytest.mark.parametrize("count", [400, pytest.param(50_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_any_bytes_in_the_place_of_a_page_can_be_taken_in(pytestconfig: pytest.Config, count: int) -> None:
    for page in mutants(PAGE, random.Random(pytestconfig.getoption("--seed")), count):
        take_in(page)


def test_a_flipped_byte_anywhere_in_a_page_can_be_taken_in() -> None:
    for page in flips(PAGE):
        take_in(page)


def test_a_flipped_byte_anywhere_in_the_events_is_damage_and_nothing_else() -> None:
    data = b"".join(
        encode_event(replace(event, seq=seq)) for seq, event in enumerate([metadata("s"), *every_kind()], 1)
    )
    for mutant in flips(data):
        sidecar = read_sidecar(mutant, "s", "events.jsonl")
        assert sidecar.damages or sidecar.complete < len(data)


@pytest.mark.parametrize("count", [400, pytest.param(50_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_any_bytes_in_the_place_of_fields_and_values_are_read_or_refused(
    pytestconfig: pytest.Config, count: int
) -> None:
    chance = random.Random(pytestconfig.getoption("--seed"))
    for data in (*flips(write_fields(FIELDS)), *mutants(write_fields(FIELDS), chance, count)):
        find_fields(data)
    footer = PAGE.rpartition(b"\f")[2]
    for data in mutants(footer, chance, count):
        for line in data.decode(errors="replace").split("\n"):
            try:
                parse_lisp(line.partition(": ")[2])
            except BadLispError:
                continue
