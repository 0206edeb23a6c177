"""The two tiers of the proofs, and the seed that makes a run repeatable."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("segue.testing")

# How fast an example is says nothing of whether it is right, least of all on a busy machine.
SLOW = (HealthCheck.too_slow,)

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.register_profile("long", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=SLOW)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("segue")
    group.addoption("--long", action="store_true", help="run the long tier as well: more examples, more crashes")
    group.addoption("--seed", type=int, help="repeat a run of the long tier with the seed that it printed")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before the workers start: they take the options of the run over."""
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random choices that depend on the seed of the run and on the test alone."""
    return random.Random(f"{request.config.getoption('--seed')} {request.node.nodeid}")
