"""Commands as agents, shown with real processes: small Python programs that behave well or badly."""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError, Message, Request, TextDelta
from segue.chat.agents.command import CommandAgent, render
from tests.support.providers.houses import text_of
from tests.support.providers.server import SAFE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.chat.agent import Piece
    from segue.model import JsonObject

QUESTION = Request(system="", messages=(Message(role="user", content="Why?"),))


def program(code: str, *, timeout_seconds: float = SAFE_SECONDS, **environ: str) -> CommandAgent:
    # One write a line: a reader that has seen a part of it may be gone before the rest comes.
    say = "say = lambda *words: os.write(1, (' '.join(map(str, words)) + chr(10)).encode())"
    argv = [sys.executable, "-c", f"import os, sys, signal\n{say}\n{code}"]
    return CommandAgent(argv, environ={**os.environ, **environ}, timeout_seconds=timeout_seconds)


def said(agent: CommandAgent, request: Request = QUESTION) -> str:
    return text_of(list(agent.answer(request)))


def failure(agent: CommandAgent) -> AgentError:
    with pytest.raises(AgentError) as caught:
        list(agent.answer(QUESTION))
    return caught.value


def close(answer: Iterator[Piece]) -> None:
    answer.close()  # type: ignore[attr-defined]


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return " Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2][:3]
    except FileNotFoundError:
        return False


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_prompt_goes_to_its_input_and_its_output_is_the_answer() -> None:
    assert said(program("print(sys.stdin.read().upper())")) == "WHY?"


def test_the_name_is_the_command_as_one_would_type_it() -> None:
    assert CommandAgent(["claude", "-p", "two words"], environ={}).name == "claude -p 'two words'"


def test_pieces_come_as_they_are_written() -> None:
    agent = program("say('one'); signal.pause()")
    answer = agent.answer(QUESTION)
    assert next(answer) == TextDelta("one")
    close(answer)


def test_characters_that_are_cut_by_the_size_of_a_read_are_whole() -> None:
    assert said(program("os.write(1, ('a' + '€' * 100_000).encode())")) == "a" + "€" * 100_000


def test_broken_bytes_are_shown_and_not_fatal() -> None:
    assert said(program(r"os.write(1, b'a\xff\xfeb\xe2')")) == "a��b�"


def test_newlines_within_the_answer_stay_and_those_at_its_end_go() -> None:
    assert said(program("print('one\\n\\ntwo\\n')")) == "one\n\ntwo"


def test_a_prompt_larger_than_any_pipe_gets_through_while_the_answer_comes() -> None:
    big = Request(system="", messages=(Message(role="user", content="x" * 3_000_000),))
    agent = program("while data := sys.stdin.read(1000):\n    sys.stdout.write(data)")
    assert len(said(agent, big)) == 3_000_000


def test_a_command_need_not_read_its_input() -> None:
    big = Request(system="", messages=(Message(role="user", content="x" * 3_000_000),))
    assert said(program("print('whatever')"), big) == "whatever"


def test_much_on_the_error_output_does_not_block_the_answer() -> None:
    assert said(program("sys.stderr.write('e' * 3_000_000); print('done')")) == "done"


def test_it_gets_the_environment_that_was_handed_in_and_no_other() -> None:
    agent = CommandAgent([sys.executable, "-c", "import os; print(sorted(os.environ))"], environ={"ONLY": "this"})
    assert "'ONLY'" in said(agent)
    assert "'HOME'" not in said(agent)


def test_no_shell_looks_at_the_arguments(tmp_path: Path) -> None:
    target = tmp_path / "made"
    agent = CommandAgent([sys.executable, "-c", "import sys; print(sys.argv[1])", f"$(touch {target})"], environ={})
    assert said(agent) == f"$(touch {target})"
    assert not target.exists()


def test_a_process_left_in_the_background_does_not_hold_the_answer_up() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"
    left = int(said(program(code)))
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)


# ── The prompt ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_first_question_without_instructions_is_its_own_prompt() -> None:
    assert render(QUESTION) == "Why?"


