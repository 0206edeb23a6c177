"""The orchestrator as a real process, with the scripted agent of examples/: to the end, and however it is stopped."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from segue.durable.folder import Folder
from segue.durable.lock import find_owner
from tests.support.ralph_demo import BY_SCRIPT, RUN, ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.ralph_demo import Demo


def test_the_demo_is_completed_with_a_verification_that_fails_once(demo: Demo) -> None:
    shown = demo.run(*BY_SCRIPT).text
    assert "not completed, retrying: `sh check.sh` ended with exit code 1" in shown
    assert "story 1: The program (2/2 tasks), attempt 2 of 4" in shown
    assert shown.endswith("change add-greeting is complete\n")
    assert demo.tasks.count("- [x]") == 3
    assert demo.learned == (
        "## Learnings\n\n- The shell has defaults: ${1:-world} (task 1.2)\n\n"
        "## Patterns\n\n- **Pages**: Begin with an example\n"
    )
    assert demo.files == []
    assert [path.name for path in demo.root.rglob("*.lock") if not path.name.startswith(".")] == []


def test_what_was_said_and_learned_is_in_the_library(demo: Demo) -> None:
    demo.run(*BY_SCRIPT)
    session = demo.saved()
    assert (session.status, session.agent, session.title) == ("completed", "sh agent.sh", "Change add-greeting")
    assert [turn.role for turn in session.turns] == ["user", "assistant"] * 3
    first, second = session.turns[0].content, session.turns[2].content
    assert "What failed last time" not in first
    assert "greet.sh Ada says: Helo, Ada!" in second
    assert "- The shell has defaults: ${1:-world}" in second
    assert f"agent task done ID --session {session.id} --story 1" in first
    assert {one.name for one in session.patterns} == {"Pages"}
    assert {task.task_id for task in session.tasks_done} == {"1.1", "1.2", "2.1"}


def test_a_story_that_stays_undone_ends_the_run_and_the_same_command_tries_it_again(demo: Demo) -> None:
    result = demo.run(*RUN, "--with", "echo I will not", "--max-retries", "1", code=1)
    assert result.text.count("These tasks are not ticked: 1.1, 1.2") == 2
    assert "no retries left" in result.text
    assert len(demo.files) == 1
    assert " resumed in " in demo.run(*BY_SCRIPT).text
    assert demo.saved().status == "completed"


def test_a_story_whose_tasks_are_ticked_is_not_left_behind_unverified(demo: Demo) -> None:
    demo.run(*BY_SCRIPT, "--max-retries", "0", code=1)
    assert "- [x] 1.2" in demo.tasks
    result = demo.run(*BY_SCRIPT, "--max-retries", "0", code=1).text
    assert "greet.sh Ada says: Helo, Ada!" in result
    assert "story 1" not in result.partition("not done")[0]  # nobody was sent: it only was verified
    demo.run(*BY_SCRIPT)
    assert demo.tasks.count("- [x]") == 3


def test_max_stories_stops_behind_so_many_and_the_same_command_goes_on(demo: Demo) -> None:
    assert "stopped after --max-stories" in demo.run(*BY_SCRIPT, "--max-stories", "1").text
    assert demo.tasks.count("- [x]") == 2
    assert demo.saved().status == "paused"
    demo.run(*BY_SCRIPT, "--max-stories", "1")
    assert demo.saved().status == "completed"


def test_a_dry_run_changes_nothing(demo: Demo) -> None:
    before = {path: path.read_bytes() for path in demo.root.rglob("*") if path.is_file()}
    shown = demo.run(*BY_SCRIPT, "--dry-run").text
    assert "[ ] 1 The program (0/2)" in shown
    assert '- **THEN** it says "Hello, Ada!"' in shown
    assert {path: path.read_bytes() for path in demo.root.rglob("*") if path.is_file()} == before
    assert demo.files == []
    assert not (demo.home / "sessions").exists()


def test_every_story_is_a_commit_and_so_is_what_was_learned(demo: Demo, git: Callable[..., str]) -> None:
    demo.run(*BY_SCRIPT, "--commit")
    assert git("log", "--reverse", "--format=%s").splitlines() == [
        "The plan",
        "add-greeting: The program",
        "add-greeting: The page",
        "add-greeting: learnings and patterns",
    ]
    assert git("status", "--porcelain") == ""


def test_what_the_user_had_not_committed_is_in_no_commit_of_a_story(demo: Demo, git: Callable[..., str]) -> None:
    (demo.root / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    (demo.root / "staged.txt").write_text("half done\n", encoding="utf-8")
    git("add", "staged.txt")
    with (demo.root / "check.sh").open("a", encoding="utf-8") as file:
        file.write("# an idea\n")
    before = git("status", "--porcelain")
    result = demo.run(*BY_SCRIPT, "--commit")
    assert git("status", "--porcelain") == before
    assert "uncommitted changes of yours stay uncommitted: check.sh, staged.txt, .env" in result.text
    assert "add-greeting: The program" in git("log", "--format=%s")
    assert not {".env", "staged.txt", "check.sh"} & set(git("log", "--name-only", "--format=", "-3").splitlines())


def test_a_file_of_the_user_that_an_agent_changes_too_is_left_out_and_named(
    demo: Demo, git: Callable[..., str]
) -> None:
    (demo.root / "notes.txt").write_text("mine\n", encoding="utf-8")
    (demo.root / "both.sh").write_text("echo theirs >>notes.txt; sh agent.sh", encoding="utf-8")
    result = demo.run(*RUN, "--with", "sh both.sh", "--commit")
    assert "not committed, since they also have changes of yours: notes.txt" in result.text
    assert "notes.txt" not in git("ls-files")


def test_what_an_agent_had_changed_when_it_was_stopped_is_committed_by_the_next_run(
    demo: Demo, git: Callable[..., str]
) -> None:
    words = (*demo.patient("echo made >made-before-the-end"), "--commit")
    process = demo.start(*words)
    demo.wait_for_agent()
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    (demo.root / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    demo.run(*words)
    assert {"made-before-the-end"} == {"made-before-the-end", ".env"} & set(git("ls-files").splitlines())


def test_ctrl_c_stops_the_agent_cleanly_and_the_same_command_goes_on(demo: Demo) -> None:
    words = demo.patient()
    process = demo.start(*words)
    demo.wait_for_agent()
    process.send_signal(signal.SIGINT)
    assert "stopped; nothing is lost" in ended(process, 130).text
    assert demo.saved().status == "paused"
    assert [one.description for one in demo.saved().learnings] == ["Learned before the end"]
    assert is_free(demo)
    demo.run(*words)
    assert "- Learned before the end (story 1)\n" in demo.learned
    assert demo.saved().status == "completed"


def test_an_orchestrator_that_is_killed_loses_nothing_and_its_agent_is_not_joined_by_another(demo: Demo) -> None:
    words = demo.patient()
    process = demo.start(*words)
    demo.wait_for_agent()
    process.kill()
    process.communicate()
    assert demo.saved().status == "interrupted"
    refused = demo.run(*words, code=4)
    assert b"of an earlier run is still working on change add-greeting" in refused.err
    demo.let_go()
    while not is_free(demo):
        os.sched_yield()
    demo.run(*words)
    assert "- Learned before the end (story 1)\n" in demo.learned
    assert demo.tasks.count("- [x]") == 3


def test_an_emptied_temporary_folder_loses_nothing_that_was_learned(demo: Demo) -> None:
    words = demo.patient()
    process = demo.start(*words)
    demo.wait_for_agent()
    process.kill()
    process.communicate()
    demo.let_go()
    while not is_free(demo):
        os.sched_yield()
    shutil.rmtree(demo.temporary / "ralph")  # as after a reboot
    demo.run(*words)
    assert "- Learned before the end (story 1)\n" in demo.learned
    assert "- The shell has defaults: ${1:-world} (task 1.2)\n" in demo.learned
    assert list((demo.root / ".ralph" / "sessions").iterdir()) == []


def test_what_a_tool_said_to_an_orchestrator_that_was_killed_is_read_from_its_transcript(demo: Demo) -> None:
    demo.patient()
    demo.install_tool()
    words = (*RUN, "--with", "claude", "--max-retries", "0")
    process = demo.start(*words)
    demo.wait_for_agent()
    process.kill()
    process.communicate()
    assert [turn.role for turn in demo.saved().turns] == ["user"]
    demo.let_go()
    while not is_free(demo):
        os.sched_yield()
    demo.run(*words, code=1)
    turns = demo.saved().turns
    assert [turn.role for turn in turns] == ["user", "assistant"] * 2
    assert turns[1].content == "I was told 0 messages. "
    assert all(turn.id.startswith("claude:") for turn in turns if turn.role == "assistant")


def test_a_second_orchestrator_is_told_who_is_at_work(demo: Demo) -> None:
    words = demo.patient()
    process = demo.start(*words)
    demo.wait_for_agent()
    assert f"in use by process {process.pid}".encode() in demo.run(*words, code=4).err
    demo.let_go()
    ended(process, 0)


def test_an_agent_that_is_killed_is_told_of_and_followed_by_another(demo: Demo) -> None:
    (demo.root / "crash.sh").write_text(
        "if test -e crashed; then exec sh agent.sh; fi\n: >crashed; $RALPHTOOL agent learn 'It crashes'; kill -9 $$\n",
        encoding="utf-8",
    )
    shown = demo.run(*RUN, "--with", "sh crash.sh").text
    assert "sh crash.sh was killed by SIGKILL" in shown
    assert "- It crashes (story 1)\n" in demo.learned


def test_a_change_of_another_session_is_left_alone(demo: Demo) -> None:
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "other")
    assert b"change add-greeting is locked by session other" in demo.run(*BY_SCRIPT, code=4).err
    assert demo.library.list() == []
    assert "taken over from session other: on purpose" in demo.run(*BY_SCRIPT, "--takeover").text


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["run"], 2, b"--change is missing"),
        (["walk"], 2, b"there is no command 'ralphtool walk'"),
        ([*RUN, "--with", "no-such-command"], 3, b"there is no command 'no-such-command'"),
        ([*RUN, "--with", "'"], 2, b"is not a valid command"),
        ([*BY_SCRIPT, "--max-retries", "many"], 2, b"--max-retries needs a number"),
        ([*BY_SCRIPT, "--max-stories", "0"], 2, b"--max-stories needs a number"),
        (["run", "--change", "nothing", "--with", "sh agent.sh"], 3, b"there is no change 'nothing'"),
        ([*BY_SCRIPT, "--commit"], 2, b"is not in a git repository"),
        ([*BY_SCRIPT, "--store", "nowhere"], 2, b"does not name a store"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_begun(demo: Demo, words: list[str], code: int, why: bytes) -> None:
    result = demo.run(*words, code=code)
    assert why in result.err
    assert result.err.startswith(b"ralphtool: ")
    assert demo.files == []
    assert not (demo.root / ".ralph").exists()


def test_at_a_terminal_bars_show_how_far_it_is(demo: Demo) -> None:
    with demo.at_terminal(*demo.patient()) as approver:
        approver.wait_for("story 1: The program")
        demo.wait_for_agent()
        for text in ("stories", "0/2", "tasks", "0/3"):
            approver.wait_for(text)
        demo.let_go()
        approver.wait_for("change add-greeting is complete")
        assert approver.end() == 0


def test_ctrl_c_at_a_terminal_stops_it(demo: Demo) -> None:
    with demo.at_terminal(*demo.patient()) as approver:
        approver.wait_for("story 1: The program")
        demo.wait_for_agent()
        approver.type("\x03")
        approver.wait_for("stopped; nothing is lost")
        assert approver.end() == 130


def is_free(demo: Demo) -> bool:
    """Whether no agent is at work."""
    return find_owner(Folder(str(demo.root / ".ralph" / "locks")), "add-greeting.agent") is None
