"""No store without its proof, and no claim that hides another."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import fields

from segue.model import EVENT_TYPES, Metadata, Unknown
from segue.registry import STORES
from segue.testing.conformance import CHAPTERS, Conformance
from segue.testing.events import every_kind

HERE = Path(__file__).parent
SCHEMES = list({store: scheme for scheme, store in reversed(STORES.items())}.values())
"""One of each store: one may have two names."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_store_in_the_registry_has_a_conformance_file(scheme: str) -> None:
    assert (HERE / f"test_{scheme}.py").is_file()
    module = importlib.import_module(f"tests.conformance.test_{scheme}")
    assert any(isinstance(found, type) and issubclass(found, Conformance) for found in vars(module).values())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_conformance_file_is_a_few_lines(scheme: str) -> None:
    assert len((HERE / f"test_{scheme}.py").read_text(encoding="utf-8").splitlines()) < 20


def test_the_suite_is_all_its_chapters() -> None:
    assert Conformance.__bases__ == CHAPTERS


def test_the_events_to_try_a_store_with_leave_out_no_kind_and_no_field() -> None:
    events = every_kind()
    assert {type(event) for event in events} == {*EVENT_TYPES.values(), Unknown} - {Metadata}
    left_out = [
        f"{type(event).__name__}.{item.name}"
        for event in events
        for item in fields(event)
        if item.name not in {"seq", "switch"} and getattr(event, item.name) in (None, "", False, 0, (), {})
    ]
    assert left_out == []


def test_no_two_chapters_make_a_claim_of_the_same_name() -> None:
    claims = Counter(name for chapter in CHAPTERS for name in vars(chapter) if name.startswith("test_"))
    assert [name for name, times in claims.items() if times > 1] == []
