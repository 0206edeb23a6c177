from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue

ODD = "\x1b[31m \u202e \u2028 \x9b \ud800 \U000e0041 \0 é 日本"


def test_json_lines_go_from_one_session_to_another(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        live.add("user", ODD, parts=[{"text": ODD}], native={"raw": ODD})
    cli.ok("new", "--id", "copy")
    cli.ok("add", "copy", "--jsonl", stdin=cli.ok("export", session, "--format", "jsonl").encode())
    known = [(turn.id, turn.content, turn.parts, turn.native, turn.tokens) for turn in cli.library.load(session).turns]
    assert [(t.id, t.content, t.parts, t.native, t.tokens) for t in cli.library.load("copy").turns] == known


@pytest.mark.parametrize("args", [("export", "login", "--format", "json"), ("show", "login", "--json")])
def test_json_is_exact_and_holds_no_raw_control(cli: Segue, session: str, args: tuple[str, ...]) -> None:
    with cli.library.open(session) as live:
        live.rename(ODD)
    shown = cli.ok(*args, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert json.loads(shown)["title"] == ODD
    assert not set("\x1b\x9b\u202e\u2028") & set(shown)
    assert "日本" in shown


def test_markdown_is_to_the_letter(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        live.add("user", "raw \x1b[31m text")
    assert "raw \x1b[31m text" in cli.ok("export", session)


def test_a_file_gets_what_standard_output_gets(cli: Segue, session: str) -> None:
    assert cli.ok("export", session, "-o", "login.md") == ""
    assert (cli.home / "login.md").read_text(encoding="utf-8") == cli.ok("export", session)


def test_a_file_is_replaced_only_by_force(cli: Segue, session: str) -> None:
    (cli.home / "mine.md").write_text("mine", encoding="utf-8")
    assert "--force" in cli.refuses(4, "export", session, "-o", "mine.md")
    assert (cli.home / "mine.md").read_text(encoding="utf-8") == "mine"
    cli.ok("export", session, "-o", "mine.md", "--force")
    assert (cli.home / "mine.md").read_text(encoding="utf-8").startswith("# Login bug")


@pytest.mark.parametrize(("code", "path"), [(6, "missing/x.md"), (2, "folder"), (2, "link"), (2, "/dev/full")])
def test_what_is_no_file_is_not_replaced_even_by_force(cli: Segue, session: str, code: int, path: str) -> None:
    (cli.home / "folder").mkdir()
    (cli.home / "link").symlink_to("folder")
    cli.refuses(code, "export", session, "-o", path, "--force")
    assert sorted(each.name for each in cli.home.iterdir() if each.name != ".cache") == ["folder", "link", "sessions"]


def test_a_damaged_session_is_not_exported(cli: Segue, session: str) -> None:
    (cli.root / "broken.jsonl").write_bytes(b"junk\n")
    assert "segue recover" in cli.refuses(5, "export", "broken")
    assert session in cli.ok("export", session)
