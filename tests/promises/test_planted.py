"""Bugs planted on purpose: each is caught by the proof that is there for it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from segue.durable.folder import Folder
from segue.durable.log import Log
from segue.errors import SegueError
from segue.formats.journal import decode_line
from segue.stores.journal import JournalStore, parser, window
from segue.stores.journal.parser import Parser
from segue.testing.power import PowerKernel
from tests.durable import test_folder
from tests.promises import test_faults, test_flips, test_golden, test_many_processes, test_power
from tests.support.journal_operations import prepare
from tests.support.journals import CORPUS, lay
from tests.support.processes import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.formats.journal import JournalLine

CAUGHT = (AssertionError, OSError, SegueError, pytest.fail.Exception)
"""A proof fails by its claim, or by an error that no proof allows."""


@pytest.fixture
def prepared(root: Path) -> Path:
    prepare(root / "prepared")
    return root / "prepared"


@pytest.fixture(params=["sound", "planted"])
def plant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Each proof runs twice: on the code as it is, where it holds, and with the bug, where it must not."""
    planted: list[bool] = []

    def put(place: object, name: str, bug: object) -> None:
        planted.append(True)
        if request.param == "planted":
            monkeypatch.setattr(place, name, bug)

    yield put
    assert planted


def must_catch(request: pytest.FixtureRequest, proof: Callable[[], None]) -> None:
    if "planted" in request.node.callspec.params.values():
        with pytest.raises(CAUGHT):
            proof()
    else:
        proof()


def test_an_append_without_a_sync_is_caught_by_the_power_cut(
    prepared: Path, root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    plant(PowerKernel, "fdatasync", lambda _kernel, _fd: None)
    must_catch(request, lambda: test_power.test_an_acknowledged_append_survives(prepared, root, "append one"))


def test_a_folder_that_is_not_synced_is_caught_by_the_power_cut(
    root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    plant(Folder, "sync", lambda _folder: None)
    must_catch(request, lambda: test_power.test_a_created_session_survives_with_the_folders_above_it(root, ""))


def test_a_fixed_temporary_name_is_caught_by_two_that_write_at_once(
    root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    plant(os, "urandom", bytes)
    must_catch(request, lambda: test_folder.test_two_that_write_one_file_at_once_do_not_meet(root))


def test_lines_cut_at_other_separators_are_caught_by_the_golden_journals(
    root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    def feed(self: Parser, block: bytes) -> None:
        for line in block.decode("utf-8", "surrogatepass").splitlines():
            self.line += 1
            self._take(line.encode("utf-8", "surrogatepass"))

    plant(Parser, "feed", feed)
    for golden in CORPUS.glob("*.jsonl"):
        lay(root, golden.stem, golden.read_bytes())
    must_catch(request, lambda: test_golden.test_the_lines_of_another_tool_are_read(JournalStore(str(root))))


def test_deleting_by_prefix_is_caught_by_the_neighbours(
    prepared: Path, root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    delete = JournalStore.delete

    def delete_all(self: JournalStore, session_id: str, *, revision: str | None = None) -> None:
        for known in [id for id in self.ids() if id.startswith(session_id)]:
            delete(self, known, revision=revision)

    plant(JournalStore, "delete", delete_all)
    must_catch(request, lambda: test_faults.test_deleting_removes_a_session_whole_or_leaves_it_whole(prepared, root))


def test_half_an_append_left_behind_is_caught_by_the_short_write(
    prepared: Path, root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    plant(Log, "_take_back", lambda _log: True)
    proof = test_faults.test_an_append_that_raises_is_not_there_and_one_that_returns_is
    must_catch(request, lambda: proof(prepared, root, "append many"))


def test_checksums_that_nobody_checks_are_caught_by_the_flips(
    root: Path, plant: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    def trust(line: bytes) -> JournalLine:
        body, found, mark = re.sub(rb',"sum":"[0-9a-f]{8}(\+?)"\}$', rb"\n\1", line).partition(b"\n")
        return decode_line(b'%b,"sum":"%08x%b"}' % (body, crc32(body), mark) if found else line)

    plant(parser, "decode_plain", lambda _block, _seq: None)
    plant(parser, "decode_line", trust)
    plant(window, "decode_line", trust)
    must_catch(request, lambda: test_flips.test_a_flipped_byte_is_found_and_placed_and_all_else_is_readable(root, "1"))


@pytest.mark.parametrize("bug", ["", "no lock"])
def test_a_lock_that_is_skipped_is_caught_by_many_processes(tmp_path: Path, seed: int, bug: str) -> None:
    with Crew() as crew:
        proof = test_many_processes.test_processes_that_wait_for_one_another_all_get_their_turn
        if not bug:
            proof(tmp_path, seed, crew, 40)
            return
        crew.ask("plant", bug=bug)
        with pytest.raises(CAUGHT):
            proof(tmp_path, seed, crew, 40)
