"""Deleting, cleaning and restoring against a plain model, with kills in between: nothing that was used is cleaned, what
comes back is what went, and nothing is lost unless it was erased.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from segue.errors import NotFoundError, SessionExistsError
from segue.library import PINNED, Library
from segue.testing.harness_gptel import GptelHarness
from segue.testing.harness_journal import JournalHarness
from segue.testing.harness_soleur import SoleurHarness
from segue.testing.power import KilledError

if TYPE_CHECKING:
    from segue.testing.harness_file_store import FileStoreHarness

IDS = st.sampled_from(["a", "ab"])
HARNESSES = (JournalHarness, SoleurHarness, GptelHarness)


class Known:
    """What the model knows of a session."""

    def __init__(self, used: datetime) -> None:
        self.texts: list[str] = []
        self.used = used
        self.is_pinned = False


class Keeping(RuleBasedStateMachine):
    """A clock that starts now and only moves forward: no file is newer than its time."""

    @initialize(kind=st.sampled_from(HARNESSES))
    def begin(self, kind: type[FileStoreHarness]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.harness = kind(Path(self.folder.name))
        self.now = datetime.now(UTC)
        self.harness.clock = self.tick  # type: ignore[assignment]
        self.here: dict[str, Known] = {}
        self.trash: dict[str, list[Known]] = {}
        self.number = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.harness.kill()
            self.folder.cleanup()

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def library(self) -> Library:
        return Library(self.harness.make(), clock=self.tick)

    @rule(days=st.sampled_from([1, 10, 60]))
    def time_goes_on(self, days: int) -> None:
        self.now += timedelta(days=days)

    @rule(id=IDS)
    def add(self, id: str) -> None:
        self.number += 1
        text = f"This is number {self.number}."
        if id not in self.here:
            self.library.create(id=id).close()
            self.here[id] = Known(self.now)
        with self.library.open(id) as live:
            live.add("user", text)
        self.here[id].texts.append(text)
        self.here[id].used = self.now

    @rule(id=IDS)
    def pin(self, id: str) -> None:
        if id in self.here:
            with self.library.open(id) as live:
                live.tag(PINNED)
            self.here[id].is_pinned = True
            self.here[id].used = self.now

    @rule(id=IDS, days=st.sampled_from([0, 0, 5, 400]))
    def somebody_else_writes(self, id: str, days: int) -> None:
        """A line without a time, by another program; its file is dated now, or as a copy may be, long ago."""
        if id not in self.here or not isinstance(self.harness, JournalHarness):
            return
        self.number += 1
        text = f"By hand, number {self.number}."
        path = self.harness.root / f"{id}.jsonl"
        with path.open("a") as file:
            file.write(f'{{"type":"turn","role":"user","content":"{text}"}}\n')
        self.here[id].texts.append(text)
        when = self.now - timedelta(days=days)
        os.utime(path, (when.timestamp(), when.timestamp()))
        self.here[id].used = max(self.here[id].used, when)

    @rule(id=IDS)
    def somebody_saves_the_file(self, id: str) -> None:
        """As an editor does, without any time in it."""
        if id in self.here:
            for path in self.harness.make().content_files(id):  # type: ignore[attr-defined]
                os.utime(path, (self.now.timestamp(), self.now.timestamp()))
            self.here[id].used = self.now

    @rule(id=IDS, days=st.sampled_from([1, 30]))
    def somebody_saves_an_old_file_and_cleans(self, id: str, days: int) -> None:
        self.time_goes_on(60)
        self.somebody_saves_the_file(id)
        self.clean(days)

    @rule(id=IDS)
    def delete(self, id: str) -> None:
        try:
            self.library.discard(id)
        except NotFoundError:
            assert id not in self.here
        else:
            self.trash.setdefault(id, []).append(self.here.pop(id))

    @rule(id=IDS, at=st.integers(1, 40), is_restoring=st.booleans())
    def delete_or_restore_and_be_killed(self, id: str, at: int, is_restoring: bool) -> None:  # noqa: FBT001
        library = self.library
        if is_restoring and not self.trash.get(id):
            return  # it would take the id for the beginning of another
        self.harness.kernel.die_at(self.harness.kernel.calls + at)
        with suppress(KilledError, NotFoundError, SessionExistsError):
            (library.restore if is_restoring else library.discard)(id)
        self.harness.kill()
        self._look_again(id)

    def _look_again(self, id: str) -> None:
        """After a kill it is here or in the trash; whichever it is, the model follows."""
        is_here, was_here = id in set(self.library.store.ids()), id in self.here
        if was_here and not is_here:
            self.trash.setdefault(id, []).append(self.here.pop(id))
        elif is_here and not was_here:
            self.here[id] = self.trash[id].pop()

    @rule(id=IDS)
    def restore(self, id: str) -> None:
        entries = [entry for entry in self.library.trashed() if entry.head.id == id]
        assert len(entries) == len(self.trash.get(id, []))
        if not entries:
            return
        try:
            self.library.restore(id)
        except SessionExistsError:
            assert id in self.here
        else:
            assert id not in self.here
            texts = self._texts(id)
            which = next(known for known in reversed(self.trash[id]) if known.texts == texts)
            self.trash[id].remove(which)
            self.here[id] = which

    @rule(days=st.sampled_from([1, 7, 30]))
    def clean(self, days: int) -> None:
        limit = self.now - timedelta(days=days)
        cleaned = self.library.clean(timedelta(days=days))
        for head in cleaned.removed:
            known = self.here.pop(head.id)
            assert known.used < limit, "it was used within the period"
            assert not known.is_pinned
            self.trash.setdefault(head.id, []).append(known)
        for id, known in self.here.items():
            assert known.is_pinned or known.used >= limit - timedelta(minutes=2), f"{id} should have gone"

    @rule(id=IDS)
    def delete_for_good(self, id: str) -> None:
        try:
            self.library.delete(id)
        except NotFoundError:
            assert id not in self.here
        else:
            self.here.pop(id, None)

    @rule(id=IDS)
    @precondition(lambda self: any(self.trash.values()))
    def erase(self, id: str) -> None:
        entries = [entry for entry in self.library.trashed() if entry.head.id == id]
        for entry in entries:
            self.library.erase(entry)
        self.trash.pop(id, None)

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "folder"):
            return
        library = self.library
        assert sorted(library.store.ids()) == sorted(self.here)
        for id, known in self.here.items():
            assert self._texts(id) == known.texts
        found = sorted(entry.head.id for entry in library.trashed())
        assert found == sorted(id for id, known in self.trash.items() for _ in known)

    def _texts(self, id: str) -> list[str]:
        return [turn.content.strip() for turn in self.library.load(id).turns]


TestKeeping = pytest.mark.timeout(3600)(Keeping.TestCase)
TestKeeping.settings = settings(stateful_step_count=50)
