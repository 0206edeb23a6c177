"""The format page is held against files that Segue really writes, and its reader is run on them."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

import segue
from segue.formats.journal import CHECKPOINT, Checkpoint, decode_line
from segue.model import EVENT_TYPES, Head, Overview, Unknown
from segue.store import Owner
from tests.docs import readers
from tests.docs.journal_examples import LOGIN_BUG, OTHERS, PAGE, refreshed, written
from tests.docs.pages import blocks
from tests.docs.readers import branch_out, told_by_reader

if TYPE_CHECKING:
    from pathlib import Path

TEXT = PAGE.read_text(encoding="utf-8")
CHECKSUM, READER = (block.text for block in blocks(PAGE) if block.language == "python")
LINES = [line for block in blocks(PAGE) if block.language == "json" for line in block.text.splitlines()]
JQ = [block.text.strip() for block in blocks(PAGE) if block.language == "sh"]


def kind_of(line: str) -> str:
    return str(json.loads(line)["type"])


def test_the_whole_file_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    shown = "\n".join(line.decode() for line in written(tmp_path, "login-bug", LOGIN_BUG))
    assert f"```json\n{shown}\n```" in TEXT


def test_the_page_shows_every_line_as_it_is_written_now(tmp_path: Path) -> None:
    assert refreshed(TEXT, tmp_path) == TEXT  # if not: python -m tests.docs.journal_examples


def test_every_other_line_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    lines = [line.decode() for line in written(tmp_path, "every-record", OTHERS)[1:]]
    assert [line for line in lines if f"```json\n{line}\n```" not in TEXT] == []


@pytest.mark.parametrize("line", LINES, ids=kind_of)
def test_every_line_on_the_page_decodes(line: str) -> None:
    record = decode_line(line.encode()).record
    assert not isinstance(record, Unknown) or record.type == "mood"


def test_every_type_of_record_has_an_example() -> None:
    kinds = {kind_of(line) for line in LINES}
    assert kinds == {*EVENT_TYPES, "checkpoint", "mood"}


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_the_page_names_every_field_of(kind: str) -> None:
    section = TEXT.partition(f"\n### {kind}\n")[2].partition("\n#")[0]
    named = {
        name for row in re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    own = {field.encode_name for field in msgspec.structs.fields(EVENT_TYPES[kind])}
    assert named == own - {"id", "seq", "timestamp", " extra"}


def test_the_page_names_every_field_of_a_checkpoint() -> None:
    section = TEXT.partition("\n### checkpoint\n")[2].partition("\n#")[0]
    named = set(re.findall(r"`(\w+)`", section))
    fields = [*msgspec.structs.fields(Overview), *msgspec.structs.fields(Head)]
    assert {field.encode_name for field in fields} - named == {"damage"}  # which nobody writes


def test_the_owner_note_on_the_page_is_one() -> None:
    (note,) = re.findall(r'^ *(\{"pid":.*\})$', TEXT, re.MULTILINE)
    owner = msgspec.json.decode(note.encode(), type=Owner)
    assert msgspec.json.encode(owner).decode() == note


# ── The independent reader ───────────────────────────────────────────────────────────────────────────────────────────


def told_by_the_reader(file: Path) -> list[list[str]]:
    return told_by_reader(READER, file)


def told_by_segue(root: Path, session_id: str) -> list[list[str]]:
    return readers.told_by_segue(f"journal:{root}", session_id)


def branched(root: Path) -> Path:
    branch_out(f"journal:{root}")
    return root / "odd.jsonl"


def test_the_reader_has_ten_lines() -> None:
    assert READER.count("\n") == 10


def test_the_reader_reads_the_active_branch_as_segue_does(tmp_path: Path) -> None:
    file = branched(tmp_path)
    assert told_by_the_reader(file) == told_by_segue(tmp_path, "odd")


@pytest.mark.parametrize("branch", ["main", "second", "empty"])
def test_the_reader_follows_a_switch_to(tmp_path: Path, branch: str) -> None:
    file = branched(tmp_path)
    with segue.open(f"journal:{tmp_path}").open("odd") as session:
        session.switch(branch)
    assert told_by_the_reader(file) == told_by_segue(tmp_path, "odd")


def test_the_reader_passes_over_a_torn_line(tmp_path: Path) -> None:
    file = branched(tmp_path)
    with file.open("ab") as torn:
        torn.write(b'{"type":"turn","role":"user","content":"never fin')
    assert told_by_the_reader(file) == told_by_segue(tmp_path, "odd")


def test_the_reader_passes_over_an_append_of_which_a_line_is_missing(tmp_path: Path) -> None:
    *_, first, last, branch, turn, status, checkpoint = written(tmp_path, "login-bug", LOGIN_BUG)
    assert json.loads(first)["sum"].endswith("+")
    file = tmp_path / "login-bug.jsonl"
    tail = b"\n".join([last, branch, turn, status, checkpoint, b""])
    file.write_bytes(file.read_bytes().removesuffix(tail))
    assert told_by_the_reader(file) == told_by_segue(tmp_path, "login-bug") == [["user", "Why does login fail?"]]


def test_the_reader_reads_the_lines_of_other_writers(tmp_path: Path) -> None:
    file = tmp_path / "foreign.jsonl"
    lines = [
        {"type": "metadata", "session_id": "foreign", "agent": "a", "created_at": "2026-01-05T09:30:00"},
        {"type": "turn", "role": "user", "content": "Hello +"},
        {"type": "mood", "value": "calm"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert told_by_the_reader(file) == told_by_segue(tmp_path, "foreign") == [["user", "Hello +"]]


# ── Other programs ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("line", LINES, ids=kind_of)
def test_the_checksum_rule_holds_for(line: str) -> None:
    exec(CHECKSUM, {"line": line.encode()})  # noqa: S102 - the claim of the page itself


def test_the_checksum_rule_bites() -> None:
    with pytest.raises(AssertionError):
        exec(CHECKSUM, {"line": LINES[0].replace("qa-test", "qa-tesu").encode()})  # noqa: S102 - as above


@pytest.mark.needs("jq")
def test_jq_reads_the_conversation(tmp_path: Path) -> None:
    written(tmp_path, "login-bug", LOGIN_BUG)
    turns, decisions = (
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        for command in JQ
    )
    assert turns == "user: Why does login fail?\nassistant: The token expires.\n"
    assert decisions == "Refresh five minutes early\n"


def test_what_follows_a_checkpoint_can_be_found_by_its_first_bytes() -> None:
    assert f"`{CHECKPOINT.decode()}`" in TEXT
    records = [decode_line(line.encode()).record for line in LINES if line.startswith(CHECKPOINT.decode())]
    assert [type(record) for record in records] == [Checkpoint]
