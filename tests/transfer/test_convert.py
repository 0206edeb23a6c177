"""From store to store and back, a session is the same session."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise, permutations
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.clock import utc_now
from segue.dialects.cortext.store import CortextStore
from segue.dialects.soleur.store import SoleurStore
from segue.errors import DamagedError, NotFoundError, SessionExistsError
from segue.model import Attachment, Decision, Record, Turn, Unknown
from segue.registry import SCHEMES, open_store
from segue.store import Durability
from segue.stores.journal import JournalStore
from segue.stores.memory import MemoryStore
from segue.testing.conformance.chapter import ID, create_and_close, create_session
from segue.testing.events import every_kind, fork, metadata, moment, switched, turn, turns
from segue.testing.harness import snapshot_of
from segue.testing.harness_journal import JournalHarness
from segue.transfer.convert import Converted, convert, copy
from segue.transfer.convert_many import copy_all

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Event, JsonObject
    from segue.store import Store

DATED = "2026-01-05-001-plan-x"


@pytest.fixture
def journal(tmp_path: Path) -> JournalStore:
    return JournalStore(str(tmp_path / "journal"))


@pytest.fixture
def soleur(tmp_path: Path) -> SoleurStore:
    return SoleurStore(str(tmp_path / "soleur"))


def test_every_kind_of_event_is_there_and_the_source_is_untouched(
    journal: JournalStore, soleur: SoleurStore, tmp_path: Path
) -> None:
    create_and_close(journal, *turns(1, 3), *every_kind(), fork("other", 2), turn(9, branch="other"))
    before = snapshot_of(tmp_path / "journal")
    converted = convert(journal, ID, soleur)
    assert converted == journal.load(ID) == soleur.load(ID)
    assert list(soleur.read(ID)) == list(journal.read(ID))
    assert snapshot_of(tmp_path / "journal") == before


def test_blobs_go_along_wherever_an_event_names_them(
    journal: JournalStore, soleur: SoleurStore, tmp_path: Path
) -> None:
    with create_session(journal) as writer:
        readme, image = writer.put_blob(b"# Login\n"), writer.put_blob(b"\xff\xd8")
        writer.append(
            Attachment(path="README.md", hash=readme, size_bytes=8, timestamp=moment(1), id="attached"),
            replace(turn(1), parts=({"type": "image", "source": {"blob": [image]}},)),
            turn(2, f"no blob: sha256:{'0' * 64}"),
        )
    convert(journal, ID, soleur)
    assert soleur.get_blob(ID, readme) == b"# Login\n"
    assert soleur.get_blob(ID, image) == b"\xff\xd8"
    assert json.loads((tmp_path / "soleur" / f"{ID}.json").read_bytes())["project_context"] == "# Login\n"


def test_another_session_of_the_same_id_is_in_the_way(journal: JournalStore, soleur: SoleurStore) -> None:
    create_and_close(journal, turn(1))
    create_and_close(soleur, turn(2))
    with pytest.raises(SessionExistsError):
        convert(journal, ID, soleur)
    assert [event.id for event in soleur.load(ID).turns] == ["turn-2"]


def test_a_conversion_that_was_cut_short_is_completed(journal: JournalStore, soleur: SoleurStore) -> None:
    create_and_close(journal, *turns(1, 3))
    create_and_close(soleur)
    assert convert(journal, ID, soleur) == journal.load(ID)
    assert convert(journal, ID, soleur) == journal.load(ID)


def test_again_only_what_is_missing_is_added(journal: JournalStore, soleur: SoleurStore, tmp_path: Path) -> None:
    create_and_close(journal, *turns(1, 3))
    assert copy(journal, ID, soleur).added == 4
    before = snapshot_of(tmp_path / "soleur")
    assert copy(journal, ID, soleur).added == 0
    assert snapshot_of(tmp_path / "soleur") == before
    with journal.open(ID) as writer:
        writer.append(turn(4))
    assert copy(journal, ID, soleur).added == 1


def test_a_session_that_has_gone_on_in_the_target_is_left_alone(journal: JournalStore, soleur: SoleurStore) -> None:
    create_and_close(journal, *turns(1, 3))
    convert(journal, ID, soleur)
    with soleur.open(ID) as writer:
        writer.append(turn(4))
    assert copy(journal, ID, soleur).added == 0
    assert len(soleur.load(ID).turns) == 4


def test_an_attachment_whose_bytes_are_gone_is_a_loss_that_is_named(journal: JournalStore, soleur: SoleurStore) -> None:
    name = f"sha256:{'0' * 64}"
    create_and_close(journal, Attachment(path="README.md", hash=name, size_bytes=8, timestamp=moment(1), id="attached"))
    assert copy(journal, ID, soleur).losses == (f"blob {name} is missing in {journal.url}",)


def test_the_blobs_of_records_are_copied_and_those_that_are_gone_are_named(
    journal: JournalStore, soleur: SoleurStore
) -> None:
    gone = f"sha256:{'0' * 64}"
    with create_session(journal) as writer:
        names = (writer.put_blob(b"large"), writer.put_blob(b"unnamed but in the data"))
        data: JsonObject = {"also": {"here": [names[1]]}}
        writer.append(Record(kind="state", data=data, blobs=(names[0], gone), timestamp=moment(1), id="record"))
    found = copy(journal, ID, soleur)
    assert found.losses == (f"blob {gone} is missing in {journal.url}",)
    assert [soleur.get_blob(ID, name) for name in names] == [b"large", b"unnamed but in the data"]


def test_one_that_cannot_be_converted_costs_only_itself(journal: JournalStore, soleur: SoleurStore) -> None:
    for name in ("a", "b", "c"):
        create_and_close(journal, turn(1), session_id=name)
    create_and_close(soleur, turn(2), session_id="b")
    found = list(copy_all(journal, soleur, ["a", "b", "c"]))
    assert [isinstance(one, Converted) for one in found] == [True, False, True]
    assert [event.id for event in soleur.load("b").turns] == ["turn-2"]


def test_a_damaged_session_is_not_converted(tmp_path: Path, soleur: SoleurStore) -> None:
    harness = JournalHarness(tmp_path)
    store = harness.make()
    create_and_close(store, *turns(1, 3))
    harness.damage(ID, "turn-2")
    with pytest.raises(DamagedError):
        convert(store, ID, soleur)
    assert list(soleur.ids()) == []


def test_what_is_not_there_is_not_found(journal: JournalStore, soleur: SoleurStore) -> None:
    with pytest.raises(NotFoundError):
        convert(journal, ID, soleur)


def test_what_soleur_left_is_the_same_in_a_journal(journal: JournalStore, soleur: SoleurStore, tmp_path: Path) -> None:
    (tmp_path / "soleur").mkdir()
    messages = [{"role": "human", "content": "Hi", "timestamp": "2026-01-05T09:30:00", "mood": [1]}]
    found = {"agent_type": "x", "project_context": "# Login\n", "messages": messages, "created_at": None, "title": 5}
    (tmp_path / "soleur" / "s1.json").write_text(json.dumps(found))
    assert convert(soleur, "s1", journal) == soleur.load("s1")
    name = f"sha256:{hashlib.sha256(b'# Login').hexdigest()}"
    with pytest.raises(NotFoundError):
        journal.get_blob("s1", name)
    assert journal.get_blob("s1", journal.load("s1").attachments[0].hash) == b"# Login\n"


def opened(scheme: str, folder: Path | str) -> Store:
    url = "memory:" if scheme == "memory" else f"{scheme}:{folder}"
    return open_store(url, clock=utc_now, durability=Durability.WRITTEN)


PAIRS = list(permutations([scheme for scheme in SCHEMES if "postgres" not in scheme], 2))
"""Those that need no server; the others are in `tests/stores/postgres`."""


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_from_any_store_to_any_other_and_back_is_the_same_session(tmp_path: Path, one: str, other: str) -> None:
    source, target, back = (opened(scheme, tmp_path / str(at)) for at, scheme in enumerate((one, other, one)))
    create_and_close(source, *turns(1, 3), *every_kind(), fork("other", 2), turn(9, branch="other"), session_id=DATED)
    convert(source, DATED, target)
    assert convert(target, DATED, back) == source.load(DATED) == target.load(DATED)
    assert list(back.read(DATED)) == list(source.read(DATED)) == list(target.read(DATED))


def test_what_cortext_left_is_the_same_in_a_journal(journal: JournalStore, tmp_path: Path) -> None:
    hidden = tmp_path / "workspace" / "conversations" / "2026-01-05" / "001-plan-x" / ".session"
    hidden.mkdir(parents=True)
    found = {"conversation_id": "001-plan-x", "title": "X", "status": "completed", "mood": 5, "agent_config": []}
    (hidden / "session.json").write_text(json.dumps(found))
    (hidden / "messages.jsonl").write_text('{"role": "human", "content": "Hi", "timestamp": "2026-01-05T09:30:00"}\n')
    cortext = CortextStore(str(tmp_path / "workspace"))
    assert convert(cortext, DATED, journal) == cortext.load(DATED)
    assert journal.load(DATED).extra["mood"] == 5


# ── Any session ──────────────────────────────────────────────────────────────────────────────────────────────────────

odd = st.characters(codec=None) | st.sampled_from('\0\n\r\x1b\u2028\ufeff"\\{}😀\ud800')
texts = st.text(odd, max_size=12).filter(lambda text: not any("\ud800" <= mark <= "\udbff" for mark in text[:-1]))
values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects: st.SearchStrategy[JsonObject] = st.dictionaries(texts, values, max_size=2)
FIELDS = ("role", "native", "project_name", "agent_type", "messages", "segue", "mood", "")


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    """Turns here and there on branches, decisions, unknown events, extra fields, odd text."""
    extras: st.SearchStrategy[JsonObject] = st.dictionaries(st.sampled_from(FIELDS[2:]), values, max_size=2)
    first = replace(metadata(ID), agent=draw(texts), title=draw(texts), extra=draw(extras))
    events: list[Event] = [first]
    counts = {"main": 0}
    for number in range(draw(st.integers(0, 12))):
        name, when = f"event-{number}", moment(draw(st.integers(-9, 9)))
        branch = draw(st.sampled_from(sorted(counts)))
        match draw(st.integers(0, 7)):
            case 0:
                counts[name] = at = draw(st.integers(0, counts[branch]))
                events.append(replace(fork(name, at, parent=branch, switch=draw(st.booleans())), id=name))
            case 1:
                events.append(replace(switched(branch), id=name))
            case 2:
                tags = tuple(draw(st.lists(texts, max_size=2)))
                events.append(
                    Decision(
                        content=draw(texts), tags=tags, source=draw(texts), timestamp=when, id=name, extra=draw(extras)
                    )
                )
            case 3:
                events.append(Unknown(type=f"x{draw(texts)}", data=draw(extras), id=name))
            case 4:
                label = draw(st.sampled_from(["", "state", "\ud800"]))
                kind, data, more = f"k{draw(texts)}", draw(objects), draw(extras)
                events.append(Record(kind=kind, data=data, name=label, timestamp=when, id=name, extra=more))
            case _:
                counts[branch] += 1
                events.append(
                    Turn(
                        role=draw(st.sampled_from(["user", "assistant", "system", "tool"])),
                        content=draw(texts),
                        timestamp=when,
                        tokens=draw(st.none() | st.integers(0, 9)),
                        partial=draw(st.booleans()),
                        branch=branch,
                        parts=tuple(draw(st.lists(objects, max_size=1))),
                        native=draw(st.none() | objects),
                        id=name,
                        extra=draw(st.dictionaries(st.sampled_from(FIELDS[2:]), values, max_size=2)),
                    )
                )
    return events


@given(sessions(), st.sampled_from(PAIRS))
def test_there_and_back_again_is_the_same_session(events: list[Event], pair: tuple[str, str]) -> None:
    with TemporaryDirectory() as place:
        source = MemoryStore()
        source.create(ID, events).close()
        one, other = pair
        chain: list[Store] = [source, *(opened(scheme, f"{place}/{at}") for at, scheme in enumerate((one, other, one)))]
        for here, there in pairwise(chain):
            found = copy(here, ID, there)
            assert (found.events, found.added, found.losses) == (len(events), len(events), ())
            assert list(there.read(ID)) == list(source.read(ID))
            assert there.load(ID) == source.load(ID)
            assert there.examine(ID).damages == ()
