"""The suite bites: every planted fault is noticed by the chapter it violates, and the sound store passes them all."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from segue.testing.conformance import CHAPTERS
from tests.conformance.broken import CASES, Case

ROOT = Path(__file__).resolve().parents[2]
SOUND = "Sound"

MODULE = """\
from pathlib import Path

import pytest

from segue.stores.journal import JournalStore
from segue.testing.conformance import CHAPTERS
from tests.conformance.broken import CASES, Case, harness_type


def conduct(store_type, chapter):
    def harness(self, tmp_path: Path):
        return harness_type(store_type)(tmp_path)

    return type("Test", (chapter,), {"harness": pytest.fixture(harness)})


for _chapter in CHAPTERS:
    globals()[f"Test_Sound_{_chapter.__name__}"] = conduct(JournalStore, _chapter)
    for _case in CASES:
        if _case.chapter is _chapter:
            globals()[f"Test_{_case.store.__name__}_{_chapter.__name__}"] = conduct(_case.store, _chapter)
"""


class Outcome(NamedTuple):
    passed: dict[tuple[str, str], set[str]]
    failed: dict[tuple[str, str], set[str]]
    """Claims by store and chapter. Whatever went wrong outside a test counts for neither."""
    errors: list[str]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One run of the suite over all stores. With several workers, the first one runs it and the others wait for it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # the same for all workers
    report = place / "broken-stores.xml"
    with (place / "broken-stores.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not report.exists():
            run_suite(tmp_path_factory.mktemp("broken"), report)
    found = Outcome(defaultdict(set), defaultdict(set), [])
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - we wrote it a moment ago
        _, store, chapter = case.attrib["classname"].rpartition(".")[2].split("_")
        if case.find("error") is not None:
            found.errors.append(f"{store} {chapter} {case.attrib['name']}")
        elif case.find("failure") is not None:
            found.failed[store, chapter].add(case.attrib["name"])
        else:
            found.passed[store, chapter].add(case.attrib["name"])
    return found


def run_suite(place: Path, report: Path) -> None:
    """In a process of its own: a broken store may break more than its test."""
    (place / "test_broken.py").write_text(MODULE, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    run = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--tb=line",
                "--junitxml=report.xml",
                "test_broken.py",
            ),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"),
        ],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stdout + run.stderr
    (place / "report.xml").rename(report)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.store.__name__)
def test_a_planted_fault_is_noticed_by_the_chapter_it_violates(case: Case, outcome: Outcome) -> None:
    chapter = case.chapter.__name__
    assert outcome.failed[case.store.__name__, chapter] & outcome.passed[SOUND, chapter]


@pytest.mark.parametrize("chapter", [chapter.__name__ for chapter in CHAPTERS])
def test_the_sound_store_passes(chapter: str, outcome: Outcome) -> None:
    assert outcome.passed[SOUND, chapter]
    assert outcome.failed[SOUND, chapter] == set()


def test_no_fault_is_noticed_by_accident(outcome: Outcome) -> None:
    assert outcome.errors == []


def test_every_chapter_has_bitten() -> None:
    assert {case.chapter for case in CASES} == set(CHAPTERS)
