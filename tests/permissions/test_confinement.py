"""Commands of a session, in the kernel's sandbox: as the scope says, and nothing that decides what comes next."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from segue.permissions import Permissions, Protected
from segue.sandbox import box
from segue.sandbox.box import Ground
from segue.tools import executor as benches
from tests.support.tool_project import EVERYTHING, Workshop, call, run

if TYPE_CHECKING:
    from segue.tools import ToolResult

pytestmark = pytest.mark.needs_sandbox

DECIDING = (".git/config", ".claude/settings.json", ".mcp.json", ".segue/agents/x.md", ".envrc", "AGENTS.md")


@pytest.fixture(autouse=True)
def everything(workshop: Workshop) -> None:
    workshop.allow()


@pytest.fixture(params=["namespaces", "landlock"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found = box.ground()
    given = Ground("", request.param == "namespaces", found.version)
    for module in (benches, __import__("segue.tools.shell", fromlist=["shell"])):
        monkeypatch.setattr(module, "ground", lambda: given)
    return str(request.param)


def shell(workshop: Workshop, command: str) -> ToolResult:
    return workshop.do("run_shell", command=command)


def asked(workshop: Workshop, command: str) -> ToolResult:
    """A line that need not be understood, since somebody says yes to it."""
    workshop.somebody.widens = "once"
    return shell(workshop, command)


def test_it_reads_and_writes_what_the_scope_says(workshop: Workshop) -> None:
    for folder in ("src", "docs"):
        (workshop.project / folder).mkdir()
        (workshop.project / folder / "file").write_text("old")
    (workshop.outside / "file").write_text("far")
    paths = {"read": ["src/**", "docs/file"], "write": ["src/**"]}
    workshop.allow(paths=paths, shell_commands={"allow": ["*"]})
    assert shell(workshop, "cat src/file docs/file; cp docs/file src/new; mv src/new src/newer").status == "done"
    assert (workshop.project / "src" / "newer").read_text() == "old"
    for command in (
        f"cat {workshop.outside}/file",
        "cp src/file docs/new",
        "cp src/file docs/file",
        "rm docs/file",
        f"cp src/file {workshop.outside}/new",
        "cat ~/.ssh/id",
    ):
        outcome = shell(workshop, command)
        assert outcome.status == "failed", command
        assert outcome.content.endswith("[it ran in a sandbox, where the network and what is out of scope are closed]")
    assert (workshop.project / "docs" / "file").read_text() == "old"


def test_patterns_hold_for_what_is_there(workshop: Workshop) -> None:
    for name in ("a.md", "b.txt", "deep/c.md"):
        (workshop.project / name).parent.mkdir(exist_ok=True)
        (workshop.project / name).write_text(name)
    workshop.allow(paths={"read": ["*.md", "deep/**/*.md"], "write": ["a.*"]}, shell_commands={"allow": ["*"]})
    assert shell(workshop, "cat a.md deep/c.md").content == "a.mddeep/c.md"
    assert "Permission denied" in shell(workshop, "cat b.txt").content
    assert shell(workshop, "cp deep/c.md a.md").status == "done"
    assert (workshop.project / "a.md").read_text() == "deep/c.md"


def test_what_the_scope_denies_is_closed_in_a_folder_that_is_open(workshop: Workshop) -> None:
    (workshop.project / "deep").mkdir()
    for name in (".env", "deep/.env"):
        (workshop.project / name).write_text("secret")
    for command in ("cat .e?v deep/.e?v", "cd deep; cat .env", "python3 -c 'print(open(\".env\").read())'"):
        outcome = asked(workshop, command)
        assert (outcome.status, "secret" in outcome.content) == ("failed", False)


@pytest.mark.parametrize("name", DECIDING)
def test_no_command_changes_what_decides_what_comes_next(workshop: Workshop, name: str) -> None:
    path = workshop.project / name
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
        assert shell(workshop, command).status == "failed", command
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", DECIDING)
def test_nor_does_write_file(workshop: Workshop, name: str) -> None:
    outcome = workshop.do("write_file", path=name, content="evil")
    assert outcome.status == "refused"
    assert not (workshop.project / name).exists()
    asked = (
        []
        if name != "AGENTS.md"
        else ["widen write_file: it is out of scope: agents read it as orders, and no pattern names it (can add)"]
    )
    assert workshop.somebody.asked == asked


@pytest.mark.parametrize("name", DECIDING)
def test_what_a_command_makes_under_such_a_name_does_not_stay_there(workshop: Workshop, kind: str, name: str) -> None:
    (workshop.project / "sub").mkdir()
    top = name.partition("/")[0]
    (workshop.project / "x").write_text("evil")
    command = f"mkdir -p $(dirname {name}); cp x {name}"
    outcome = asked(workshop, f"sh -c '{command}'")
    assert not (workshop.project / top).exists()
    assert f"[{top} is a protected name: what was made under it is now {top}.set-aside-" in outcome.content
    assert kind  # both have the same answer where nothing was there before


def test_a_file_that_a_line_names_can_be_made_and_no_other_beside_it(workshop: Workshop) -> None:
    (workshop.project / "a").write_text("a")
    workshop.allow(paths={"read": ["**"], "write": ["out.txt"]}, shell_commands={"allow": ["*"]})
    assert shell(workshop, "cat a > out.txt").status == "done"
    assert (workshop.project / "out.txt").read_text() == "a"
    assert shell(workshop, "cp a other.txt").status == "failed"
    (workshop.project / "out.txt").unlink()
    assert shell(workshop, "false && cat a > out.txt").status == "failed"
    assert not (workshop.project / "out.txt").exists()


def test_what_a_person_allows_once_reaches_the_file_that_the_line_names(workshop: Workshop) -> None:
    workshop.allow(paths={"read": ["**"]}, shell_commands={"allow": []})
    workshop.somebody.widens = "once"
    assert shell(workshop, f"echo hello > {workshop.outside}/out").status == "done"
    assert (workshop.outside / "out").read_text() == "hello\n"


def test_the_network_is_a_matter_of_the_scope(workshop: Workshop) -> None:
    line = "python3 -c 'import socket; socket.socket(); print(1)'"
    assert "PermissionError" in shell(workshop, line).content
    workshop.allow(**EVERYTHING, network=True)
    assert shell(workshop, line).content == "1"


def test_temporary_files_are_its_own_and_gone_afterwards(workshop: Workshop) -> None:
    outcome = asked(workshop, "mktemp; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a || true; touch $TMPDIR/c")
    assert outcome.status == "done"
    assert not os.path.exists(outcome.content.split("\n")[0])
    assert not os.path.exists(os.path.dirname(outcome.content.split("\n")[0]))


def test_keys_of_segue_and_sessions_are_closed(workshop: Workshop) -> None:
    state = workshop.project / "state"
    store = workshop.project / "store"
    for folder in (state, store):
        folder.mkdir()
        (folder / "file").write_text("secret")
    workshop.permissions = Permissions(
        workshop.library.store,
        workshop.session.id,
        project_root=str(workshop.project),
        home=str(workshop.home),
        state=str(workshop.home / "state"),
        protected=Protected(secret=(str(state),), kept=(str(store),)),
    )
    assert "secret" not in shell(workshop, "cat state/file").content
    assert shell(workshop, "cat store/file").content == "secret"
    for command in ("cp x store/file", "touch store/new", "touch state/new", "mv store other", "rm -rf state"):
        assert shell(workshop, command).status == "failed", command
    assert workshop.do("read_file", path="state/file").status == "refused"


def test_a_scope_may_do_without_and_then_the_question_says_so(workshop: Workshop) -> None:
    workshop.allow(**EVERYTHING, sandbox=False)
    executor = workshop.executor(confirm="changes")
    assert run(executor, "run_shell", command=f"echo x | tee {workshop.outside}/out").status == "done"
    (asked,) = workshop.somebody.asked
    assert asked.startswith("confirm run_shell: It runs without a sandbox (the scope says so): it can read and write")


def test_where_there_is_no_sandbox_the_question_says_so(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "ground", lambda: Ground("the kernel has no Landlock"))
    workshop.allow(paths={"read": ["**"]}, shell_commands={"allow": []})
    workshop.somebody.widens = "once"
    assert shell(workshop, "echo x").content == "x"
    (asked,) = workshop.somebody.asked
    assert "It runs without a sandbox (the kernel has no Landlock): it can read and write" in asked


def test_a_sandbox_that_cannot_be_put_up_runs_nothing(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = workshop.home / "launcher.py"
    broken.write_text("import os, sys; os.write(int(sys.argv[2]), b'no rights'); sys.exit(125)")
    monkeypatch.setattr(box, "_LAUNCHER", broken)
    outcome = shell(workshop, "echo x > made")
    assert (outcome.status, outcome.content) == ("failed", "it cannot be started: no rights")
    assert not (workshop.project / "made").exists()
    broken.write_text("raise SystemExit(1)")
    assert shell(workshop, "echo x > made").status == "failed"


def test_many_threads_may_run_commands_at_once(workshop: Workshop) -> None:
    from concurrent.futures import ThreadPoolExecutor

    jobs = [workshop.executor().take(call("run_shell", command=f"echo {number}")) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda job: job().content if callable(job) else job.content, jobs))
    assert found == [str(number) for number in range(8)]


def test_a_folder_with_too_much_in_it_is_told(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.permissions import confinement

    for number in range(20):
        (workshop.project / str(number)).touch()
    monkeypatch.setattr(confinement, "ENTRIES", 10)
    assert "holds too much for a sandbox" in shell(workshop, "true").content


@pytest.mark.needs("git")
def test_git_reads_what_it_keeps_where_the_scope_lets_it_run(workshop: Workshop) -> None:
    from segue.permissions import load_profile
    from segue.permissions.scope import fields_of

    git = ("git", "-C", str(workshop.project), "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *words], check=True, env={"PATH": os.environ["PATH"], "HOME": str(workshop.home)})
    (workshop.project / "new.txt").write_text("x")
    workshop.session.set_scope(fields_of(load_profile("project", []).scope))
    outcome = shell(workshop, "git status")
    assert (outcome.status, "new.txt" in outcome.content) == ("done", True), outcome
    assert workshop.do("read_file", path=".git/config").status == "refused"
    assert asked(workshop, "cat .g?t/config").status == "failed"
    assert asked(workshop, "git commit --allow-empty -m second").status == "failed"
