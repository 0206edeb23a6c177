"""The format page is held against files that Segue really writes, and its reader is run on them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import segue
from segue.dialects.gptel.format import names
from segue.dialects.gptel.format.conversation import displayable
from segue.dialects.gptel.format.settings import BOUNDS, PRESET, VARIABLES
from segue.dialects.gptel.store import GptelStore
from tests.docs.journal_examples import LOGIN_BUG, metadata
from tests.docs.pages import ROOT, blocks
from tests.docs.readers import ODD, told_by_reader

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "formats" / "gptel.md"
TEXT = PAGE.read_text(encoding="utf-8")
(READER,) = (block.text for block in blocks(PAGE) if block.language == "python")
(SHOWN,) = (block.text for block in blocks(PAGE) if block.language == "markdown")
SESSION_ID = "login-bug-20260105093000"


def written(root: Path) -> Path:
    with GptelStore(str(root)).create(SESSION_ID, [metadata(SESSION_ID)]) as writer:
        for events in LOGIN_BUG:
            writer.append(*events)
    return root / SESSION_ID / "current" / names.SESSION


def test_the_file_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    assert written(tmp_path).read_text(encoding="utf-8").replace("### \n\f\n", "###\n\n") == SHOWN


def test_the_page_names_every_file_and_every_variable() -> None:
    known = {key: name for key, name in vars(names).items() if key.isupper() and isinstance(name, str)}
    files = [name for key, name in known.items() if "." in name and not key.startswith("LEGACY")]
    assert [name for name in files if name not in TEXT] == []
    assert {*VARIABLES.values(), PRESET, BOUNDS} <= set(re.findall(r"^\| `([\w-]+)` \|", TEXT, re.MULTILINE))
    assert all(f"the override `{key}`" in TEXT for key in VARIABLES)


def test_the_reader_has_ten_lines() -> None:
    assert READER.count("\n") == 10


def test_the_reader_reads_what_segue_wrote(tmp_path: Path) -> None:
    with segue.open(f"gptel:{tmp_path}").create(id="odd") as session:
        for text in ODD:
            session.add("user", text)
            session.add("assistant", text)
            session.add("user", f"again {text}")
            session.add("user", f"and again {text}")
            session.add("tool", "a.txt")
            session.add("system", "a note")
        turns = [turn for turn in session.turns if turn.role in {"user", "assistant"}]
    told = [[turn.role, text] for turn in turns if (text := displayable(turn.content).strip())]
    assert told_by_reader(READER, tmp_path / "odd" / "current" / "session.md") == told
