"""Links, pipes, folders and devices where files should be: nothing outside the root is opened, written or removed."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from segue.errors import InvalidIdError, SegueError, SessionExistsError
from segue.stores.journal import JournalStore
from segue.testing.failing import WatchedKernel
from tests.support.journal_operations import BLOB, BLOB_NAME, OTHERS, WRITING, prepare
from tests.support.journals import CORPUS, metadata, snapshot
from tests.support.processes import Crew

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIGEST = BLOB_NAME.removeprefix("sha256:")
PRIVATE = "the secret outside"


class WardedKernel(WatchedKernel):
    """Remembers every file that was opened where it really is."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        result = call(*args)
        if name == "open":
            self.opened.add(os.path.realpath(str(args[0])))
        return result


def replace_by(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"was-{path.name.strip('.')}"))
    else:
        path.unlink(missing_ok=True)
    make(path)


def make_device(path: Path) -> None:
    """A device, where we may make one; a folder is as little a file."""
    if os.geteuid() == 0:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    else:
        path.mkdir()


PLACES = (
    "sound.jsonl",
    "torn.jsonl",
    "damaged.jsonl",
    "damaged.jsonl.corrupt",
    "new.jsonl",
    ".locks",
    ".locks/sound.lock",
    ".locks/torn.lock",
    ".quarantine",
    ".blobs",
    ".blobs/sound",
    f".blobs/sound/{DIGEST}",
)


def lay_outside(outside: Path) -> None:
    """What an intruder would like to be read, overwritten or removed: everything a link from inside might name."""
    (outside / "sound").mkdir(parents=True)
    (outside / "sound" / DIGEST).write_bytes(BLOB)
    for name in ("sound.lock", "torn.lock", DIGEST):
        (outside / name).write_text(f'{{"pid":1,"host":"{PRIVATE}"}}', encoding="utf-8")
    data = (CORPUS / "small.jsonl").read_text(encoding="utf-8")
    (outside / "file").write_text(data.replace("turn 3", PRIVATE), encoding="utf-8")


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "link to a file": lambda path, outside: path.symlink_to(outside / "file"),
    "link to a folder": lambda path, outside: path.symlink_to(outside),
    "link to nothing": lambda path, outside: path.symlink_to(outside / "nothing"),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "device": lambda path, _: make_device(path),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_nothing_outside_the_root_is_touched(root: Path, place: str, kind: str) -> None:
    inside, outside = root / "inside", root / "outside"
    prepare(inside)
    (inside / ".quarantine").mkdir(mode=0o700)
    lay_outside(outside)
    replace_by(inside / place, lambda path: KINDS[kind](path, outside))
    before = snapshot(outside)
    kernel = WardedKernel()
    store = JournalStore(str(inside), kernel=kernel)
    results: list[object] = []
    for run in (*(act for _, act in OTHERS.values()), *(using_a_writer(act) for act in WRITING.values()), keep_blob):
        try:
            results.append(run(store))
        except SegueError as error:
            assert PRIVATE not in str(error)  # noqa: PT017 - most of them raise, and may
    assert PRIVATE not in repr(results)
    assert snapshot(outside) == before
    synced = {str(root)}  # the folder above, which holds the name of ours
    assert [path for path in kernel.opened if not path.startswith(str(inside)) and path not in synced] == []


def using_a_writer(act: Callable[..., object]) -> Callable[[JournalStore], object]:
    def run(store: JournalStore) -> None:
        with store.open("sounder", timeout_seconds=0) as writer:
            act(writer)

    return run


def keep_blob(store: JournalStore) -> None:
    with store.create("sound", [metadata("sound")]) as writer:
        writer.put_blob(b"another picture")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["sound.jsonl", ".locks/sound.lock", ".locks"])
def test_one_odd_file_does_not_hide_the_others_from_a_listing(root: Path, place: str, kind: str) -> None:
    inside, outside = root / "inside", root / "outside"
    prepare(inside)
    lay_outside(outside)
    replace_by(inside / place, lambda path: KINDS[kind](path, outside))
    found = {head.id: head for head in JournalStore(str(inside)).heads()}
    assert {"sounder", "other", "left", "torn"} <= set(found)
    if place == ".locks" and kind != "folder":  # whether an active one is alive, nobody can tell then
        assert ".locks" in found["other"].damage
    else:
        assert found["other"].damage == ""
    assert place != "sound.jsonl" or found["sound"].damage


def test_recovery_keeps_the_original_whatever_stands_in_its_way(root: Path) -> None:
    prepare(root)
    original = (root / "damaged.jsonl").read_bytes()
    (root / "damaged.jsonl.corrupt").symlink_to("damaged.jsonl")
    recovery = JournalStore(str(root)).recover("damaged")
    with open(recovery.original, "rb") as file:
        assert file.read() == original


def test_a_link_in_the_place_of_a_new_session_is_not_followed(root: Path) -> None:
    prepare(root)
    (root / "new.jsonl").symlink_to(root / "elsewhere")
    with pytest.raises(SessionExistsError):
        JournalStore(str(root)).create("new", [metadata("new")])
    assert not (root / "elsewhere").exists()


@pytest.mark.parametrize("id", ["..", ".", "a/b", "/etc/passwd", "", "a\0b", "a\n", "-x", ".locks", "é", "x" * 129])
def test_no_id_is_a_path(root: Path, id: str) -> None:
    prepare(root)
    before = snapshot(root)
    store = JournalStore(str(root))
    for ask in (store.load, store.open, store.delete, store.recover, store.examine, store.owner, store.head):
        with pytest.raises(InvalidIdError):
            ask(id)
    with pytest.raises(InvalidIdError):
        store.get_blob("sound", f"sha256:{id}")
    assert snapshot(root) == before


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_and_folders_are_ours_alone_whatever_the_umask(root: Path, umask: int) -> None:
    with Crew() as crew:
        assert crew.ask("make_under_umask", root=str(root), umask=umask) == {"text": ""}
    found = {path.relative_to(root).as_posix(): path.lstat().st_mode for path in root.rglob("*")}
    assert {
        name: oct(mode)
        for name, mode in found.items()
        if stat.S_IMODE(mode) != (0o700 if stat.S_ISDIR(mode) else 0o600)
    } == {}
    assert {".locks", ".blobs", ".quarantine"} <= {name.rpartition("/")[2] for name in found}
    assert "below/here/new.jsonl.corrupt" in found
