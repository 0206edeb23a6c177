"""Sessions on a disk that forgets, in a process that can be killed at any call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.dialects.gptel.lifecycle import Sessions
from segue.dialects.gptel.paths import BranchPath
from segue.presets import SHIPPED, load_presets
from segue.testing.harness_gptel import GptelHarness
from segue.testing.power import KilledError
from tests.support.gptel import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.dialects.gptel.branch_details import BranchDetails

PRESETS = load_presets([SHIPPED])
FILES = ("session.md", "metadata.yml", "branch-metadata.yml", "scope.yml")
_MORE_CALLS_THAN_NEEDED = 600


class World:
    """One session that a person wrote in, and another process that may die."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.harness = GptelHarness(folder)

    @property
    def sessions(self) -> Sessions:
        return Sessions(str(self.harness.root), PRESETS, clock=self.harness.clock, kernel=self.harness.kernel)

    def begin(self) -> BranchPath:
        made = self.sessions.create("API Integration")
        self.type(made, "gptel--preset: executor", "gptel-temperature: 0.8")
        return BranchPath(made.session_dir, "main")

    def type(self, opened: BranchDetails, *variables: str) -> None:
        path = Path(opened.branch_dir) / "session.md"
        say(path, *variables)
        with path.open("rb") as file:
            self.harness.disk.sync(file.fileno(), str(path))

    def check(self, session_dir: str) -> None:
        """Whatever happened: every branch that can be seen is whole, and `current` leads to one."""
        folder = Path(session_dir)
        for branch in (folder / "branches").iterdir():
            assert branch.name.startswith(".new-") or all((branch / name).is_file() for name in FILES), branch
        target = os.readlink(folder / "current")
        assert target.startswith("branches/")
        assert (folder / target / "session.md").is_file()

    def leftovers(self, session_dir: str) -> list[str]:
        return [path.name for path in Path(session_dir, "branches").iterdir() if path.name.startswith(".new-")]


def crash_points(
    place: Path, before: Callable[[World], BranchPath], act: Callable[[World, BranchPath], object]
) -> Iterator[tuple[World, BranchPath]]:
    """One world for each call at which the act can end, as it is when it has."""
    for call in range(1, _MORE_CALLS_THAN_NEEDED):
        world = World(place / str(call))
        there = before(world)
        kernel = world.harness.kernel
        kernel.die_at(kernel.calls + call)
        try:
            act(world, there)
        except KilledError:
            yield world, there
        else:
            assert call > 10
            return
    raise AssertionError("it makes more calls than that")
