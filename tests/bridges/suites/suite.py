"""The test-suite of a framework, taken from its source package and run with our class in the place of theirs.

`suite.toml` in the folder of a framework names the package and its tests, and those that are left out, each with the
reason. `plugin.py` next to it puts our class in the place of theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SUITES = tuple(sorted(path.parent.name for path in HERE.glob("*/suite.toml")))
DOWNLOADS = Path(sys.prefix) / "sdists"
BEGIN, END = "<!-- suites: written by scripts/bridge-suites --write -->", "<!-- end of suites -->"
STORE, LEFT_OUT, UNMATCHED = "SEGUE_SUITE_STORE", "SEGUE_SUITE_LEFT_OUT", "SEGUE_SUITE_UNMATCHED"
_NO_TESTS = 5
_SHOWN = 4000


class SuiteError(Exception):
    """The suite could not be run at all."""


class Suite(Struct, frozen=True, kw_only=True):
    """What suite.toml says."""

    name: str
    package: str
    version: str
    sha256: str
    """Of the source package."""
    tests: list[str]
    """Files and folders of the package."""
    quick: list[str]
    """Arguments of pytest for the selection that runs in seconds."""
    arguments: list[str] = []
    """Arguments of pytest for every run."""
    deselected: dict[str, str] = {}
    """By test: why it is left out."""

    @classmethod
    def read(cls, name: str) -> Self:
        plain: dict[str, Any] = tomllib.loads((HERE / name / "suite.toml").read_text())
        return cls(name=name, **plain)


class Result(Struct, frozen=True, kw_only=True):
    suite: Suite
    store: str
    passed: int
    failed: int
    skipped: int
    """By the suite itself."""
    seconds: float
    output: str

    def describe(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped by the suite itself"
        left_out = f"{len(self.suite.deselected)} left out by name"
        line = f"{self.suite.package} {self.suite.version} on {self.store}: {counts}, {left_out} ({self.seconds:.0f} s)"
        return f"{self.output[-_SHOWN:]}\n{line}" if self.failed else line


def run_suite(suite: Suite, store: str, url: str, *, is_quick: bool) -> Result:
    """Run it on the empty store at the URL. SuiteError if it cannot be downloaded or its tests not be found."""
    with tempfile.TemporaryDirectory(prefix="segue-suite-") as place:
        folder = _unpack(_download(suite), Path(place))
        report, unmatched = Path(place) / "report.xml", Path(place) / "unmatched.json"
        selection = suite.quick if is_quick else suite.tests
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "300"),
                *("-p", "tests_of_suite", "-p", "plugin", f"--junitxml={report}"),
                *suite.arguments,
                *selection,
            ],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
                "PYTHONPATH": os.pathsep.join(map(str, [HERE / suite.name, HERE / "plugins", ROOT / "src"])),
                STORE: url,
                LEFT_OUT: json.dumps(list(suite.deselected)),
                UNMATCHED: str(unmatched),
            },
        )
        if done.returncode == _NO_TESTS or not report.exists():
            raise SuiteError(f"the tests of {suite.package} did not run\n{done.stdout[-_SHOWN:]}")
        if not is_quick and (names := json.loads(unmatched.read_text())):
            raise SuiteError(f"{suite.package} has no test {', '.join(names)}, which suite.toml leaves out")
        return _counted(suite, store, ET.parse(report), done.stdout)  # noqa: S314 - pytest just wrote it


def _download(suite: Suite) -> Path:
    """The source package, fetched once and compared with its hash."""
    DOWNLOADS.mkdir(exist_ok=True)
    path = DOWNLOADS / f"{suite.package.replace('-', '_')}-{suite.version}.tar.gz"
    if not path.exists():
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--no-binary", ":all:", "--no-build-isolation", "--no-deps", "--dest", str(DOWNLOADS)),
                f"{suite.package}=={suite.version}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if not path.exists():
            raise SuiteError(f"{suite.package} {suite.version} could not be downloaded\n{done.stderr[-_SHOWN:]}")
    if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != suite.sha256:
        raise SuiteError(f"{path} is not the one that suite.toml names: its hash is {found}")
    return path


def _unpack(archive: Path, place: Path) -> Path:
    with tarfile.open(archive) as package:
        package.extractall(place, filter="data")
    return place / archive.name.removesuffix(".tar.gz")


def _counted(suite: Suite, store: str, report: ET.ElementTree[Any], output: str) -> Result:
    whole = report.find("testsuite")
    assert whole is not None
    tests, failed, errors, skipped = (int(whole.get(name, "0")) for name in ("tests", "failures", "errors", "skipped"))
    return Result(
        suite=suite,
        store=store,
        passed=tests - failed - errors - skipped,
        failed=failed + errors,
        skipped=skipped,
        seconds=float(whole.get("time", "0")),
        output=output,
    )


def render_table(results: Sequence[Result]) -> str:
    lines = ["| framework | store | passed | failed | left out by name |", "|---|---|---|---|---|"]
    for result in results:
        suite = result.suite
        reasons = f"[{len(suite.deselected)}](../../tests/bridges/suites/{suite.name}/suite.toml)"
        lines.append(
            f"| {suite.package} {suite.version} | {result.store} | {result.passed} | {result.failed} | {reasons} |"
        )
    return "\n".join(lines)


def replace_table(page: str, table: str) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "the page has no place for the table"
    assert end, "the place of the table has no end"
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
