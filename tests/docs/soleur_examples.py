"""The file that the format page shows, as Segue really writes it.

Where the format changed, `python -m tests.docs.soleur_examples` brings the page up to date.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from segue.dialects.soleur.store import SoleurStore
from tests.docs.journal_examples import LOGIN_BUG, metadata
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "formats" / "soleur.md"
SESSION_ID = "6f0d3ad2-9a4b-4b6e-8f55-0c8f8a1f7f10"
_SHOWN = re.compile(r"^```json\n\{\n.*?^```$", re.MULTILINE | re.DOTALL)


def written(root: Path) -> str:
    with SoleurStore(str(root)).create(SESSION_ID, [metadata(SESSION_ID)]) as writer:
        for events in LOGIN_BUG:
            writer.append(*events)
    return (root / f"{SESSION_ID}.json").read_text(encoding="utf-8")


def refreshed(page: str, root: Path) -> str:
    """The page with the file as it is written now."""
    shown = f"```json\n{written(root)}```"
    return _SHOWN.sub(lambda _: shown, page, count=1)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")
