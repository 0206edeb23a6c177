from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from segue.dialects.soleur.ledger import Ledger, LedgerEntry
from segue.dialects.soleur.paths import file_name, project_name
from segue.errors import SegueError

MOMENT = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def entry(content: str, id: str = "e-1", session_id: str = "s-1") -> LedgerEntry:
    return LedgerEntry(session_id=session_id, id=id, content=content, decided_at=MOMENT)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "decisions")


def raw(ledger: Ledger) -> str:
    return Path(ledger.path_of("login")).read_text(encoding="utf-8")


def test_it_is_a_list_that_people_read(ledger: Ledger) -> None:
    ledger.add("login", [entry("Refresh early"), entry("No cookies", "e-2")])
    assert ledger.text("login") == (
        "# Decisions: login\n\n- 2026-11-15 09:30 UTC: Refresh early\n- 2026-11-15 09:30 UTC: No cookies\n"
    )
    assert next(ledger.entries("login")) == {
        "content": "Refresh early",
        "decided_at": "2026-11-15T09:30:00Z",
        "session_id": "s-1",
    }


def test_adding_the_same_decision_twice_is_adding_it_once(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.add("login", [entry("Refresh early")])
    ledger.add("login", [entry("Refresh early", "e-2"), entry("Refresh early", session_id="s-2")])
    assert ledger.text("login").count("Refresh early") == 3


def test_what_a_person_wrote_stays(ledger: Ledger) -> None:
    ledger.add("login", [entry("Refresh early")])
    path = Path(ledger.path_of("login"))
    path.write_text(raw(ledger).replace("Refresh early", "Refresh **very** early") + "\nMy own note", encoding="utf-8")
    ledger.add("login", [entry("Refresh early"), entry("No cookies", "e-2")])
    lines = ledger.text("login").splitlines()
    assert lines[2:] == [
        "- 2026-11-15 09:30 UTC: Refresh **very** early",
        "",
        "My own note",
        "- 2026-11-15 09:30 UTC: No cookies",
    ]


@pytest.mark.parametrize(
    "content",
    [
        "two\nlines",
        "a <!-- comment",
        "it <!-- s-1/e-9 -->",
        "- a list\n- in it",
        "\x1b[2J",
        "\ud800",
        "\u2028",
        "日本語 🦊",
    ],
)
def test_any_text_is_one_line_and_hides_nothing(ledger: Ledger, content: str) -> None:
    ledger.add("login", [entry(content), entry("After it", "e-2")])
    ledger.add("login", [entry(content), entry("After it", "e-2"), entry("The ninth", "e-9")])
    assert len(raw(ledger).splitlines()) == 5
    assert raw(ledger).count("<!--") == 3
    assert [line.rpartition(": ")[2] for line in ledger.text("login").splitlines()[3:]] == ["After it", "The ninth"]


def test_many_sessions_can_write_at_once(ledger: Ledger) -> None:
    def write(number: int) -> None:
        for one in range(5):
            ledger.add("login", [entry(f"{number}.{one}", f"e-{one}", f"s-{number}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert {one["content"] for one in ledger.entries("login")} == {f"{a}.{b}" for a in range(8) for b in range(5)}
    assert len(raw(ledger).splitlines()) == 42


def test_a_project_without_decisions_has_no_file(ledger: Ledger) -> None:
    assert ledger.text("login") == ""
    assert list(ledger.entries("login")) == []
    assert not Path(ledger.path_of("login")).parent.exists()


def test_a_place_that_is_no_folder_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "decisions").write_text("in the way", encoding="utf-8")
    with pytest.raises(SegueError):
        Ledger(tmp_path / "decisions").add("login", [entry("Refresh early")])


@pytest.mark.parametrize(
    ("project", "name"),
    [("login", "login"), ("My App", "my-app"), ("../../etc", "etc"), ("a/b\0c", "a-b-c"), ("x" * 300, "x" * 80)],
)
def test_the_name_of_a_project_makes_a_safe_name_of_a_file(project: str, name: str) -> None:
    assert file_name(project) == name


def test_projects_in_other_scripts_have_files_of_their_own() -> None:
    assert (file_name("проект"), file_name("プロジェクト")) == ("proekt", "puroziekuto")
    names = {file_name(name) for name in ("項目", "目項", "...", "\udcff")}
    assert len(names) == 4
    assert all(name.startswith("project-") for name in names)


def test_a_file_of_an_earlier_version_keeps_its_name(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    (tmp_path / "gr-e.md").write_text("# Decisions: Größe\n\n", encoding="utf-8")
    ledger.add("Größe", [entry("Refresh early")])
    assert "Refresh early" in (tmp_path / "gr-e.md").read_text(encoding="utf-8")
    assert "Refresh early" in ledger.text("Größe")
    ledger.add("Café", [entry("Refresh late")])
    assert ledger.path_of("Café") == str(tmp_path / "cafe.md")


def test_a_project_is_the_repository_or_else_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "shop" / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_name(inner) == "deep"
    (tmp_path / "shop" / ".git").mkdir()
    assert project_name(inner) == "shop"
    assert project_name(Path("/")) == "root"
