"""The command behind scripts/bridge-suites."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bridges.suites.suite import SUITES, Result, Suite, SuiteError, render_table, replace_table, run_suite
from tests.support.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "how-to" / "bridges.md"
STORES = ("journal", "postgres")


@contextmanager
def empty_store(kind: str) -> Iterator[str]:
    """The URL of a store that nobody has used."""
    if kind == "journal":
        with tempfile.TemporaryDirectory(prefix="segue-suite-") as folder:
            yield f"journal:{folder}/agents"
    else:
        with PostgresServer.create() as server:
            yield server.url("suites")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bridge-suites", description=__doc__)
    parser.add_argument("framework", nargs="*", help=f"any of {', '.join(SUITES)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="only a selection of each suite")
    parser.add_argument("--store", choices=STORES, action="append", help="where the sessions are (journal)")
    parser.add_argument("--write", action="store_true", help="run on both stores and write the table of the page")
    options = parser.parse_args()
    if unknown := set(options.framework) - set(SUITES):
        parser.error(f"there is no suite of {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    if options.write and (options.quick or options.framework):
        parser.error("the table is written from all of every suite")
    stores = STORES if options.write else options.store or ["journal"]
    results: list[Result] = []
    for name in options.framework or SUITES:
        for kind in stores:
            with empty_store(kind) as url:
                try:
                    results.append(run_suite(Suite.read(name), kind, url, is_quick=options.quick))
                except SuiteError as error:
                    sys.stderr.write(f"bridge-suites: {error}\n")
                    return 1
            sys.stdout.write(f"{results[-1].describe()}\n")
            sys.stdout.flush()
    if options.write:
        PAGE.write_text(replace_table(PAGE.read_text(), render_table(results)))
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
