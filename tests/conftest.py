"""The two tiers of the proofs, the seed that makes a run repeatable, and what a test needs from the machine."""

from __future__ import annotations

import functools
import os
import random
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.mounts import can_mount
from tests.support.postgres_fixtures import (  # noqa: F401 - fixtures
    new_postgres_harness,
    postgres_harness,
    postgres_places,
    postgres_schema,
    postgres_server,
    postgres_url,
)
from tests.support.postgres_programs import find_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.register_assert_rewrite("segue.testing")

# How fast an example is says nothing of whether it is right, least of all on a busy machine.
SLOW = (HealthCheck.too_slow,)

POSTGRES = {"postgres_server", "PostgresServer", "StandbyPair", "small_disk_server"}
"""The fixture and the names that stand for a real server."""

MOUNTING = "mounting"
"""The one need that is a right and not a program."""

LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many tests were left out for each program that is not installed."""

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=SLOW)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("segue")
    group.addoption("--long", action="store_true", help="run the long tier as well: more examples, more crashes")
    group.addoption(
        "--real-tools",
        metavar="DIR",
        default=os.environ.get("SEGUE_TOOLS"),
        help="run the tests with the AI tools that scripts/install-tools put there (SEGUE_TOOLS says the same)",
    )
    group.addoption(
        "--gptel",
        metavar="DIRS",
        default=os.environ.get("SEGUE_GPTEL"),
        help="run the tests with upstream gptel, which is there, with what it needs (SEGUE_GPTEL says the same)",
    )
    group.addoption(
        "--viewers",
        metavar="DIR",
        default=os.environ.get("SEGUE_VIEWERS"),
        help="compare with the programs that scripts/install-viewers put there (SEGUE_VIEWERS says the same)",
    )
    group.addoption("--seed", type=int, help="repeat a run of the long tier with the seed that it printed")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before the workers start: they take the options of the run over."""
    config.addinivalue_line("markers", "real_tools: drives AI tools that are installed, run with --real-tools DIR")
    config.addinivalue_line("markers", "upstream_gptel: runs gptel in Emacs, run with --gptel DIRS")
    config.addinivalue_line("markers", "viewers: compares with viewers of other people, run with --viewers DIR")
    config.addinivalue_line(
        "markers", "needs(program): left out, and reported, without this program; fails in CI (but not for mounting)"
    )
    config.addinivalue_line("markers", "needs_sandbox: left out, and reported, without Landlock; fails in CI")
    config.stash[LEFT_OUT] = Counter()
    is_long: bool = config.getoption("--long")
    if config.getoption("--seed") is None:
        config.option.seed = random.SystemRandom().randrange(2**32) if is_long else 0
    if is_long and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(config.option.seed)
    settings.load_profile("long" if is_long else "quick")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """At the end and not in the header, which a quiet run leaves out."""
    seed: int = config.getoption("--seed")
    again = f"--long --seed {seed}" if config.getoption("--long") else "the quick tier has always the same"
    terminalreporter.write_line(f"seed {seed} ({again})")
    tools: str | None = config.getoption("--real-tools")
    terminalreporter.write_line(f"real tools: {f'those in {tools}' if tools else 'left out (--real-tools DIR)'}")
    gptel: str | None = config.getoption("--gptel")
    terminalreporter.write_line(f"upstream gptel: {f'that in {gptel}' if gptel else 'left out (--gptel DIRS)'}")
    viewers: str | None = config.getoption("--viewers")
    terminalreporter.write_line(f"viewers: {f'those in {viewers}' if viewers else 'left out (--viewers DIR)'}")
    if why := _has_no_sandbox():
        terminalreporter.write_line(f"tests that need a sandbox of the kernel: left out, since {why}")
    for program, count in sorted(config.stash[LEFT_OUT].items()):
        why = "permitted" if program == MOUNTING else "installed"
        terminalreporter.write_line(f"tests that need {program}: {count} left out, since it is not {why}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers = (
        ("--long", "long"),
        ("--real-tools", "real_tools"),
        ("--gptel", "upstream_gptel"),
        ("--viewers", "viewers"),
    )
    for option, marker in tiers:
        left_out = [item for item in items if item.get_closest_marker(marker) and not config.getoption(option)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]

    if not os.environ.get("CI") and _has_no_sandbox():
        left_out = [item for item in items if item.get_closest_marker("needs_sandbox")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]

    left_out = []
    for item in items:
        missing = {program for program in _needs(item) if _is_missing(program)}
        config.stash[LEFT_OUT].update(missing)
        left_out += [item] if missing else []
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist reports what it left out; each of them collects all tests."""
    counts = session.config.stash[LEFT_OUT]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """In the process that prints the summary, when a worker has finished."""
    config, output = node.config, getattr(node, "workeroutput", {})  # type: ignore[attr-defined]  # as xdist has it
    config.stash[LEFT_OUT] = Counter[str](output.get("left_out", {}))


def _has_no_sandbox() -> str:
    from segue.sandbox.policy import find_support

    return find_support().missing


def _needs(item: pytest.Item) -> set[str]:
    """What its marks name, and Postgres if it asks for the server of the run or its module can start one."""
    named = {mark.args[0] for mark in item.iter_markers("needs")}
    asked = {*getattr(item, "fixturenames", ()), *vars(getattr(item, "module", object))}
    return named | {"postgres"} if asked & POSTGRES else named


@functools.cache
def _is_missing(program: str) -> bool:
    """Never in CI: there, the tests of a missing program fail. Rights can be missing anywhere."""
    if program == MOUNTING:
        return not can_mount()
    if os.environ.get("CI"):
        return False
    return not find_versions() if program == "postgres" else shutil.which(program) is None


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random choices that depend on the seed of the run and on the test alone."""
    return random.Random(f"{request.config.getoption('--seed')} {request.node.nodeid}")


@pytest.fixture
def positions(request: pytest.FixtureRequest) -> Callable[[bytes], Iterator[int]]:
    """The offsets at which a proof breaks a text: every one in the long tier.

    Quickly: those around the end of each line, where formats are decided, and every seventh of the others.
    """
    stride = 1 if request.config.getoption("--long") else 7

    def chosen(data: bytes) -> Iterator[int]:
        near = {at + more for at, byte in enumerate(data) if byte == ord("\n") for more in (-1, 0, 1)}
        edges = {0, 1, len(data) - 2, len(data) - 1}
        return (at for at in range(len(data)) if at % stride == 0 or at in near or at in edges)

    return chosen
