"""What an agent destroys, or never ends, costs an attempt and not the run; a retry can start clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.run_display import show_run
from segue.dialects.ralph.runner.progress import Notice, OutputReceived
from segue.durable.folder import Folder
from segue.durable.lock import find_owner
from tests.support.ralph_demo import BY_SCRIPT, RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.ralph_demo import Demo

NUMBERED = """
number=$(($(cat number 2>/dev/null || echo 0) + 1)); echo $number >number
plan=openspec/changes/add-greeting
case $number in
{cases}
*) exec sh agent.sh ;;
esac
"""
"""An agent that does something else in each attempt, and in the end what it should."""

ACTS = r"""
1) $RALPHTOOL agent task done 1.1; $RALPHTOOL agent learn 'Learned before the fire'; rm -r $plan ;;
2) $RALPHTOOL agent session flush || echo "flush ended with $?"
   $RALPHTOOL agent session next-story || echo "next-story ended with $?"
   $RALPHTOOL agent session release || echo "release ended with $?"
   $RALPHTOOL agent session init --change add-greeting --takeover --session mine || echo "init ended with $?"
   $RALPHTOOL agent task done 2.1 --story 2 || echo "task done ended with $?" ;;
3) rm -r .ralph $TMPDIR/ralph/sessions/*; $RALPHTOOL agent session init --change add-greeting --session mine ;;
4) sed -i 's/\[ \] 2/[x] 2/' $plan/tasks.md ;;
5) echo broken >$plan/tasks.md ;;
6) ln -sf /etc/passwd $plan/tasks.md; rm $plan/proposal.md ;;
7) echo '{"half": ' >$TMPDIR/ralph/sessions/$RALPH_SESSION.json; rm -r .ralph/sessions .ralph/locks ;;
8) mv openspec/changes archive; ln -s ../archive openspec/changes ;;
"""


def numbered(demo: Demo, cases: str) -> tuple[str, ...]:
    """The words of a run with an agent that does these things, one in each attempt."""
    (demo.root / "numbered.sh").write_text(NUMBERED.replace("{cases}", cases), encoding="utf-8")
    return ("--with", "sh numbered.sh", "--max-retries", "12")


def test_what_an_agent_destroys_costs_the_attempt_and_is_restored(demo: Demo) -> None:
    before, proposal = demo.tasks, (demo.change / "proposal.md").read_bytes()
    shown = demo.run(*RUN, *numbered(demo, ACTS)).text
    assert demo.tasks == before.replace("[ ]", "[x]")
    assert (demo.change / "proposal.md").read_bytes() == proposal
    for note in (
        "tasks.md was deleted, and was restored",
        "the session was removed, and was restored",
        "the claim on the change was removed, and was restored",
        "the claim on the change was given to session mine, and was restored",
        "tasks outside of story 1 were ticked by hand, and were opened again: 2.1 of story 2",
        "tasks.md lost story 1, story 2, and was restored; its new text is in ",
        "tasks.md cannot be read any more (",
        "proposal.md was deleted, and was restored",
        "the session was damaged (see ",
    ):
        assert note in shown
    for verb in ("flush", "next-story", "release", "init"):
        assert f"{verb} ended with 4" in shown
    assert "task done ended with 2" in shown
    assert shown.count('"code": "RUN_IN_PROGRESS"') == 4
    assert "story 2: The page (0/1 tasks)" in shown  # the tick by hand did not count
    assert "story 1: The program (1/2 tasks), attempt 2 of 13" in shown  # what it had ticked was ticked again
    assert "- Learned before the fire (story 1)\n" in demo.learned
    assert "- **Pages**: Begin with an example\n" in demo.learned
    (replaced,) = (demo.root / ".ralph" / "replaced").iterdir()
    assert replaced.read_text() == "broken\n"
    assert demo.saved().status == "completed"
    assert [path.name for path in demo.root.rglob("*.lock") if not path.name.startswith(".")] == []


def test_an_agent_or_a_verification_that_takes_too_long_is_stopped_with_all_it_started(demo: Demo) -> None:
    hanging = "1) echo begun; (trap '' TERM; sleep 1000); echo never ;;"
    words = ("--max-retries", "0", "--change", "add-greeting")
    (demo.root / "check.sh").write_text("echo checking; sleep 1000 & sleep 1000", encoding="utf-8")
    agent = numbered(demo, hanging)[:2]
    shown = demo.run("run", *words, *agent, "--no-verify", "--idle-timeout", "3s", code=1).text
    assert "\n    sh numbered.sh was stopped after 3s without output (--idle-timeout)\n" in shown
    assert demo.saved().turns[-1].content == "begun"
    assert demo.saved().turns[-1].partial
    locks = Folder(str(demo.root / ".ralph" / "locks"))
    while find_owner(locks, "add-greeting.agent") is not None:  # until the last of them has gone
        os.sched_yield()
    agent = ("--with", "echo fine")
    shown = demo.run("run", *words, *agent, "--verify", "sh check.sh", "--timeout", "3s", code=1).text
    assert "`sh check.sh` was stopped after 3s (--timeout), with this output:\n    \n    checking\n" in shown


def test_output_without_newlines_costs_what_its_length_is(
    capsys: pytest.CaptureFixture[str], cpu_limit: Callable[[float], None]
) -> None:
    piece, count = "x" * 1000, 20_000
    cpu_limit(8.0)  # of seconds; with one copy of all before for each piece it takes a minute
    with show_run(lambda: ()) as show:
        for _ in range(count):
            show(OutputReceived(text=piece))
        show(OutputReceived(text="\r\nend"))
        show(Notice(text="over"))
    *shown, end, over = capsys.readouterr().out.splitlines()
    assert "".join(line.removeprefix("  | ") for line in shown) == piece * count
    assert (end, over) == ("  | end", "note: over")


@pytest.fixture
def cpu_limit() -> Iterator[Callable[[float], None]]:
    """Ends the test when it has computed for so long."""

    def exceed(_number: int, _frame: object) -> None:
        raise AssertionError("too much was computed")

    before = signal.signal(signal.SIGVTALRM, exceed)
    yield lambda seconds: signal.setitimer(signal.ITIMER_VIRTUAL, seconds) and None
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


# ── A retry from the last commit ─────────────────────────────────────────────────────────────────────────────────────

MESSY = """
1) echo mess >mess.txt; echo more >>check.sh; rm agent.sh; git add mess.txt; $RALPHTOOL agent task done 1.1 ;;
2) test ! -e mess.txt || echo still there; echo committed >committed.txt; git add committed.txt
   git commit --quiet --message 'By the agent'; echo late >late.txt ;;
"""


def test_a_retry_starts_at_the_last_commit_and_nothing_is_lost(demo: Demo, git: Callable[..., str]) -> None:
    words = numbered(demo, MESSY)
    (demo.root / ".gitignore").write_text("number\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "The agent")
    shown = demo.run(*RUN, *words, "--commit", "--reset").text
    assert "story 1: The program (0/2 tasks), attempt 2 of 13" in shown  # its tick is undone as well
    assert "still there" not in shown
    assert shown.count("note: reset to ") == 2
    assert "its changes are in the stash " in shown
    assert "its commits are on the branch ralphtool/add-greeting-story-1-attempt-2-" in shown
    assert git("status", "--porcelain") == ""
    assert not {"mess.txt", "committed.txt", "late.txt"} & set(git("ls-files").splitlines())
    assert git("stash", "list", "--format=%gs").splitlines() == [
        "On master: ralphtool: add-greeting, story 1, attempt 2",
        "On master: ralphtool: add-greeting, story 1, attempt 1",
    ]
    assert git("show", "stash@{1}:mess.txt") == "mess\n"
    assert git("show", "stash@{0}^3:late.txt") == "late\n"
    (branch,) = git("branch", "--list", "ralphtool/*", "--format=%(refname)").splitlines()
    assert git("show", f"{branch}:committed.txt") == "committed\n"


def test_what_the_user_had_not_committed_is_never_put_aside(demo: Demo, git: Callable[..., str]) -> None:
    (demo.root / "idea.txt").write_text("mine\n", encoding="utf-8")
    refused = demo.run(*BY_SCRIPT, "--commit", "--reset", code=2)
    assert b"--reset would put aside changes of yours: idea.txt; commit them, or omit --reset" in refused.err
    assert b"--reset needs --commit" in demo.run(*BY_SCRIPT, "--reset", code=2).err
    assert (demo.root / "idea.txt").read_text(encoding="utf-8") == "mine\n"
    assert git("stash", "list") == ""


# ── How an agent calls us ────────────────────────────────────────────────────────────────────────────────────────────

LOGIN_SHELL = r"""
line=$(grep -o '`[^`]* agent task done ID [^`]*`' | tr -d '`')
for task in 1.1 1.2 2.1; do
    env -i HOME="$HOME" bash -lc "PATH=/usr/bin:/bin; $(echo "$line" | sed "s/ ID / $task /")" && continue
done
exit 0
"""


@pytest.mark.parametrize("called", ["./my tools/ralphtool", "ralphtool", ""])
def test_the_prompt_names_the_whole_path_of_our_program(demo: Demo, called: str) -> None:
    """In a shell with another PATH it works all the same: by a link, by its name, and as a module."""
    (demo.root / "my tools").mkdir()
    (demo.root / "my tools" / "ralphtool").symlink_to(Path(sys.executable).with_name("ralphtool"))
    (demo.root / "login.sh").write_text(LOGIN_SHELL, encoding="utf-8")
    argv = [called] if called else [sys.executable, "-m", "segue.dialects.ralph"]
    environ = demo.environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    words = ("run", "--change", "add-greeting", "--with", "sh login.sh", "--max-retries", "0")
    done = subprocess.run(
        [*argv, *words], cwd=demo.root, env=environ, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done
    assert demo.tasks.count("- [x]") == 3


# ── The tests of a project ───────────────────────────────────────────────────────────────────────────────────────────

ASKED = "Verify stories with `make test`, from Makefile? It runs code of this project. [y/N]"


def test_stories_are_verified_with_the_tests_of_the_project(demo: Demo) -> None:
    (demo.root / "Makefile").write_text("test:\n\tsh check.sh\n", encoding="utf-8")
    words = ("run", "--change", "add-greeting", "--with", "sh agent.sh", "--max-stories", "1")
    shown = demo.run(*words).text
    assert "note: stories are verified with `make test`, from Makefile; --verify COMMAND uses another" in shown
    assert "  $ make test\n" in shown
    assert "attempt 2 of 4" in shown
    assert "make test" not in demo.run(*words, "--no-verify").text
    assert b"exclude each other" in demo.run(*words, "--verify", "true", "--no-verify", code=2).err


def test_tests_of_a_project_run_with_an_ai_tool_only_if_the_user_agrees(demo: Demo) -> None:
    """A tool has its own bounds, which tests of a clone do not have."""
    (demo.root / "Makefile").write_text("test:\n\ttouch ran\n", encoding="utf-8")
    (demo.programs / "claude").write_text("#!/bin/sh\ncat >/dev/null\n", encoding="utf-8")
    (demo.programs / "claude").chmod(0o755)
    words = ("run", "--change", "add-greeting", "--with", "claude", "--max-retries", "0")
    refused = demo.run(*words, code=1)
    assert b"stories are not verified: `make test`, from Makefile, would run code of this project" in refused.err
    assert b"use --verify 'make test' or --sandbox" in refused.err
    assert "if it had none, use --with 'claude --allowedTools Bash,Edit,Write'\n" in refused.text
    with demo.at_terminal(*words) as user:
        user.wait_for(ASKED)
        user.type("n\r")
        user.wait_for("stories are not verified")
        assert user.end() == 1
    with demo.at_terminal(*words) as user:
        user.wait_for(ASKED)
        user.type("\x03")
        assert user.end() == 130
    assert not (demo.root / "ran").exists()
    with demo.at_terminal(*words) as user:
        user.wait_for(ASKED)
        user.type("y\r")
        user.wait_for("$ make test")
        assert user.end() == 1
    (demo.root / "ran").unlink()
    assert "  $ make test\n" in demo.run(*words, code=1).text  # it is not asked again
    assert (demo.root / "ran").exists()
