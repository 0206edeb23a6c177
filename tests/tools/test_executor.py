"""Who decides about a call, in which order, and that nothing is decided once for all."""

from __future__ import annotations

import pytest

from segue.errors import UsageError
from segue.permissions import DENY_ALL, ResolvedScope
from segue.permissions.scope import Scope
from segue.tools import ToolResult
from tests.support.tool_project import EVERYTHING, ToolProject, call

OUT_OF_SCOPE = "refused: out of scope: no pattern allows reading it"


@pytest.fixture(autouse=True)
def notes(project: ToolProject) -> None:
    (project.root / "notes.md").write_text("notes")
    (project.root / ".env").write_text("secret")


# ── The scope ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_scope_nothing_is_done_and_the_model_is_told_why(project: ToolProject) -> None:
    assert project.do("read_file", path="notes.md") == ToolResult(status="refused", content=OUT_OF_SCOPE)


def test_the_scope_is_read_again_for_every_call(project: ToolProject) -> None:
    executor = project.executor()
    project.allow(paths={"read": ["*.md"]})
    assert project.do("read_file", executor, path="notes.md").status == "done"
    project.allow(paths={"read": []})
    assert project.do("read_file", executor, path="notes.md").status == "refused"


def test_a_scope_that_changes_while_somebody_thinks_is_the_one_that_holds(project: ToolProject) -> None:
    project.allow(paths={"write": ["*.md"]})
    project.approver.widens = "deny"
    project.approver.meanwhile = lambda: project.allow(paths={"write": []})
    result = project.do("write_file", project.executor(confirm="changes"), path="notes.md", content="x")
    assert result.status == "refused"
    assert (project.root / "notes.md").read_text() == "notes"


def test_a_scope_that_makes_no_sense_allows_nothing(project: ToolProject) -> None:
    project.session.set_scope({"paths": {"reed": ["**"]}})
    result = project.do("read_file", path="notes.md")
    assert result.status == "refused"
    assert "paths has no 'reed'" in result.content


def test_a_tool_that_there_is_not_is_told_with_those_that_there_are(project: ToolProject) -> None:
    result = project.do("fly")
    assert result.status == "failed"
    assert (
        result.content
        == "there is no tool fly, only read_file, write_file, edit_file, list_dir, search_files, run_shell"
    )


def test_a_tool_that_breaks_is_told_and_does_not_end_the_conversation(project: ToolProject) -> None:
    project.allow()
    result = project.do("read_file", path="x" * 5000)
    assert result.status in {"failed", "refused"}


# ── The person ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_once_is_once(project: ToolProject) -> None:
    project.approver.widens = "once"
    executor = project.executor()
    assert project.do("read_file", executor, path="notes.md").content == "notes"
    project.approver.widens = "deny"
    assert project.do("read_file", executor, path="notes.md").content == OUT_OF_SCOPE
    assert project.session.overview.scope is None


def test_what_is_added_to_the_scope_is_on_record_and_exactly_that(project: ToolProject) -> None:
    project.approver.widens = "add"
    executor = project.executor(confirm="always")
    assert project.do("read_file", executor, path="./notes.md").content == "notes"
    assert project.approver.asked == ["widen read_file: out of scope: no pattern allows reading it (can add)"]
    assert project.permissions.current().scope.read == ("notes.md",)
    project.approver.widens = "deny"
    assert project.do("read_file", executor, path=".env").status == "refused"


def test_a_path_through_a_link_is_added_as_it_is_spelt_and_as_it_resolves(project: ToolProject) -> None:
    (project.outside / "a").write_text("a")
    (project.root / "link").symlink_to(project.outside)
    project.approver.widens = "add"
    assert project.do("read_file", path="link/a").content == "a"
    assert project.permissions.current().scope.read == ("link/a", f"{project.outside}/a")


def test_a_command_is_added_part_by_part_with_the_files_it_redirects_to(project: ToolProject) -> None:
    project.approver.widens = "add"
    assert project.do("run_shell", command="echo a | cat > out 2>/dev/null").status == "done"
    scope = project.permissions.current().scope
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
    project: ToolProject, name: str, arguments: dict[str, object]
) -> None:
    project.do(name, **arguments)
    assert len(project.approver.asked) == 1
    assert "(can add)" not in project.approver.asked[0]


