"""Commands of a session, in the kernel's sandbox: as the scope says, and nothing that decides what comes next."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from segue.permissions import Permissions, ProtectedPaths
from segue.sandbox import policy
from segue.sandbox.policy import SandboxSupport
from segue.tools import executor as executor_module
from segue.tools import shell as shell_module
from tests.support.tool_project import EVERYTHING, ToolProject, call, run

if TYPE_CHECKING:
    from segue.tools import ToolResult

pytestmark = pytest.mark.needs_sandbox

DECIDING = (".git/config", ".claude/settings.json", ".mcp.json", ".segue/agents/x.md", ".envrc", "AGENTS.md")


@pytest.fixture(autouse=True)
def everything(project: ToolProject) -> None:
    project.allow()


@pytest.fixture(params=["namespaces", "landlock"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found = policy.find_support()
    given = SandboxSupport("", request.param == "namespaces", found.version)
    for module in (executor_module, shell_module):
        monkeypatch.setattr(module, "find_support", lambda: given)
    return str(request.param)


def shell(project: ToolProject, command: str) -> ToolResult:
    return project.do("run_shell", command=command)


def asked(project: ToolProject, command: str) -> ToolResult:
    """A line that need not be understood, since somebody says yes to it."""
    project.approver.widens = "once"
    return shell(project, command)


def test_it_reads_and_writes_what_the_scope_says(project: ToolProject) -> None:
    for folder in ("src", "docs"):
        (project.root / folder).mkdir()
        (project.root / folder / "file").write_text("old")
    (project.outside / "file").write_text("far")
    paths = {"read": ["src/**", "docs/file"], "write": ["src/**"]}
    project.allow(paths=paths, shell_commands={"allow": ["*"]})
    assert shell(project, "cat src/file docs/file; cp docs/file src/new; mv src/new src/newer").status == "done"
    assert (project.root / "src" / "newer").read_text() == "old"
    for command in (
        f"cat {project.outside}/file",
        "cp src/file docs/new",
        "cp src/file docs/file",
        "rm docs/file",
        f"cp src/file {project.outside}/new",
        "cat ~/.ssh/id",
    ):
        result = shell(project, command)
        assert result.status == "failed", command
        assert result.content.endswith("[it ran in a sandbox without network and without access to files out of scope]")
    assert (project.root / "docs" / "file").read_text() == "old"


def test_patterns_hold_for_what_is_there(project: ToolProject) -> None:
    for name in ("a.md", "b.txt", "deep/c.md"):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text(name)
    project.allow(paths={"read": ["*.md", "deep/**/*.md"], "write": ["a.*"]}, shell_commands={"allow": ["*"]})
    assert shell(project, "cat a.md deep/c.md").content == "a.mddeep/c.md"
    assert "Permission denied" in shell(project, "cat b.txt").content
    assert shell(project, "cp deep/c.md a.md").status == "done"
    assert (project.root / "a.md").read_text() == "deep/c.md"


def test_what_the_scope_denies_is_closed_in_a_folder_that_is_open(project: ToolProject) -> None:
    (project.root / "deep").mkdir()
    for name in (".env", "deep/.env"):
        (project.root / name).write_text("secret")
    for command in ("cat .e?v deep/.e?v", "cd deep; cat .env", "python3 -c 'print(open(\".env\").read())'"):
        result = asked(project, command)
        assert (result.status, "secret" in result.content) == ("failed", False)


@pytest.mark.parametrize("name", DECIDING)
def test_no_command_changes_what_decides_what_comes_next(project: ToolProject, name: str) -> None:
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    top = name.partition("/")[0]
    for command in (
        f"cp /etc/hostname {name}",
        f"rm -rf {top}",
        f"mv {top} other",
        f"ln -f /etc/hostname {name}",
        f"chmod 0 {name}",
    ):
        assert shell(project, command).status == "failed", command
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", DECIDING)
def test_nor_does_write_file(project: ToolProject, name: str) -> None:
    result = project.do("write_file", path=name, content="evil")
    assert result.status == "refused"
    assert not (project.root / name).exists()
    asked = (
        []
        if name != "AGENTS.md"
        else [
            "widen write_file: out of scope: agents read it as instructions, and no pattern names it exactly (can add)"
        ]
    )
    assert project.approver.asked == asked


@pytest.mark.parametrize("name", DECIDING)
def test_what_a_command_makes_under_such_a_name_does_not_stay_there(project: ToolProject, kind: str, name: str) -> None:
    (project.root / "sub").mkdir()
    top = name.partition("/")[0]
    (project.root / "x").write_text("evil")
    command = f"mkdir -p $(dirname {name}); cp x {name}"
    result = asked(project, f"sh -c '{command}'")
    assert not (project.root / top).exists()
    assert f"[{top} is a protected name: the new file was renamed to {top}.set-aside-" in result.content
    assert kind  # both have the same answer where nothing was there before


def test_a_file_that_a_line_names_can_be_made_and_no_other_beside_it(project: ToolProject) -> None:
    (project.root / "a").write_text("a")
    project.allow(paths={"read": ["**"], "write": ["out.txt"]}, shell_commands={"allow": ["*"]})
    assert shell(project, "cat a > out.txt").status == "done"
    assert (project.root / "out.txt").read_text() == "a"
    assert shell(project, "cp a other.txt").status == "failed"
    (project.root / "out.txt").unlink()
    assert shell(project, "false && cat a > out.txt").status == "failed"
    assert not (project.root / "out.txt").exists()


def test_what_a_person_allows_once_reaches_the_file_that_the_line_names(project: ToolProject) -> None:
    project.allow(paths={"read": ["**"]}, shell_commands={"allow": []})
    project.approver.widens = "once"
    assert shell(project, f"echo hello > {project.outside}/out").status == "done"
    assert (project.outside / "out").read_text() == "hello\n"


def test_the_network_is_a_matter_of_the_scope(project: ToolProject) -> None:
    line = "python3 -c 'import socket; socket.socket(); print(1)'"
    assert "PermissionError" in shell(project, line).content
    project.allow(**EVERYTHING, network=True)
    assert shell(project, line).content == "1"


def test_temporary_files_are_its_own_and_gone_afterwards(project: ToolProject) -> None:
    result = asked(project, "mktemp; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a || true; touch $TMPDIR/c")
    assert result.status == "done"
    assert not os.path.exists(result.content.split("\n")[0])
    assert not os.path.exists(os.path.dirname(result.content.split("\n")[0]))


def test_keys_of_segue_and_sessions_are_closed(project: ToolProject) -> None:
    state = project.root / "state"
    store = project.root / "store"
    for folder in (state, store):
        folder.mkdir()
        (folder / "file").write_text("secret")
    project.permissions = Permissions(
        project.library.store,
        project.session.id,
        project_root=str(project.root),
        home=str(project.home),
        state=str(project.home / "state"),
        protected=ProtectedPaths(secret=(str(state),), read_only=(str(store),)),
    )
    assert "secret" not in shell(project, "cat state/file").content
    assert shell(project, "cat store/file").content == "secret"
    for command in ("cp x store/file", "touch store/new", "touch state/new", "mv store other", "rm -rf state"):
        assert shell(project, command).status == "failed", command
    assert project.do("read_file", path="state/file").status == "refused"


def test_a_scope_may_do_without_and_then_the_question_says_so(project: ToolProject) -> None:
    project.allow(**EVERYTHING, sandbox=False)
    executor = project.executor(confirm="changes")
    assert run(executor, "run_shell", command=f"echo x | tee {project.outside}/out").status == "done"
    (asked,) = project.approver.asked
    assert asked.startswith(
        "confirm run_shell: It runs without a sandbox (the scope disables it): it can read and write"
    )


def test_where_there_is_no_sandbox_the_question_says_so(project: ToolProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "find_support", lambda: SandboxSupport("the kernel has no Landlock"))
    project.allow(paths={"read": ["**"]}, shell_commands={"allow": []})
    project.approver.widens = "once"
    assert shell(project, "echo x").content == "x"
    (asked,) = project.approver.asked
    assert "It runs without a sandbox (the kernel has no Landlock): it can read and write" in asked


def test_a_sandbox_that_cannot_be_put_up_runs_nothing(project: ToolProject, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = project.home / "launcher.py"
    broken.write_text("import os, sys; os.write(int(sys.argv[2]), b'no rights'); sys.exit(125)")
    monkeypatch.setattr(policy, "_LAUNCHER", broken)
    result = shell(project, "echo x > made")
    assert (result.status, result.content) == ("failed", "it cannot be started: no rights")
    assert not (project.root / "made").exists()
    broken.write_text("raise SystemExit(1)")
    assert shell(project, "echo x > made").status == "failed"


def test_many_threads_may_run_commands_at_once(project: ToolProject) -> None:
    from concurrent.futures import ThreadPoolExecutor

    jobs = [project.executor().prepare(call("run_shell", command=f"echo {number}")) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda run_call: run_call().content if callable(run_call) else run_call.content, jobs))
    assert found == [str(number) for number in range(8)]


def test_a_folder_with_too_much_in_it_is_told(project: ToolProject, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.permissions import confinement

    for number in range(20):
        (project.root / str(number)).touch()
    monkeypatch.setattr(confinement, "MAX_ENTRIES", 10)
    assert "has too many files for a sandbox" in shell(project, "true").content


@pytest.mark.needs("git")
def test_git_reads_what_it_keeps_where_the_scope_lets_it_run(project: ToolProject) -> None:
    from segue.permissions import load_profile
    from segue.permissions.scope import fields_of

    git = ("git", "-C", str(project.root), "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *words], check=True, env={"PATH": os.environ["PATH"], "HOME": str(project.home)})
    (project.root / "new.txt").write_text("x")
    project.session.set_scope(fields_of(load_profile("project", []).scope))
    result = shell(project, "git status")
    assert (result.status, "new.txt" in result.content) == ("done", True), result
    assert project.do("read_file", path=".git/config").status == "refused"
    assert asked(project, "cat .g?t/config").status == "failed"
    assert asked(project, "git commit --allow-empty -m second").status == "failed"
