"""A process that dies at any call of create, branch, save, rename or delete leaves the old state or the new one."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.dialects.gptel.lifecycle import Sessions
from segue.dialects.gptel.paths import BranchPath
from segue.errors import SegueError
from segue.testing.failing import FailingKernel, Fault
from segue.testing.harness_gptel import GptelHarness
from tests.support.gptel import footer
from tests.support.gptel_crashes import PRESETS, World, crash_points

if TYPE_CHECKING:
    from collections.abc import Callable

SCOPE = b"# mine\npaths: {read: [/notes]}\n"
ends = pytest.mark.parametrize("end", [GptelHarness.kill, GptelHarness.power_cut], ids=["killed", "power cut"])


def nowhere(world: World) -> BranchPath:
    return BranchPath(str(world.harness.root), "")


def branched(world: World) -> BranchPath:
    """At a branch that is not the current one."""
    main = world.begin()
    made = world.sessions.branch(main, "other", at=1, switch=False)
    return BranchPath(made.session_dir, made.branch_name)


def switched(world: World) -> BranchPath:
    """At the current branch, with a scope that the user wrote."""
    main = world.begin()
    made = world.sessions.branch(main, "other", at=1)
    path = Path(made.branch_dir, "scope.yml")
    path.write_bytes(SCOPE)
    with path.open("rb") as file:
        world.harness.disk.sync(file.fileno(), str(path))
    return BranchPath(made.session_dir, made.branch_name)


def names(world: World, place: BranchPath) -> list[str]:
    return [branch.name.partition("-")[2] or branch.name for branch in world.sessions.branches(place)]


@ends
def test_there_is_a_whole_session_or_none(tmp_path: Path, end: Callable[[GptelHarness], None]) -> None:
    for world, _ in crash_points(tmp_path, nowhere, lambda world, _: world.sessions.create("API")):
        end(world.harness)
        found = list(world.harness.make().ids())
        assert len(found) <= 1
        for name in found:
            world.check(f"{world.harness.root}/{name}")
            opened = world.sessions.open(BranchPath(f"{world.harness.root}/{name}", ""))
            assert (opened.state, opened.preset, opened.warnings) == ("new", "executor", ())
        assert world.sessions.create("API").state == "new"
        assert [path.name for path in world.harness.root.iterdir() if path.name.startswith(".new-")] == []


@ends
def test_there_is_a_whole_branch_or_none(tmp_path: Path, end: Callable[[GptelHarness], None]) -> None:
    def act(world: World, place: BranchPath) -> None:
        world.sessions.branch(place, "other", at=1)

    for world, place in crash_points(tmp_path, World.begin, act):
        end(world.harness)
        world.check(place.session_dir)
        assert names(world, place) in (["main"], ["main", "other"])
        made = world.sessions.branch(place, "again", at=3)
        assert made.overrides == {"temperature": 0.8}
        assert names(world, place)[-1] == "again"
        assert world.leftovers(place.session_dir) == []
        world.check(place.session_dir)


@ends
def test_a_save_is_made_or_not(tmp_path: Path, end: Callable[[GptelHarness], None]) -> None:
    def act(world: World, place: BranchPath) -> None:
        world.sessions.save(place, {"temperature": 0.5, "model": "gpt-4o"})

    for world, place in crash_points(tmp_path, World.begin, act):
        path = Path(place.branch_dir) / "session.md"
        end(world.harness)
        world.check(place.session_dir)
        shown = footer(path)
        assert ("gptel-temperature" in shown) != ("gptel-model" in shown)
        assert path.read_text().startswith("### How do I paginate?\n\nUse cursors.\n")
        saved = world.sessions.save(place, {"temperature": 0.5, "model": "gpt-4o"})
        assert saved.overrides == {"model": "gpt-4o"}
        turns = world.harness.make().load(Path(place.session_dir).name).turns
        assert [(turn.role, turn.content) for turn in turns] == [
            ("user", "How do I paginate?"),
            ("assistant", "Use cursors."),
            ("user", "And then?"),
        ]


@ends
def test_a_branch_is_deleted_or_not(tmp_path: Path, end: Callable[[GptelHarness], None]) -> None:
    def act(world: World, place: BranchPath) -> None:
        world.sessions.delete_branch(place)

    for world, place in crash_points(tmp_path, branched, act):
        end(world.harness)
        world.check(place.session_dir)
        main = BranchPath(place.session_dir, "main")
        left = names(world, main)
        assert left in (["main"], ["main", "other"])
        world.sessions.save(main)
        assert names(world, main) == left
        assert Path(place.branch_dir).exists() == (len(left) == 2)
        assert world.leftovers(place.session_dir) == []


@ends
def test_a_branch_is_renamed_or_not(tmp_path: Path, end: Callable[[GptelHarness], None]) -> None:
    def act(world: World, place: BranchPath) -> None:
        world.sessions.rename_branch(place, "better")

    for world, place in crash_points(tmp_path, switched, act):
        end(world.harness)
        world.check(place.session_dir)
        main = BranchPath(place.session_dir, "main")
        left = names(world, main)
        assert left in (["main", "other"], ["main", "better"])
        world.sessions.save(main)
        assert names(world, main) == left
        folder = Path(place.branch_dir.replace("other", left[1]))
        assert (folder / "scope.yml").read_bytes() == SCOPE
        assert Path(place.branch_dir).exists() == (left[1] == "other")
        assert os.readlink(Path(place.session_dir) / "current") == f"branches/{folder.name}"
        assert world.leftovers(place.session_dir) == []


def test_whatever_call_fails_there_is_no_half_of_a_branch(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    calls = failed = 0
    while True:
        calls += 1 if request.config.getoption("--long") else 3
        world = World(tmp_path / str(calls))
        place = world.begin()
        kernel = FailingKernel(Fault(at=calls, error=errno.ENOSPC))
        sessions = Sessions(str(world.harness.root), PRESETS, clock=world.harness.clock, kernel=kernel)
        try:
            sessions.branch(place, "other", at=1)
        except SegueError:
            failed += 1
        world.check(place.session_dir)
        assert world.leftovers(place.session_dir) == []
        if not kernel.failed:
            break
    assert failed > 7


def waiting(world: World) -> BranchPath:
    """At a branch that is not the current one, in which Emacs has saved settings of its own."""
    main = world.begin()
    world.sessions.branch(main, "other", at=1)
    world.type(world.sessions.open(main), "gptel--preset: executor", "gptel-temperature: 0.3", "gptel-model: gpt-5")
    return main


@ends
@pytest.mark.parametrize("is_switched", [False, True], ids=["another writes", "it becomes current"])
def test_settings_that_wait_in_a_branch_are_never_lost(
    tmp_path: Path,
    end: Callable[[GptelHarness], None],
    is_switched: bool,  # noqa: FBT001 - pytest's way
) -> None:
    def act(world: World, place: BranchPath) -> None:
        if is_switched:
            world.sessions.switch(place)
        else:
            world.sessions.save(BranchPath(place.session_dir, ""), {"max_tokens": 10})

    wanted = {"temperature": 0.3, "model": "gpt-5"}
    for world, place in crash_points(tmp_path, waiting, act):
        end(world.harness)
        world.check(place.session_dir)
        assert wanted.items() <= world.sessions.open(place).overrides.items()
        act(world, place)
        assert wanted.items() <= world.sessions.open(place).overrides.items()
        world.sessions.switch(place)
        assert wanted.items() <= world.harness.make().overview(Path(place.session_dir).name).overrides.items()
