"""Every truncation and every flipped byte of the corpus: it is read as far as it goes, or reported; nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import segue
from segue.errors import SegueError
from segue.integrations import INTEGRATIONS
from segue.transfer.import_sessions import import_session
from tests.support.integration_homes import later, move_in, place_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from segue.integrations import Integration
    from segue.integrations.shared.history import ExternalSession

SAMPLE = 40
LONG_SAMPLE_OF_A_DATABASE = 4000


def broken(data: bytes, rng: random.Random, *, everything: bool) -> Iterator[bytes]:
    places = range(len(data)) if everything else sorted(rng.sample(range(len(data)), SAMPLE))
    for place in places:
        yield data[:place]
        yield data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def looked_at(history: Integration, home: Path) -> list[ExternalSession]:
    try:
        return list(history.sessions(home, {}))
    except SegueError as error:
        assert str(error)  # noqa: PT017 - it says why, whatever it is
        return []


def check(tool: str, home: Path, place: Path, data: bytes) -> None:
    place.write_bytes(data)
    history = INTEGRATIONS[tool]
    store = segue.open("memory:").store
    for kept in looked_at(history, home):
        try:
            found = import_session(history, kept, store, clock=later)
        except SegueError as error:
            assert str(error)  # noqa: PT017 - it says why, whatever it is
            continue
        again = import_session(history, kept, store, clock=later)
        assert (again.turns, again.session_id) == (0, found.session_id)
        if found.session_id:
            store.load(found.session_id)


@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_a_broken_file_is_imported_as_far_as_it_can_be_read(tool: str, tmp_path: Path, rng: random.Random) -> None:
    move_in(tmp_path, tool)
    place = place_of(tool, tmp_path)
    for data in broken(place.read_bytes(), rng, everything=False):
        check(tool, tmp_path, place, data)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_every_truncation_and_flip_is_imported_as_far_as_it_can_be_read(
    tool: str, tmp_path: Path, rng: random.Random
) -> None:
    """Of databases a larger sample: nearly all of their bytes are room for more."""
    move_in(tmp_path, tool)
    place = place_of(tool, tmp_path)
    data = place.read_bytes()
    if data.startswith(b"SQLite"):
        for _ in range(LONG_SAMPLE_OF_A_DATABASE // SAMPLE):
            for variant in broken(data, rng, everything=False):
                check(tool, tmp_path, place, variant)
    else:
        for variant in broken(data, rng, everything=True):
            check(tool, tmp_path, place, variant)
