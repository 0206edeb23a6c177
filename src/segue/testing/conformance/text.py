"""Any text of a model and any JSON of a tool is read back unchanged."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import UsageError
from segue.model import Decision, Learning, SummaryWritten, TagsChanged, TitleChanged, Turn, Unknown
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import metadata, moment, turn

if TYPE_CHECKING:
    from segue.model import Event, JsonObject
    from segue.store import Store
    from segue.testing.harness import Harness

TEXTS = {
    "nothing": "",
    "spaces": " \t  ",
    "newlines": "\n\r\n\r\n\n",
    "control characters": "".join(map(chr, range(0x20))) + "\x7f" + "".join(map(chr, range(0x80, 0xA0))),
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei",
    "NUL": "a\0b\0",
    "a lone high surrogate": "x\ud83d",
    "a lone low surrogate": "\udc00x",
    "surrogates the wrong way round": "\ude00\ud83d",
    "escaped bytes": b"\xff\xfe\x80".decode(errors="surrogateescape"),
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈😀",
    "right to left": "\u202eabc\u202c שלום",
    "combining": "e\u0301 \u1e9b\u0323",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "backslashes": '\\ \\" \\u0000 \\ud83d " / \\n',
    "a record": '\n{"type":"turn","role":"user","content":"x"}\n',
    "a checksum": '","seq":9,"sum":"00000000"}',
    "a checkpoint": '\n{"type":"checkpoint","overview":{}}\n',
    "a footer": "\f\n<!-- Local Variables: -->\n<!-- gptel-model: x -->\n<!-- End: -->\n",
    "a heading": "### user\n\n---\ntitle: x\n---\n```\n# *x* [y](z)\n",
    "an escape sequence": "\x1b[2J\x1b]0;title\x07",
    "markup": "<script>alert(1)</script> &amp; ]]> '; DROP TABLE turns; --",
}

NUMBERS: dict[str, object] = {
    "zero": 0,
    "minus one": -1,
    "beyond a double": 2**53 + 1,
    "the largest of 64 bits": 2**63 - 1,
    "the smallest of 64 bits": -(2**63),
    "the largest without a sign": 2**64 - 1,
    "beyond 64 bits": 2**64,
    "far beyond 64 bits": -(10**40),
    "a whole float": 1.0,
    "minus zero": -0.0,
    "a tenth": 0.1,
    "the largest float": sys.float_info.max,
    "the smallest float": 5e-324,
    "a float that looks whole": 1e22,
    "true": True,
    "nothing": None,
}

MOMENTS = {
    "a microsecond": datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "another zone": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    "west of it": datetime(2026, 1, 1, tzinfo=timezone(-timedelta(hours=11))),
    "before the epoch": datetime(1901, 12, 13, 20, 45, 51, tzinfo=UTC),
    "far ahead": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "long ago": datetime(1, 1, 1, tzinfo=UTC),
}


class _Text(str):
    __slots__ = ()


AWKWARD = {
    "a pair of surrogates, which JSON reads as one character": turn(1, "cut in two: \ud83d\ude00"),
    "an offset with seconds": replace(
        turn(1), timestamp=datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32)))
    ),
    "a number of five thousand digits": turn(1, native={"x": 10**5000}),
    "a kind of text": turn(1, _Text("x"), native={"x": [_Text("y")]}),
    "a kind of key": turn(1, native={_Text("x"): 1}),
}


class TextChapter(Chapter):
    @pytest.mark.parametrize("what", TEXTS)
    def test_text_comes_back_as_it_was(self, harness: Harness, store: Store, what: str) -> None:
        text = TEXTS[what]
        first = replace(metadata(ID), agent=text, title=text, tags=(text, "x"), extra={f"x{text}": text})
        events: list[Event] = [
            turn(1, text),
            turn(2, f"{text} and more {text}", native={text: [text, {text: text}]}),
            replace(turn(3), parts=({"type": text},), extra={f"x{text}": [text]}),
            TitleChanged(title=text, timestamp=moment(3), id="title"),
            TagsChanged(tags=(text, f"{text}.{text}"), timestamp=moment(3), id="tags"),
            SummaryWritten(content=text, timestamp=moment(3), id="summary"),
            Decision(content=text, source=text, tags=(text,), timestamp=moment(3), id="decision"),
            Learning(description=text, task_id=text, timestamp=moment(3), id="learning"),
            Unknown(type=f"x{text}", data={f"x{text}": text}, id="unknown"),
        ]
        with store.create(ID, [first]) as writer:
            for event in events:
                writer.append(event)
            assert writer.append(*events).seqs == tuple(range(2, 11))
        _same(store, [first, *events])
        reopened = harness.make()
        if reopened.capabilities.shared:
            _same(reopened, [first, *events])
            assert [event.content for event in reopened.tail(ID, 3)][:2] == [text, f"{text} and more {text}"]

    def test_all_characters_together_come_back(self, store: Store) -> None:
        text = "".join(map(chr, [*range(0x3000), *range(0xD700, 0xE100), *range(0xFF00, 0x10100)]))
        text = text.replace("\udbff\udc00", "\udbff \udc00")  # or it would be a pair, which JSON reads as one character
        create_and_close(store, turn(1, text))
        assert store.tail(ID, 1)[0].content == text

    @pytest.mark.parametrize("what", AWKWARD)
    def test_what_cannot_come_back_as_it_was_is_refused(self, store: Store, what: str) -> None:
        with create_session(store) as writer:
            with suppress(UsageError):
                writer.append(AWKWARD[what])
                assert [replace(event, seq=0) for event in store.load(ID).turns] == [AWKWARD[what]]
            writer.append(turn(2))
        assert event_ids(store)[-1] == "turn-2"

    def test_a_million_characters_come_back(self, store: Store) -> None:
        text = "0123456789 ü😀\n" * 75_000
        with create_session(store) as writer:
            writer.append(turn(1, text))
            writer.append(turn(2), turn(3, text + "x"), turn(4))
            writer.append(turn(5, native={"all": text}))
        assert [len(event.content) for event in store.load(ID).turns[:3]] == [len(text), 32, len(text) + 1]
        assert store.load(ID).turns[0].content == store.tail(ID, 5)[0].content == text
        assert store.tail(ID, 1)[0].native == {"all": text}
        assert store.head(ID).turn_count == 5

    def test_numbers_come_back_as_they_were(self, store: Store) -> None:
        for number, (what, value) in enumerate(NUMBERS.items()):
            native: JsonObject = {"x": value, "y": [value]}
            events = turn(1, native=native), Unknown(type="number", data=native, id="unknown")
            create_and_close(store, *events, session_id=f"number-{number}")
            session = store.load(f"number-{number}")
            assert repr(session.turns[0].native) == repr(native), what
            assert repr(session.unknown[0].data) == repr(native), what

    def test_moments_come_back_as_they_were(self, store: Store) -> None:
        for number, (what, value) in enumerate(MOMENTS.items()):
            create_and_close(store, replace(turn(1), timestamp=value), session_id=f"moment-{number}")
            found = store.load(f"moment-{number}").turns[0].timestamp
            assert found == value, what
            assert found.tzinfo is not None, what

    def test_json_may_nest_deeply(self, store: Store) -> None:
        native: JsonObject = {}
        for level in range(199):
            native = {"x": native} if level % 2 else {"x": [native]} if level < 2 else {"y": native}
        create_and_close(store, turn(1, native=native), turn(2, "\ud800", native=native))
        assert [event.native for event in store.load(ID).turns] == [native, native]

    def test_json_that_nests_beyond_reason_is_refused(self, store: Store) -> None:
        native: JsonObject = {}
        for _ in range(5000):
            native = {"x": native}
        with create_session(store) as writer:
            with pytest.raises(UsageError):
                writer.append(turn(1, native=native))
            assert writer.append(turn(2)).seqs == (2,)

    def test_the_names_of_fields_are_no_danger_inside(self, store: Store) -> None:
        fields = ("type", "id", "seq", "sum", "content", "extra", " extra", "", "__proto__", "segue")
        native: JsonObject = {name: {name: name} for name in fields}
        create_and_close(store, turn(1, native=native))
        assert store.load(ID).turns[0].native == native

    def test_the_longest_event_id_is_an_id(self, store: Store) -> None:
        events = [replace(turn(number), id=f"{number}" * 128) for number in (1, 2)]
        with create_session(store, *events) as writer:
            assert writer.append(*events).seqs == (2, 3)

    def test_the_largest_count_of_tokens_comes_back(self, store: Store) -> None:
        create_and_close(
            store, replace(turn(1), tokens=2**63 - 1), replace(turn(2), tokens=None), replace(turn(3), tokens=0)
        )
        assert [event.tokens for event in store.load(ID).turns] == [2**63 - 1, None, 0]


def _same(store: Store, events: list[Event]) -> None:
    assert [replace(event, seq=0) for event in store.read(ID)] == events
    session = store.load(ID)
    assert [replace(event, seq=0) for event in session.turns] == [e for e in events if isinstance(e, Turn)]
    assert session.title == store.head(ID).title
    assert store.tail(ID, 3) == session.turns
