"""Who decides about a call, in which order, and that nothing is decided once for all."""

from __future__ import annotations

import pytest

from segue.errors import UsageError
from segue.permissions import DENY_ALL, Resolved
from segue.permissions.scope import Scope
from segue.tools import ToolResult
from tests.support.tool_project import EVERYTHING, Workshop, call

OUT_OF_SCOPE = "refused: it is out of scope: no pattern allows reading it"


@pytest.fixture(autouse=True)
def notes(workshop: Workshop) -> None:
    (workshop.project / "notes.md").write_text("notes")
    (workshop.project / ".env").write_text("secret")


# ── The scope ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_scope_nothing_is_done_and_the_model_is_told_why(workshop: Workshop) -> None:
    assert workshop.do("read_file", path="notes.md") == ToolResult(status="refused", content=OUT_OF_SCOPE)


def test_the_scope_is_read_again_for_every_call(workshop: Workshop) -> None:
    executor = workshop.executor()
    workshop.allow(paths={"read": ["*.md"]})
    assert workshop.do("read_file", executor, path="notes.md").status == "done"
    workshop.allow(paths={"read": []})
    assert workshop.do("read_file", executor, path="notes.md").status == "refused"


def test_a_scope_that_changes_while_somebody_thinks_is_the_one_that_holds(workshop: Workshop) -> None:
    workshop.allow(paths={"write": ["*.md"]})
    workshop.somebody.widens = "deny"
    workshop.somebody.meanwhile = lambda: workshop.allow(paths={"write": []})
    outcome = workshop.do("write_file", workshop.executor(confirm="changes"), path="notes.md", content="x")
    assert outcome.status == "refused"
    assert (workshop.project / "notes.md").read_text() == "notes"


def test_a_scope_that_makes_no_sense_allows_nothing(workshop: Workshop) -> None:
    workshop.session.set_scope({"paths": {"reed": ["**"]}})
    outcome = workshop.do("read_file", path="notes.md")
    assert outcome.status == "refused"
    assert "paths has no 'reed'" in outcome.content


def test_a_tool_that_there_is_not_is_told_with_those_that_there_are(workshop: Workshop) -> None:
    outcome = workshop.do("fly")
    assert outcome.status == "failed"
    assert outcome.content == "there is no tool fly, only read_file, write_file, list_dir, search_files, run_shell"


def test_a_tool_that_breaks_is_told_and_does_not_end_the_conversation(workshop: Workshop) -> None:
    workshop.allow()
    outcome = workshop.do("read_file", path="x" * 5000)
    assert outcome.status in {"failed", "refused"}


# ── The person ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_once_is_once(workshop: Workshop) -> None:
    workshop.somebody.widens = "once"
    executor = workshop.executor()
    assert workshop.do("read_file", executor, path="notes.md").content == "notes"
    workshop.somebody.widens = "deny"
    assert workshop.do("read_file", executor, path="notes.md").content == OUT_OF_SCOPE
    assert workshop.session.overview.scope is None


def test_what_is_added_to_the_scope_is_on_record_and_exactly_that(workshop: Workshop) -> None:
    workshop.somebody.widens = "add"
    executor = workshop.executor(confirm="always")
    assert workshop.do("read_file", executor, path="./notes.md").content == "notes"
    assert workshop.somebody.asked == ["widen read_file: it is out of scope: no pattern allows reading it (can add)"]
    assert workshop.permissions.current().scope.read == ("notes.md",)
    workshop.somebody.widens = "deny"
    assert workshop.do("read_file", executor, path=".env").status == "refused"


def test_a_path_through_a_link_is_added_as_it_is_spelt_and_as_it_resolves(workshop: Workshop) -> None:
    (workshop.outside / "a").write_text("a")
    (workshop.project / "link").symlink_to(workshop.outside)
    workshop.somebody.widens = "add"
    assert workshop.do("read_file", path="link/a").content == "a"
    assert workshop.permissions.current().scope.read == ("link/a", f"{workshop.outside}/a")


def test_a_command_is_added_part_by_part_with_the_files_it_redirects_to(workshop: Workshop) -> None:
    workshop.somebody.widens = "add"
    assert workshop.do("run_shell", command="echo a | cat > out 2>/dev/null").status == "done"
    scope = workshop.permissions.current().scope
    assert (scope.shell_allow, scope.write) == (("echo a", "cat"), ("out",))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_shell", {"command": "ls *"}),
        ("run_shell", {"command": "echo 'two words'"}),
        ("run_shell", {"command": "echo $HOME"}),
        ("run_shell", {"command": "case x in esac"}),
        ("read_file", {"path": "what?"}),
        ("read_file", {"path": "a*"}),
    ],
)
def test_what_no_pattern_can_say_exactly_cannot_be_added(
    workshop: Workshop, name: str, arguments: dict[str, object]
) -> None:
    workshop.do(name, **arguments)
    assert len(workshop.somebody.asked) == 1
    assert "(can add)" not in workshop.somebody.asked[0]