def test_the_whole_conversation_is_in_the_prompt_in_order_with_the_last_message_at_the_end() -> None:
    call: JsonObject = {"type": "tool_call", "id": "1", "name": "read", "arguments": {"path": "x"}}
    result: JsonObject = {"type": "tool_result", "id": "1", "content": "forty-two"}
    request = Request(
        system="Be brief.",
        messages=(
            Message(role="user", content="Read x"),
            Message(role="assistant", content="I will.", parts=(call,)),
            Message(role="tool", content="", parts=(result,)),
            Message(role="user", content="And now?"),
        ),
    )
    prompt = render(request)
    places = [prompt.index(text) for text in ("Be brief.", "Read x", "I will.", '"path":"x"', "forty-two", "And now?")]
    assert places == sorted(places)
    assert prompt.endswith("And now?")


# ── No answer ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_that_is_not_there_says_what_to_do() -> None:
    error = failure(CommandAgent(["no-such-command-here"], environ={"PATH": "/usr/bin"}))
    assert "there is no command 'no-such-command-here'" in str(error)
    assert "install it" in error.hint
    assert not error.can_retry


def test_a_file_that_cannot_be_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program", encoding="utf-8")
    assert "cannot be started" in str(failure(CommandAgent([str(tmp_path / "plain")], environ={})))


def test_an_exit_code_is_told_with_the_last_words_on_the_error_output() -> None:
    error = failure(program("print('please log in first', file=sys.stderr); sys.exit(3)"))
    assert "ended with exit code 3: please log in first" in str(error)


def test_text_before_a_bad_end_is_shown_and_the_end_is_told() -> None:
    answer = program("say('half'); sys.exit(1)").answer(QUESTION)
    assert next(answer) == TextDelta("half")
    with pytest.raises(AgentError, match="exit code 1"):
        next(answer)


def test_a_command_that_is_killed_names_the_signal() -> None:
    error = failure(program("os.kill(os.getpid(), signal.SIGKILL)"))
    assert "was killed by SIGKILL" in str(error)
    assert error.can_retry


def test_a_command_that_says_nothing_is_no_answer() -> None:
    assert "without printing an answer" in str(failure(program("print()")))


def test_a_command_that_is_silent_too_long_is_stopped(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"open({str(note)!r}, 'w').write(str(os.getpid())); sys.stderr.write('thinking'); sys.stderr.flush()"
    error = failure(program(f"{code}; signal.pause()", timeout_seconds=1.5))
    assert "printed nothing for 1.5 seconds and was stopped: thinking" in str(error)
    assert error.can_retry
    assert not is_alive(int(note.read_text(encoding="utf-8")))


def test_a_command_that_closes_its_output_and_goes_on_is_stopped_as_well() -> None:
    error = failure(program("os.close(1); os.close(2); signal.pause()", timeout_seconds=1.0))
    assert "was stopped" in str(error)


# ── Closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_the_iterator_ends_the_whole_process_group_and_leaves_no_zombie() -> None:
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "while child == 0: signal.pause()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "say(os.getpid(), child); signal.pause()"
    )
    answer = program(code).answer(QUESTION)
    piece = next(answer)
    assert isinstance(piece, TextDelta)
    parent, child = map(int, piece.text.split())
    close(answer)
    with pytest.raises(ChildProcessError):
        os.waitpid(parent, os.WNOHANG)
    wait_until_gone(child)
    assert not is_alive(parent)


def wait_until_gone(pid: int) -> None:
    """The orphan was sent a signal that it cannot refuse; its new parent buries it."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    readable, _, _ = select.select([watch], [], [], SAFE_SECONDS)
    os.close(watch)
    assert readable


def test_a_command_that_will_not_stop_is_killed() -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(os.getpid())\nwhile True: signal.pause()"
    answer = program(code).answer(QUESTION)
    piece = next(answer)
    assert isinstance(piece, TextDelta)
    close(answer)
    assert not is_alive(int(piece.text))


@pytest.mark.parametrize("code", ["print('fine')", "sys.exit(1)", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_no_pipe_is_left_open(code: str) -> None:
    before = open_files()
    answer = program(code).answer(QUESTION)
    with suppress(AgentError):
        list(answer)
    assert open_files() == before


def test_a_person_who_presses_ctrl_c_reaches_us_and_not_the_command() -> None:
    answer = program("say(os.getpgid(0)); signal.pause()").answer(QUESTION)
    piece = next(answer)
    assert isinstance(piece, TextDelta)
    assert int(piece.text) != os.getpgid(0)
    close(answer)


def test_nothing_is_started_before_the_first_piece_is_wanted(tmp_path: Path) -> None:
    program(f"open({str(tmp_path / 'started')!r}, 'w')").answer(QUESTION)
    assert not (tmp_path / "started").exists()
    assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
