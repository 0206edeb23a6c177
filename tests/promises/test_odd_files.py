"""One odd file costs only itself: whatever lies beside them, healthy sessions are listed, found and read.

Files of every store and of every AI tool are mutated, and the commands are called as a person calls them.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import pytest

import segue
from segue.cli.app import run
from segue.console.exit_codes import Exit
from tests.promises.mutations import mutate, mutate_database, replace_file
from tests.support.integration_homes import PLACES, move_in

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

STORES = ("journal", "soleur", "cortext", "gptel", "ralph")
TOOLS = tuple(PLACES)
QUICK, LONG, PARTS = 16, 300, 6
WORD = "wholesome"
DECLARED = {code.value for code in Exit} - {Exit.UNEXPECTED, Exit.INTERRUPTED, Exit.BROKEN_PIPE}
OUTSIDE = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SEGUE_STORE", "CLAUDE_CONFIG_DIR")


class Answer(NamedTuple):
    code: int
    out: str
    err: str


class World:
    """A home with healthy sessions in it, and one that is about to become odd."""

    def __init__(self, home: Path, kind: str) -> None:
        self.home = home
        self.kind = kind
        self.url = f"{kind if kind in STORES else 'journal'}:{home / 'sessions'}"
        self.store = ["--store", self.url] if kind in STORES else []
        self.beside: list[str] = []
        """Healthy sessions of the same tool."""
        if kind in STORES:
            self.healthy = [self.fill(segue.open(self.url), f"{WORD} {number}") for number in range(3)]
            before = self.files()
            self.victim = self.fill(segue.open(self.url), "victim", rich=True)
            self.targets = [path for path in self.files() if path not in before and ".locks" not in path.parts]
        else:
            usual = f"journal:{home / '.local' / 'state' / 'segue' / 'sessions'}"
            self.healthy = [self.fill(segue.open(usual), f"{WORD} {number}") for number in range(3)]
            move_in(home, kind)
            self.targets = [home / PLACES[kind]]
            self.victim = next(id for id in self.listed() if id not in self.healthy)
            self.beside = self.copy_beside()
        self.pristine = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.files()}
        self.links = {path: os.readlink(path) for path in home.rglob("*") if path.is_symlink()}

    @staticmethod
    def fill(library: segue.Library, text: str, *, rich: bool = False) -> str:
        with library.create(title=text, tags=["web"]) as session:
            session.add("user", f"{text}: why does login fail?")
            session.add("assistant", "The token expires.", tokens=7)
            if rich:
                session.decide("Refresh early", tags=["auth"])
                session.fork(name="other-idea", at=1)
                session.add("assistant", "The clock is wrong.", native={"k": [1, {"deep": None}]})
                session.set_overrides({"model": "small", "temperature": 0.5})
                session.add("user", "é 🙂")
            session.pause()
            return session.id

    def copy_beside(self) -> list[str]:
        """Where a session is a file that is named after it."""
        (target,) = self.targets
        if self.victim not in target.name:
            return []
        other = f"{self.victim[:-4]}beef"
        shutil.copyfile(target, target.with_name(target.name.replace(self.victim, other)))
        return [other]

    def files(self) -> list[Path]:
        found = [path for path in self.home.rglob("*") if not path.is_symlink() and path.is_file()]
        return [path for path in found if ".cache" not in path.parts]

    def call(self, *words: str, store: bool = True) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run([*words, *(self.store if store else ())])
        return Answer(code, out.getvalue(), err.getvalue())

    def listed(self) -> list[str]:
        return [entry["id"] for entry in json.loads(self.call("list", "--json").out)]

    def restore(self) -> None:
        for path in sorted(self.home.rglob("*"), reverse=True):
            if ".cache" in path.parts or path.is_symlink():
                if path.is_symlink() and self.links.get(path) != os.readlink(path):
                    path.unlink()
                continue
            mode = path.stat().st_mode
            if not stat.S_ISDIR(mode) and (path not in self.pristine or not stat.S_ISREG(mode)):
                path.unlink()
            elif stat.S_ISDIR(mode) and path in self.pristine:
                shutil.rmtree(path)
        for path, (data, mtime_ns) in self.pristine.items():
            if not path.exists() or path.read_bytes() != data or path.stat().st_mtime_ns != mtime_ns:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                os.utime(path, ns=(mtime_ns, mtime_ns))
        for path, target in self.links.items():
            if not path.is_symlink():
                path.symlink_to(target)


@pytest.fixture
def world(root: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> World:
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("PWD", str(root))
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.chdir(root)
    return World(root, kind)


def check(world: World, note: str) -> set[str]:
    """The claim. What it gives is how the net had to catch something, if it had to."""
    answers = {
        "list": world.call("list", "--json"),
        "search": world.call("search", WORD, "--json"),
        "clean": world.call("clean", "--older-than", "52w", "--dry-run", "--json"),
        "show": world.call("show", world.victim),
        "export": world.call("export", world.victim, "--format", "json"),
        "healthy": world.call("show", world.healthy[0], "--json"),
    }
    if world.kind in STORES:
        answers["verify"] = world.call("verify", "--json")
        answers["tail"] = world.call("tail", world.victim, "-n", "3", "--json")
        answers["last"] = world.call("show", world.victim, "-n", "2")
        answers["recover"] = world.call("recover", world.victim, "--yes", "--json")
        answers["after"] = world.call("list", "--json")
    for verb, (code, out, err) in answers.items():
        assert code in DECLARED, (note, verb, code, err)
        assert "Traceback" not in out + err, (note, verb, err)
    for verb in {"list", "search", "after"} & answers.keys():
        assert answers[verb].code == 0, (note, verb, answers[verb])
        found = {entry["id"] for entry in json.loads(answers[verb].out)}
        beside = world.beside if verb != "search" else ()
        assert {*world.healthy, *beside} <= found, (note, verb, answers[verb])
    assert answers["clean"].code == 0, (note, answers["clean"])
    assert answers["healthy"].code == 0, (note, answers["healthy"])
    if "verify" in answers:
        examined = {one["id"]: one["sound"] for one in json.loads(answers["verify"].out)["sessions"]}
        assert all(examined[name] for name in world.healthy), (note, examined)
    caught = "".join(out + err for _, out, err in answers.values()).split("Segue cannot read it (")[1:]
    return {text.split(")")[0][:120] for text in caught}


def fuzz(world: World, rng: random.Random, count: int) -> dict[str, str]:
    unforeseen: dict[str, str] = {}
    for number in range(count):
        target = rng.choice(world.targets)
        note = f"{world.kind} case {number}: {target.name}"
        if rng.random() < 0.04:
            replace_file(target, rng)
        elif target.suffix == ".db":
            mutate_database(target, rng)
        else:
            target.write_bytes(mutate(target.read_bytes(), rng))
        try:
            for reason in check(world, note):
                unforeseen.setdefault(reason, note)
        finally:
            world.restore()
    return unforeseen


@pytest.mark.parametrize("kind", [*STORES, *TOOLS])
def test_whatever_lies_beside_them_healthy_sessions_are_listed_found_and_read(world: World, rng: random.Random) -> None:
    fuzz(world, rng, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", [*STORES, *TOOLS])
def test_thousands_of_odd_files_cost_only_themselves(
    world: World, rng: random.Random, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    unforeseen = fuzz(world, rng, LONG)
    with capsys.disabled():
        print(f"\n{world.kind}, part {part}: {LONG} files; caught by the net: {unforeseen or 'nothing'}")  # noqa: T201 - the numbers of the run


# ── Those that once cost all others ──────────────────────────────────────────────────────────────────────────────────

FAR = "9999-12-31T23:59:59-12:00"
HALF = "\ud800"
HUGE = 2**70


def sealed_line(plain: dict[str, object]) -> bytes:
    """A line with a checksum that is right, whatever it says."""
    body = json.dumps(plain, separators=(",", ":")).encode()[:-1]
    return b'%b,"sum":"%08x"}\n' % (body, crc32(body))


def append(world: World, **fields: object) -> None:
    """One more turn in the file of the victim, with something odd about it."""
    path = next(path for path in world.targets if path.name in {f"{world.victim}.jsonl", "events.jsonl"})
    seq = max(json.loads(line)["seq"] for line in path.read_bytes().splitlines()) + 1
    said = {"type": "turn", "role": "user", "content": "x", "timestamp": "2026-01-05T09:30:00Z", "tokens": None}
    with path.open("ab") as file:
        file.write(sealed_line({**said, "id": "odd", "seq": seq, **fields}))


def rewrite_checkpoint(world: World, change: Callable[[dict[str, object]], None]) -> None:
    (path,) = world.targets
    *lines, last = path.read_bytes().splitlines(keepends=True)
    checkpoint = json.loads(last)
    assert checkpoint["type"] == "checkpoint"
    del checkpoint["sum"]
    change(checkpoint)
    path.write_bytes(b"".join([*lines, sealed_line(checkpoint)]))


def lose_the_branch(checkpoint: dict[str, object]) -> None:
    overview = checkpoint["overview"]
    assert isinstance(overview, dict)
    overview["branches"] = {"main": overview["branches"]["main"]}


def loop_the_branches(checkpoint: dict[str, object]) -> None:
    overview = checkpoint["overview"]
    assert isinstance(overview, dict)
    overview["branches"]["main"]["parent"] = "other-idea"
    for branch in overview["branches"].values():
        branch["at"] = 10**9


def loop(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def set_cell(world: World, statement: str, value: object) -> None:
    with closing(sqlite3.connect(world.targets[0])) as database:
        database.execute(statement, (value,))
        database.commit()


def write_beside(world: World, name: bytes) -> None:
    path = os.fsencode(world.targets[0])
    Path(os.fsdecode(os.path.join(os.path.dirname(path), name))).write_bytes(world.targets[0].read_bytes())


ODDITIES: dict[str, tuple[str, Callable[[World], object]]] = {
    "a time beyond the year 9999": ("journal", lambda world: append(world, timestamp=FAR)),
    "a time before the year 1": ("journal", lambda world: append(world, timestamp="0001-01-01T00:00:00+12:00")),
    "half a character as a number": ("journal", lambda world: append(world, seq=HALF)),
    "half a character as a time": ("journal", lambda world: append(world, timestamp=HALF)),
    "half a character in a checkpoint": (
        "journal",
        lambda world: rewrite_checkpoint(world, lambda c: c.update(seq=HALF)),
    ),
    "half a character as the title of a checkpoint": (
        "journal",
        lambda world: rewrite_checkpoint(world, lambda c: c["overview"].update(title=HALF)),  # type: ignore[attr-defined]
    ),
    "a seq beyond 64 bits": ("journal", lambda world: append(world, seq=HUGE)),
    "tokens beyond 64 bits": ("journal", lambda world: append(world, tokens=HUGE)),
    "a version beyond 64 bits": ("journal", lambda world: append(world, type="metadata", version=HUGE)),
    "a branch that the checkpoint does not know": ("journal", lambda world: rewrite_checkpoint(world, lose_the_branch)),
    "branches that grow from themselves": ("journal", lambda world: rewrite_checkpoint(world, loop_the_branches)),
    "a turn on a branch that is nowhere": ("journal", lambda world: append(world, branch="nowhere")),
    "a journal that is a link to itself": ("journal", lambda world: loop(world.targets[0])),
    "a journal whose name is no text": ("journal", lambda world: write_beside(world, b"odd\xff.jsonl")),
    "a naive time among gptel's events": ("gptel", lambda world: append(world, timestamp="2026-01-05T09:30:00")),
    "a current branch that is a link to itself": (
        "gptel",
        lambda world: loop(next(path for path in world.links if path.name == "current")),
    ),
    "a blob as a title": ("opencode", lambda world: set_cell(world, "UPDATE session SET title = ?", b"\xff\0")),
    "nothing as an id": ("opencode", lambda world: set_cell(world, "UPDATE session SET id = ?", None)),
    "a huge time": ("opencode", lambda world: set_cell(world, "UPDATE message SET time_created = ?", 2**62)),
    "a blob as a name": ("llm", lambda world: set_cell(world, "UPDATE threads SET name = ?", b"\xff\0")),
    "a Claude session whose name is no text": ("claude", lambda world: write_beside(world, b"odd\xff.jsonl")),
    "a Claude session that is a link to itself": ("claude", lambda world: loop(world.targets[0])),
    "a project of Claude that is a link to itself": (
        "claude",
        lambda world: loop(world.targets[0].parent.parent / "x"),
    ),
    "a rollout whose name is no text": ("codex", lambda world: write_beside(world, b"rollout-odd\xff.jsonl")),
}


@pytest.mark.parametrize(("kind", "make_odd"), ODDITIES.values(), ids=ODDITIES)
def test_one_odd_session_costs_only_itself(world: World, make_odd: Callable[[World], object]) -> None:
    make_odd(world)
    assert check(world, "") == set()