@pytest.mark.parametrize("answer", ["once", "add"])
def test_what_is_denied_cannot_be_allowed_by_an_answer(workshop: Workshop, answer: str) -> None:
    workshop.allow()
    workshop.somebody.widens = "once" if answer == "once" else "add"
    outcome = workshop.do("read_file", path=".env")
    assert outcome == ToolResult(status="refused", content="refused: it is out of scope: denied by '**/.env'")
    assert workshop.somebody.asked == []


# ── Confirmation ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_wants_to_be_asked_about_changes_is_asked_about_these_alone(workshop: Workshop) -> None:
    workshop.allow()
    executor = workshop.executor(confirm="changes")
    for name, arguments in (
        ("read_file", {"path": "notes.md"}),
        ("list_dir", {}),
        ("search_files", {"text": "notes"}),
        ("write_file", {"path": "a", "content": ""}),
        ("run_shell", {"command": "true"}),
    ):
        workshop.do(name, executor, **arguments)
    assert workshop.somebody.asked == ["confirm write_file", "confirm run_shell"]


def test_a_no_is_a_no_and_always_is_for_one_tool(workshop: Workshop) -> None:
    workshop.allow()
    executor = workshop.executor(confirm="always")
    workshop.somebody.confirms = "no"
    assert workshop.do("read_file", executor, path="notes.md").content == "refused: nobody confirmed it"
    workshop.somebody.confirms = "always"
    for _ in range(2):
        assert workshop.do("read_file", executor, path="notes.md").status == "done"
        assert workshop.do("list_dir", executor).status == "done"
    assert workshop.somebody.asked == ["confirm read_file", "confirm read_file", "confirm list_dir"]


def test_nobody_confirms_what_would_be_refused_anyway(workshop: Workshop) -> None:
    workshop.allow()
    workshop.do("read_file", workshop.executor(confirm="always"), path=".env")
    assert workshop.somebody.asked == []


# ── A scope that somebody else brings ────────────────────────────────────────────────────────────────────────────────


def brought() -> Resolved:
    return Resolved(Scope(read=("*.md",)), "preset", "somewhere")


def test_a_scope_that_is_brought_along_is_asked_about_once_and_then_the_sessions_own(workshop: Workshop) -> None:
    workshop.somebody.grants = True
    executor = workshop.executor(wanted=("the preset docs", brought))
    for _ in range(2):
        assert workshop.do("read_file", executor, path="notes.md").content == "notes"
    assert len(workshop.somebody.asked) == 1
    assert workshop.somebody.asked[0].startswith('grant the preset docs: paths:\n  read:\n    - "*.md"\n')
    assert workshop.permissions.current().source == "explicit"
    again = workshop.executor(wanted=("the preset docs", brought))
    assert workshop.do("read_file", again, path="notes.md").content == "notes"
    assert len(workshop.somebody.asked) == 1


def test_a_scope_that_nobody_grants_holds_nowhere(workshop: Workshop) -> None:
    executor = workshop.executor(wanted=("the preset docs", brought))
    for _ in range(2):
        assert workshop.do("read_file", executor, path="notes.md").status == "refused"
    assert [asked.partition(" ")[0] for asked in workshop.somebody.asked] == ["grant", "widen", "widen"]
    assert workshop.session.overview.scope is None


def test_a_session_with_a_scope_of_its_own_is_not_asked_about_another(workshop: Workshop) -> None:
    workshop.allow()
    workshop.do("read_file", workshop.executor(wanted=("the preset docs", brought)), path="notes.md")
    assert workshop.somebody.asked == []


def test_a_scope_that_is_brought_along_and_makes_no_sense_costs_the_call(workshop: Workshop) -> None:
    def broken() -> Resolved:
        raise UsageError("docs.md: paths must be a mapping")

    outcome = workshop.do("read_file", workshop.executor(wanted=("the preset docs", broken)), path="notes.md")
    assert outcome == ToolResult(status="refused", content="refused: docs.md: paths must be a mapping")
    nothing = workshop.executor(wanted=("the preset docs", lambda: DENY_ALL))
    workshop.do("read_file", nothing, path="notes.md")
    assert [asked.partition(" ")[0] for asked in workshop.somebody.asked] == ["widen"]


def test_taking_a_call_does_nothing_yet(workshop: Workshop) -> None:
    workshop.session.set_scope(EVERYTHING)
    job = workshop.executor().take(call("write_file", path="notes.md", content="new"))
    assert (workshop.project / "notes.md").read_text() == "notes"
    assert not isinstance(job, ToolResult)
    job()
    assert (workshop.project / "notes.md").read_text() == "new"
