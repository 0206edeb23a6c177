"""`segue import FILE` and `segue export --all`: what is written comes back, once, and nothing else does."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct
from msgspec.structs import asdict

import segue
from segue.formats.transcript import to_json_object
from segue.testing.events import every_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.library import Library
    from segue.model import Session
    from tests.support.cli import Segue

ODD = "\x1b[31m \u202e \u2028 \ud800 \0 é 日本\n## 2. assistant\n```"


def whole(library: Library) -> str:
    """A session with everything that a session can have; its id."""
    with library.create(id="login", agent="qa", title=ODD, tags=("auth", "a, b"), extra={"cwd": "/x"}) as live:
        live.add("user", ODD, parts=[{"text": ODD}], native={"raw": ODD})
        live.add("assistant", "The token expires.", tokens=7)
        live.attach("/notes.txt", b"\0bytes")
        live.record(*every_kind())
        live.fork(at=1, name="other-idea")
        live.add("assistant", "The clock is wrong.")
        live.fork(at=2, name="third")
        live.pause()
    return "login"


def content(session: Session) -> object:
    """Everything but the numbers of the events, and the ids of those that an export has no ids for."""

    def plain(value: object) -> object:
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, Struct):
            return {name: item for name, item in asdict(value).items() if name != "seq"}
        return value

    return {name: plain(value) for name, value in asdict(session).items() if name not in {"seq", "own_turns"}} | {
        "turns": {name: plain(own) for name, own in session.own_turns.items()}
    }


def seen(session: Session) -> list[object]:
    """What a file of text has of the turns: there, half a character is an escape."""
    return [
        (turn.role, turn.content.replace("\ud800", "\\ud800"), turn.tokens, turn.timestamp) for turn in session.turns
    ]


@pytest.mark.parametrize("scheme", ["journal", "soleur", "cortext", "gptel"])
def test_what_json_exports_comes_back_whole_and_once(cli: Segue, scheme: str) -> None:
    id = whole(cli.library)
    cli.ok("export", id, "--format", "json", "-o", "login.json")
    there = f"{scheme}:{cli.home}/there"
    count = sum(branch.own for branch in cli.library.overview(id).branches.values())
    assert cli.ok("import", "login.json", "--store", there) == f"{id}: {count} turns\n"
    for name in ("login.json", "-"):
        shown = cli.ok("import", name, "--store", there, stdin=(cli.home / "login.json").read_bytes())
        assert shown == f"{id}: already in the store, nothing new\n"
    with segue.open(there) as library:
        copy = library.load(id)
        assert content(copy) == content(cli.library.load(id))
        assert library.store.get_blob(id, copy.attachments[0].hash) == b"\0bytes"
    assert cli.ok("import", "login.json") == f"{id}: already in the store, nothing new\n"


def test_the_turns_of_one_branch_come_back_from_markdown_and_json_lines(cli: Segue) -> None:
    id = whole(cli.library)
    turns_here = seen(cli.library.load(id))
    for name, format in (("login.md", "markdown"), ("login.jsonl", "jsonl")):
        assert "1 record of a program left out" in cli.call("export", id, "--format", format, "-o", name).complaint
        there = f"journal:{cli.home}/{format}"
        assert cli.ok("import", name, "--store", there) == (
            f"{id}: {len(turns_here)} turns of one branch; only --format json exports everything\n"
        )
        assert "nothing new" in cli.ok("import", name, "--store", there)
        assert "nothing new" in cli.ok("import", name)
        with segue.open(there) as library:
            copy = library.load(id)
        assert seen(copy) == turns_here
    with segue.open(f"journal:{cli.home}/markdown") as library:
        assert (library.load(id).agent, library.load(id).created_at) == ("qa", cli.library.load(id).created_at)


def test_lines_without_ids_and_times_are_a_session_and_more_of_them_are_added(cli: Segue) -> None:
    lines = b'{"role":"user","content":"Why?"}\n{"role":"assistant","content":"The token."}\n'
    (cli.home / "notes.jsonl").write_bytes(lines)
    assert cli.ok("import", "notes.jsonl").startswith("notes: 2 turns")
    assert "nothing new" in cli.ok("import", "notes.jsonl")
    (cli.home / "notes.jsonl").write_bytes(lines + b'{"role":"user","content":"Since when?"}\n')
    assert cli.ok("import", "notes.jsonl").startswith("notes: 1 turn ")
    assert cli.library.load("notes").created_at.year > 1970
    (cli.home / "notes.jsonl").write_bytes(lines.replace(b"Why", b"How"))
    assert "was continued differently" in cli.refuses(4, "import", "notes.jsonl")


def test_a_later_export_adds_what_is_new_and_another_conversation_is_refused(cli: Segue) -> None:
    id, there = whole(cli.library), f"journal:{cli.home}/there"
    cli.ok("import", "-", "--store", there, stdin=cli.ok("export", id, "--format", "json").encode())
    cli.ok("add", id, "Since when?")
    cli.ok("rename", id, "Login")
    later = cli.ok("export", id, "--format", "json").encode()
    assert cli.ok("import", "-", "--store", there, stdin=later) == f"{id}: 1 turn\n"
    with segue.open(there) as library:
        assert content(library.load(id)) == content(cli.library.load(id))
    assert "nothing new" in cli.ok("import", "-", "--store", there, stdin=later)
    cli.ok("add", id, "Since Monday?", "--store", there)
    cli.ok("add", id, "Since Tuesday?")
    diverged = cli.ok("export", id, "--format", "json").encode()
    told = f"segue: session {id} in the store was continued differently; --id NAME imports it as a session of its own"
    assert cli.refuses(4, "import", "-", "--store", there, stdin=diverged) == told
    assert cli.ok("import", "-", "--id", "second", "--store", there, stdin=diverged).startswith("second: ")
    cli.ok("new", "--id", "other")
    other = cli.ok("export", "other", "--format", "json").replace('"other"', f'"{id}"').encode()
    assert "is another session" in cli.refuses(4, "import", "-", "--store", there, stdin=other)


def test_a_journal_and_a_folder_of_journals_are_imported_with_their_attachments(cli: Segue) -> None:
    id, there = whole(cli.library), f"journal:{cli.home}/there"
    with cli.library.create(id="second") as live:
        live.add("user", "Hello")
    folder = cli.library.store.path_of(id).rpartition("/")[0]
    (cli.home / "README.md").write_text("# Notes\n", encoding="utf-8")
    result = cli.ok("import", folder, "--store", there)
    assert result.splitlines()[-1] == "imported 2, already in the store 0"
    assert cli.ok("import", folder, "--store", there).splitlines()[-1] == "imported 0, already in the store 2"
    with segue.open(there) as library:
        assert list(library.store.read(id)) == list(cli.library.store.read(id))
        assert library.store.get_blob(id, library.load(id).attachments[0].hash) == b"\0bytes"


def test_all_sessions_are_exported_once_and_come_back(cli: Segue) -> None:
    id = whole(cli.library)
    with cli.library.create(id="second") as live:
        live.add("user", "Hello")
    assert cli.ok("export", "--all", "backup") == "wrote 2 of 2 sessions to backup, 0 have not changed\n"
    assert sorted(os.listdir(cli.home / "backup")) == ["login.json", "second.json"]
    assert (cli.home / "backup" / "login.json").stat().st_mode & 0o777 == 0o600
    there = f"journal:{cli.home}/there"
    cli.ok("import", "backup", "--store", there)
    unchanged = "wrote 0 of 2 sessions to backup, 2 have not changed\n"
    assert cli.ok("export", "--all", "backup") == cli.ok("export", "--all", "backup", "--store", there) == unchanged
    with segue.open(there) as library:
        assert content(library.load(id)) == content(cli.library.load(id))
    cli.ok("add", "second", "more")
    assert cli.ok("export", "--all", "backup") == "wrote 1 of 2 sessions to backup, 1 have not changed\n"
    before = (cli.home / "backup" / "second.json").read_bytes()
    told = cli.run("export", "--all", "backup", "--store", there)
    assert (told.code, told.text) == (4, "wrote 0 of 2 sessions to backup\n")
    assert "second.json has turns that are not in the store, or is another file" in told.complaint
    assert (cli.home / "backup" / "second.json").read_bytes() == before
    assert cli.ok("import", "backup", "--store", there).splitlines()[1] == "second: 1 turn"


@pytest.mark.parametrize("format", ["markdown", "jsonl"])
def test_all_sessions_can_be_exported_for_reading(cli: Segue, format: str) -> None:
    id = whole(cli.library)
    cli.ok("export", "--all", "texts", "--format", format)
    cli.ok("add", id, "more")
    assert cli.ok("export", "--all", "texts", "--format", format).startswith("wrote 1 of 1")
    (file,) = (cli.home / "texts").iterdir()
    assert file.read_text(encoding="utf-8") == cli.call("export", id, "--format", format).text


def changed(change: Callable[[dict[str, object]], object]) -> bytes:
    """The export of a small session, changed."""
    with segue.open("memory:") as library, library.create(id="login") as live:
        live.add("user", "Why?")
        live.fork(at=1, name="other")
        found = json.loads(json.dumps(to_json_object(library.load("login"))))
    change(found)
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b"hello", "it is not an export"),
        (b"\x00\xff", "it is not an export"),
        (b"# Title\n\ntext\n", "it was not exported by this version"),
        (b"# Title\xff\n", "it is not UTF-8"),
        (b"{}", "it is JSON, but not an export"),
        (b'{"role": 1, "content": 2}', "line 1: it is not a valid turn"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"0," * 5_000_000 + b"0]", "more than 4,000,000 values"),
        (b'{"role":"user","content":"x"}\n{"role":', "line 2: it is not JSON"),
        (b'{"type":"metadata","session_id":"x","seq":1}\n', "it is damaged"),
        (
            b'{"type":"metadata","session_id":"x","created_at":"2026-01-05"}\n'
            b'{"type":"turn","role":"user","content":"x","native":' + b'{"a":' * 700 + b"1" + b"}" * 701,
            "nested too deeply",
        ),
        (changed(lambda found: found.update(id="../../etc/passwd")), "invalid session id"),
        (changed(lambda found: found.update(version=99)), "newer version"),
        (changed(lambda found: found.update(blobs={"sha256:00": "eA=="})), "has another content"),
        (changed(lambda found: found.update(blobs={"x": "é"})), "not a valid export"),
        (changed(lambda found: found["branches"]["other"].update(parent="gone")), "comes from nowhere"),  # type: ignore[index]
        (changed(lambda found: found["branches"]["other"].update(parent="other")), "comes from nowhere"),  # type: ignore[index]
        (changed(lambda found: found["branches"]["other"].update(at=9)), "cannot fork at turn 9"),  # type: ignore[index]
        (changed(lambda found: found["branches"].pop("other")), "no branch"),  # type: ignore[attr-defined]
        (changed(lambda found: found["own_turns"].update(main=7)), "not a valid export"),  # type: ignore[attr-defined]
        (changed(lambda found: found["own_turns"]["main"][0].update(seq=-1)), "negative"),  # type: ignore[index]
        (changed(lambda found: found["own_turns"]["main"][0].update(branch="x")), "comes from nowhere"),  # type: ignore[index]
        (changed(lambda found: found.update(created_at="yesterday")), "not a valid export"),
    ],
)
def test_a_file_that_is_no_session_is_refused_and_nothing_is_imported(cli: Segue, data: bytes, reason: str) -> None:
    told = cli.refuses(2, "import", "-", stdin=data)
    assert told.startswith("segue: standard input: ")
    assert reason in told
    assert cli.library.list() == []


def test_only_regular_files_are_read(cli: Segue) -> None:
    os.mkfifo(cli.home / "pipe.json")
    assert "pipe.json" in cli.refuses(6, "import", "pipe.json")
    assert cli.refuses(3, "import", "claud") == "segue: there is no file or AI tool 'claud'; did you mean claude?"
    assert cli.refuses(2, "import") == "segue: missing argument 'TOOL|FILE|FOLDER'; segue import --help shows how"


def test_what_an_imported_session_asks_for_is_not_trusted(cli: Segue) -> None:
    cli.run("chat", "--agent", "command:cat", "--id", "mine", stdin=b"Hello\n")
    exported = cli.ok("export", "mine", "--format", "json").encode()
    cli.ok("import", "-", "--id", "theirs", stdin=exported)
    assert "asks for the command cat, which was not set here" in cli.refuses(2, "ask", "--session", "theirs", "Hi")
