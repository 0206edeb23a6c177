"""One conversation is one entry, wherever it is; only what this machine has recorded connects its sessions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import segue
from segue.durable.folder import Folder
from segue.index import Copy, Index, StoreSource
from segue.integrations import INTEGRATIONS
from segue.integrations.claude import writer as claude
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.gemini import writer as gemini
from segue.integrations.shared.index_source import IntegrationSource
from segue.library import Library
from segue.links import NAME, Links
from segue.model import Turn
from segue.queries import Filters
from segue.trust import Trust
from tests.support.answering_store import AnsweringJournal

if TYPE_CHECKING:
    from pathlib import Path

    from segue.index import Source
    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.links import How

NOW = datetime(2026, 1, 5, tzinfo=UTC)
LATER = datetime(2030, 1, 5, tzinfo=UTC)
OWN = "6f0d2b1c-4a5e-4f6a-8b9c-0d1e2f3a4b5c"
OTHER = "7f0d2b1c-4a5e-4f6a-8b9c-0d1e2f3a4b5c"


class Machine:
    """A home with a store and AI tools, and the links of its user."""

    def __init__(self, root: Path, *, answers: bool = False) -> None:
        self.root = root
        url = f"{root}/sessions"
        self.library = Library(AnsweringJournal(url)) if answers else segue.open(f"journal:{url}")
        self.trust = Trust(Folder(f"{root}/trust"))
        self.links = Links(Folder(f"{root}/trust"))

    def add(self, id: str, *texts: str, library: Library | None = None) -> None:
        with (library or self.library).create(id=id) as session:
            for text in texts:
                session.add("user", text)

    def link(self, id: str, native_id: str = OWN, *, tool: str = "claude", how: How = "handover") -> None:
        created_at = self.library.overview(id).created_at
        self.trust.of(self.library.store.url, id).link(tool, native_id, created_at, how)

    def write(self, native_id: str, *texts: str, now: datetime = NOW) -> None:
        """A session of Claude Code."""
        messages = [message for text in texts for message in _messages(text, now)]
        place = self.root / ".claude" / "projects" / "-work"
        place.mkdir(parents=True, exist_ok=True)
        data = claude.write(messages, session_id=native_id, cwd="/work", title="", now=now)
        (place / f"{native_id}.jsonl").write_bytes(data)

    def sources(self, *libraries: Library) -> list[Source]:
        stores: list[Source] = [StoreSource(one.store) for one in (self.library, *libraries)]
        return [*stores, *(IntegrationSource(INTEGRATIONS[name], self.root, {}) for name in ("claude", "gemini"))]

    def index(self, *libraries: Library) -> Index:
        index = Index(Folder(f"{self.root}/cache"), links=self.links)
        assert index.refresh(self.sources(*libraries)).failed == ()
        return index


def _messages(text: str, now: datetime) -> list[OutgoingMessage]:
    said = Turn(role="user", content=text, timestamp=now, tokens=None, id=text)
    return list(outgoing_messages([said], now=now))


@pytest.fixture(params=[False, True], ids=["copied", "answers by itself"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return Machine(tmp_path, answers=request.param)


def ids(index: Index, **filters: object) -> list[str]:
    return [entry.id for entry in index.entries(Filters(**filters))]  # type: ignore[arg-type]  # as the tests have them


def test_all_copies_of_a_conversation_are_one_entry_that_names_them(machine: Machine) -> None:
    machine.add("ours", "zebra")
    machine.write(OWN, "zebra", now=LATER)
    machine.write(OTHER, "zebra and okapi")
    machine.link("ours", OWN)
    machine.link("ours", OTHER)
    with machine.index() as index:
        (entry,) = index.entries()
        tool = f"claude:{machine.root}/.claude/projects"
        assert (entry.id, entry.updated_at > NOW.replace(year=2029)) == ("ours", True)
        assert set(entry.copies) == {Copy(source=tool, id=id, tool="claude") for id in (OWN, OTHER)}
        (hit,) = index.search("zebra")
        assert (hit.entry, hit.copy, hit.matches, hit.turn) == (entry, None, 1, 1)
        (hit,) = index.search("okapi")  # only the copy has it so far
        assert (hit.entry, hit.copy) == (entry, Copy(source=tool, id=OTHER, tool="claude"))
        assert index.count("zebra") == index.count("okapi") == 1
        late = NOW.replace(year=2028)
        assert [hit.entry.id for hit in index.search("zebra", Filters(since=late))] == ["ours"]
        assert index.search("zebra", Filters(until=late)) == []
        assert ids(index, tool="claude") == ids(index, since=NOW.replace(year=2028)) == ["ours"]
        assert ids(index, until=NOW.replace(year=2028)) == ids(index, tool="codex") == []


def test_an_import_and_what_was_handed_over_again_are_the_same_conversation(machine: Machine) -> None:
    machine.write(OWN, "zebra")
    machine.add("claude-own", "zebra")
    machine.link("claude-own", OWN, how="import")
    machine.write(OTHER, "zebra")
    machine.link("claude-own", OTHER)
    with machine.index() as index:
        assert ids(index) == ["claude-own"]


def test_what_was_handed_over_is_shown_before_an_import_of_its_copy(machine: Machine) -> None:
    machine.add("ours", "zebra")
    machine.add("claude-own", "zebra")
    machine.write(OWN, "zebra")
    machine.link("claude-own", OWN, how="import")
    machine.link("ours", OWN)
    with machine.index() as index:
        assert ids(index) == ["ours"]


def test_an_entry_that_is_gone_or_in_another_store_hides_nothing(machine: Machine) -> None:
    machine.add("ours", "zebra")
    machine.write(OWN, "zebra")
    machine.link("ours")
    with machine.index() as index:
        (tool,) = (name for name in {source.name for source in machine.sources()} if name.startswith("claude:"))
        assert ids(index, sources=(tool,)) == [OWN]
        machine.library.delete("ours")
        index.refresh(machine.sources())
        assert ids(index) == [OWN]


def test_a_later_session_with_the_same_id_is_another_conversation(machine: Machine, tmp_path: Path) -> None:
    machine.add("ours", "zebra")
    machine.write(OWN, "zebra")
    machine.link("ours")
    path = tmp_path / "sessions" / "ours.jsonl"
    record = {"type": "metadata", "session_id": "ours", "agent": "", "created_at": "2031-01-05T00:00:00Z"}
    path.write_text(f"{json.dumps({**record, 'status': 'paused'})}\n")
    with machine.index() as index:
        assert set(ids(index)) == {"ours", OWN}


def test_what_a_tool_made_while_it_answered_is_never_an_entry(machine: Machine) -> None:
    machine.add("ours", "zebra")
    machine.write(OWN, "okapi")
    machine.link("ours", how="answer")
    with machine.index() as index:
        (entry,) = index.entries()
        assert (entry.id, entry.copies, index.search("okapi")) == ("ours", (), [])
        machine.library.delete("ours")
        index.refresh(machine.sources())
        assert ids(index) == []


def test_a_tool_that_gives_the_session_another_id_is_recognised_by_the_launch(machine: Machine) -> None:
    machine.add("ours", "zebra")
    place = machine.root / ".gemini" / "tmp" / "x" / "chats"
    place.mkdir(parents=True)
    data = gemini.write(_messages("zebra", NOW), session_id=OWN, cwd="/work", now=NOW)
    header = data.split(b"\n")[0].replace(OWN.encode(), OTHER.encode())
    (place / "session-1.jsonl").write_bytes(b"\n".join([header, *data.split(b"\n")[1:]]))
    with machine.index() as index:
        assert set(ids(index)) == {"ours", OTHER}
        machine.link("ours", OWN, tool="gemini")
        assert ids(index) == ["ours"]


def test_what_a_session_or_a_transcript_says_hides_nothing(machine: Machine, tmp_path: Path) -> None:
    clone = segue.open(f"journal:{tmp_path}/clone")
    machine.add("mine", "zebra")
    machine.write(OWN, "zebra")  # marked as written by us
    for id, target in (("one", "mine"), ("two", OWN)):
        machine.add(id, "zebra", library=clone)
        with clone.open(id) as session:
            session.set_overrides({"tool": "claude", "tool_session": target, "tool_sessions": {"claude": target}})
    lines = (
        '{"type":"metadata","session_id":"x","agent":"claude","created_at":"2026-01-05T00:00:00Z","status":"paused",'
        f'"tool":"claude","origin":"{OWN}"}}\n'
        '{"type":"turn","role":"user","content":"zebra","timestamp":"2026-01-05T00:00:00Z","tokens":1}\n'
    )
    (tmp_path / "clone" / f"claude-{OWN}.jsonl").write_text(lines)
    with machine.index(clone) as index:
        everything = {"mine", "one", "two", OWN, f"claude-{OWN}"}
        assert set(ids(index)) == everything
        assert {hit.entry.id for hit in index.search("zebra")} == everything


def test_a_torn_line_costs_one_link_and_links_are_recorded_once(machine: Machine, tmp_path: Path) -> None:
    machine.add("ours", "zebra")
    machine.link("ours")
    with (tmp_path / "trust" / NAME).open("ab") as file:
        file.write(b'{"tool":"cla')
    machine.link("ours", OTHER)
    machine.link("ours", OTHER)
    assert [link.native_id for link in machine.links.read()] == [OWN, OTHER]
    assert (tmp_path / "trust" / NAME).stat().st_mode & 0o777 == 0o600
