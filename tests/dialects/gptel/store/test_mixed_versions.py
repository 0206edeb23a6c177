"""Backups, synchronised folders and people leave files of different ages side by side: no text of any is ever lost."""

from __future__ import annotations

import random
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.gptel.lifecycle import Sessions
from segue.dialects.gptel.paths import BranchPath
from segue.dialects.gptel.store import GptelStore
from segue.durable.kernel import Kernel
from segue.errors import DamagedError
from segue.presets import SHIPPED, load_presets
from segue.stores.memory import MemoryStore
from segue.transfer.convert import convert

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.model import Session

ID = "mixed-20260101120000"
PRESETS = load_presets([SHIPPED])
MARK = re.compile(rb"<!-- segue [^\n]*\n")
WORD = re.compile(rb"\b[UAT]\d+w\b")
"""Every turn has a word of its own, which tells who said it."""


class HastyKernel(Kernel):
    """Syncs nothing: no power is cut here."""

    @staticmethod
    def fsync(fd: object) -> None:
        pass

    @staticmethod
    def fdatasync(fd: object) -> None:
        pass


def library_in(folder: Path) -> segue.Library:
    return segue.Library(GptelStore(str(folder), kernel=HastyKernel()))


class History:
    """A session that grows step by step, with a copy of its folder after each step."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.root = root
        self.folder = root / "sessions" / ID
        self.versions: list[Path] = []
        self._words = 0

    def grow(self) -> None:
        with library_in(self.folder.parent) as library:
            with library.create(id=ID, agent="executor") as live:
                live.add("user", self.said("user"))
            self._keep()
            for _ in range(self.random.randint(1, 6)):
                with library.open(ID) as live:
                    self.random.choice([self._talk, self._talk, self._talk, self._fork, self._settle])(live)
                if self.random.random() < 0.4:
                    self._type_in_emacs()
                self._keep()

    def said(self, role: str) -> str:
        self._words += 1
        word = f"{role[0].upper()}{self._words}w"
        return self.random.choice([f"{word}.", f"{word}\n\nand on\n", f"-*- {word} -*-", f"### {word}?\n```\nö"])

    def _talk(self, live: segue.LiveSession) -> None:
        for _ in range(self.random.randint(1, 2)):
            role = self.random.choice(["user", "assistant", "assistant", "tool"])
            live.add(role, self.said(role))

    def _fork(self, live: segue.LiveSession) -> None:
        live.fork(at=self.random.randint(0, len(live.turns)), switch=self.random.random() < 0.5)

    def _settle(self, live: segue.LiveSession) -> None:
        live.set_overrides({"temperature": self.random.choice([0.1, 0.2, 0.3])})

    def _type_in_emacs(self) -> None:
        """A question, or an answer with bounds that moved along, saved before the footer."""
        page = self.pick_page()
        text = page.read_text()
        body, feed, footer = text.rpartition("\n\f\n")
        if not feed:
            page.write_text(f"### {self.said('user')}\n{text}")
            return
        if self.random.random() < 0.5:
            page.write_text(f"{body}\n### {self.said('user')}\n{feed}{footer}")
            return
        answer = f"{self.said('assistant').strip()}"
        start = len(body) + 3
        added = f"((response ({start} {start + len(answer)}))"
        footer = footer.replace("bounds: nil", "bounds: ()").replace("bounds: (", f"bounds: {added} ", 1)
        page.write_text(f"{body}\n\n{answer}\n{feed}{footer}")

    def pages(self) -> list[Path]:
        return sorted(self.folder.glob("branches/[!.]*/session.md"))

    def pick_page(self) -> Path:
        return self.random.choice(self.pages())

    def _keep(self) -> None:
        copy = self.root / "versions" / str(len(self.versions))
        shutil.copytree(self.folder, copy, symlinks=True)
        self.versions.append(copy)

    # ── What backups, synchronisation and people do ──────────────────────────────────────────────────────────────────

    def remove_events(self) -> None:
        shutil.rmtree(self.folder / ".segue", ignore_errors=True)

    def restore_events(self) -> None:
        self.remove_events()
        shutil.copytree(self.random.choice(self.versions) / ".segue", self.folder / ".segue")

    def restore_events_that_went_another_way(self) -> None:
        other = self.root / "other" / ID
        shutil.copytree(self.random.choice(self.versions), other, symlinks=True)
        with library_in(other.parent) as library, library.open(ID) as live:
            self._talk(live)
        self.remove_events()
        shutil.copytree(other / ".segue", self.folder / ".segue")

    def restore_page(self) -> None:
        page = self.pick_page()
        old = self.random.choice(self.versions) / page.relative_to(self.folder)
        if old.exists():
            shutil.copy(old, page)

    def remove_mark(self) -> None:
        page = self.pick_page()
        page.write_bytes(MARK.sub(b"", page.read_bytes()))

    def remove_footer(self) -> None:
        page = self.pick_page()
        page.write_bytes(page.read_bytes().partition(b"\f")[0])

    def type_on_the_form_feed(self) -> None:
        page = self.pick_page()
        where = self.random.choice([b"\f%b", b"%b\f"])
        page.write_bytes(page.read_bytes().replace(b"\f", where % self.said("user").split("\n")[0].encode(), 1))

    def comment_otherwise(self) -> None:
        page = self.pick_page()
        body, feed, footer = page.read_bytes().partition(b"\f\n")
        footer = MARK.sub(b"", footer).replace(b"<!-- ", b";; ").replace(b" -->", b"")
        between = feed if self.random.random() < 0.5 or not body.endswith(b"\n") else b""
        page.write_bytes(body + between + footer)

    def remove_metadata(self) -> None:
        self.pick_page().with_name("metadata.yml").unlink(missing_ok=True)

    def copy_branch(self) -> None:
        shutil.copytree(self.pick_page().parent, self.folder / "branches" / "copied", dirs_exist_ok=True)


def words_in(folder: Path) -> set[bytes]:
    return {word for file in folder.rglob("*") if file.is_file() for word in WORD.findall(file.read_bytes())}


def words_of(session: Session, branch: str) -> dict[bytes, str]:
    """By the word: who says it."""
    return {word: turn.role for turn in session.path(branch) for word in WORD.findall(turn.content.encode())}


def show(store: GptelStore, place: BranchPath) -> None:  # noqa: ARG001 - as the others
    store.load(ID)


def verify(store: GptelStore, place: BranchPath) -> None:  # noqa: ARG001 - as the others
    assert store.examine(ID).session is not None


def tag(store: GptelStore, place: BranchPath) -> None:  # noqa: ARG001 - as the others
    with segue.Library(store).open(ID) as live:
        live.tag("x")


def add(store: GptelStore, place: BranchPath) -> None:  # noqa: ARG001 - as the others
    with segue.Library(store).open(ID) as live:
        live.add("user", "And?")


def save(store: GptelStore, place: BranchPath) -> None:
    Sessions(store.folder.path, PRESETS, kernel=store.folder.kernel).save(place, {"temperature": 0.7})


def branch(store: GptelStore, place: BranchPath) -> None:
    Sessions(store.folder.path, PRESETS, kernel=store.folder.kernel).branch(place, "another")


def convert_it(store: GptelStore, place: BranchPath) -> None:  # noqa: ARG001 - as the others
    convert(store, ID, MemoryStore())


OPERATIONS: list[Callable[[GptelStore, BranchPath], None]] = [show, verify, tag, add, save, branch, convert_it]


@pytest.mark.parametrize("rounds", [30, pytest.param(2000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_no_text_of_any_file_is_lost_whatever_their_ages(
    tmp_path: Path, pytestconfig: pytest.Config, rounds: int
) -> None:
    for number in range(rounds):
        root = tmp_path / str(number)
        history = History(root, pytestconfig.getoption("--seed") * 100_000 + number)
        history.grow()
        happened = history.random.choices(
            [
                history.remove_events,
                history.restore_events,
                history.restore_events_that_went_another_way,
                history.restore_page,
                history.remove_mark,
                history.remove_footer,
                history.type_on_the_form_feed,
                history.comment_otherwise,
                history.remove_metadata,
                history.copy_branch,
            ],
            k=history.random.randint(1, 3),
        )
        for change in dict.fromkeys(happened):
            change()
        operation = history.random.choice(OPERATIONS)
        case = f"{number}: {[change.__name__ for change in happened]} then {operation.__name__}"
        before = words_in(history.folder)
        shown = {page.parent.name: set(WORD.findall(page.read_bytes())) for page in history.pages()}
        store = GptelStore(str(history.folder.parent), kernel=HastyKernel())
        try:
            operation(store, BranchPath(str(history.folder), history.pick_page().parent.name))
            session = store.load(ID)
        except DamagedError:
            assert history.remove_footer in happened, case
            assert words_in(history.folder) >= before, case
            continue
        assert words_in(history.folder) >= before, case
        for name, words in shown.items():
            said = words_of(session, name)
            assert said.keys() >= words, (case, name, words - said.keys())
            assert {role for word, role in said.items() if word.startswith(b"U")} <= {"user"}, case
            if history.remove_footer not in happened:
                assert {role for word, role in said.items() if word.startswith(b"A")} <= {"assistant"}, (case, said)
        with suppress(FileNotFoundError):
            shutil.rmtree(root)