@pytest.mark.parametrize("answer", ["once", "add"])
def test_what_is_denied_cannot_be_allowed_by_an_answer(project: ToolProject, answer: str) -> None:
    project.allow()
    project.approver.widens = "once" if answer == "once" else "add"
    result = project.do("read_file", path=".env")
    assert result == ToolResult(status="refused", content="refused: out of scope: denied by '**/.env'")
    assert project.approver.asked == []


# ── Confirmation ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_wants_to_be_asked_about_changes_is_asked_about_these_alone(project: ToolProject) -> None:
    project.allow()
    executor = project.executor(confirm="changes")
    for name, arguments in (
        ("read_file", {"path": "notes.md"}),
        ("list_dir", {}),
        ("search_files", {"text": "notes"}),
        ("write_file", {"path": "a", "content": ""}),
        ("run_shell", {"command": "true"}),
    ):
        project.do(name, executor, **arguments)
    assert project.approver.asked == ["confirm write_file", "confirm run_shell"]


def test_a_no_is_a_no_and_always_is_for_one_tool(project: ToolProject) -> None:
    project.allow()
    executor = project.executor(confirm="always")
    project.approver.confirms = "no"
    assert project.do("read_file", executor, path="notes.md").content == "refused: the user did not confirm it"
    project.approver.confirms = "always"
    for _ in range(2):
        assert project.do("read_file", executor, path="notes.md").status == "done"
        assert project.do("list_dir", executor).status == "done"
    assert project.approver.asked == ["confirm read_file", "confirm read_file", "confirm list_dir"]


def test_nobody_confirms_what_would_be_refused_anyway(project: ToolProject) -> None:
    project.allow()
    project.do("read_file", project.executor(confirm="always"), path=".env")
    assert project.approver.asked == []


# ── A scope that somebody else brings ────────────────────────────────────────────────────────────────────────────────


def brought() -> ResolvedScope:
    return ResolvedScope(Scope(read=("*.md",)), "preset", "somewhere")


def test_a_scope_that_is_brought_along_is_asked_about_once_and_then_the_sessions_own(project: ToolProject) -> None:
    project.approver.grants = True
    executor = project.executor(requested_scope=("the preset docs", brought))
    for _ in range(2):
        assert project.do("read_file", executor, path="notes.md").content == "notes"
    assert len(project.approver.asked) == 1
    assert project.approver.asked[0].startswith('grant the preset docs: paths:\n  read:\n    - "*.md"\n')
    assert project.permissions.current().source == "explicit"
    again = project.executor(requested_scope=("the preset docs", brought))
    assert project.do("read_file", again, path="notes.md").content == "notes"
    assert len(project.approver.asked) == 1


def test_a_scope_that_nobody_grants_holds_nowhere(project: ToolProject) -> None:
    executor = project.executor(requested_scope=("the preset docs", brought))
    for _ in range(2):
        assert project.do("read_file", executor, path="notes.md").status == "refused"
    assert [asked.partition(" ")[0] for asked in project.approver.asked] == ["grant", "widen", "widen"]
    assert project.session.overview.scope is None


def test_a_session_with_a_scope_of_its_own_is_not_asked_about_another(project: ToolProject) -> None:
    project.allow()
    project.do("read_file", project.executor(requested_scope=("the preset docs", brought)), path="notes.md")
    assert project.approver.asked == []


def test_a_scope_that_is_brought_along_and_makes_no_sense_costs_the_call(project: ToolProject) -> None:
    def broken() -> ResolvedScope:
        raise UsageError("docs.md: paths must be a mapping")

    result = project.do("read_file", project.executor(requested_scope=("the preset docs", broken)), path="notes.md")
    assert result == ToolResult(status="refused", content="refused: docs.md: paths must be a mapping")
    nothing = project.executor(requested_scope=("the preset docs", lambda: DENY_ALL))
    project.do("read_file", nothing, path="notes.md")
    assert [asked.partition(" ")[0] for asked in project.approver.asked] == ["widen"]


def test_taking_a_call_does_nothing_yet(project: ToolProject) -> None:
    project.session.set_scope(EVERYTHING)
    run_call = project.executor().prepare(call("write_file", path="notes.md", content="new"))
    assert (project.root / "notes.md").read_text() == "notes"
    assert not isinstance(run_call, ToolResult)
    run_call()
    assert (project.root / "notes.md").read_text() == "new"
