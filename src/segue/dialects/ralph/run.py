"""`ralphtool run`: runs the orchestrator, with or without a terminal."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue import process
from segue.console import output
from segue.console.durations import parse_time_limit
from segue.console.exit_codes import Exit
from segue.console.paths import trust_folder
from segue.dialects.ralph.cli import current_folder
from segue.dialects.ralph.runner.command import TimeLimit, TimeLimits
from segue.dialects.ralph.runner.orchestrator import Orchestrator
from segue.dialects.ralph.runner.run_options import RunOptions, RunResult
from segue.dialects.ralph.runner.sandbox import KernelSandbox, NoSandbox
from segue.dialects.ralph.runner.verification import infer_verification
from segue.dialects.ralph.runner.workers import CommandWorker, find_worker
from segue.dialects.ralph.step_context import StepContext
from segue.errors import UsageError
from segue.library import open as open_library
from segue.trust import Trust

if TYPE_CHECKING:
    from segue.git import Repository
    from segue.library import Library

_BY_SIGNAL = 128


def run(options: dict[str, str]) -> int:
    _check(options)
    cwd = current_folder()
    command = _own_command()
    run_options = RunOptions(
        change=options["--change"],
        max_retries=_number(options, "--max-retries", 3),
        max_stories=_number(options, "--max-stories", 0) or None,
        limits=TimeLimits(_time_limit(options, "--timeout"), _time_limit(options, "--idle-timeout")),
        resets="--reset" in options,
        takeover="--takeover" in options,
    )
    worker = find_worker(options.get("--with", ""), os.environ, cwd)
    verify, source = _verification(options, cwd, is_free=isinstance(worker, CommandWorker))
    run_options = replace(run_options, verify=verify, verify_source=source)
    with process.noted_signals() as signals, open_library(options.get("--store") or None) as library:
        orchestrator = Orchestrator(
            run_options,
            environ=os.environ,
            cwd=cwd,
            library=library,
            worker=worker,
            command=shlex.join(command),
            should_stop=lambda: bool(signals),
            repository=_repository(cwd) if "--commit" in options else None,
            trust=Trust(trust_folder()),
            confine=lambda project: _sandbox(project, library, command[0]) if "--sandbox" in options else NoSandbox(),
        )
        if "--dry-run" in options:
            return _show_plan(orchestrator)
        from segue.dialects.ralph.run_display import show_run

        with show_run(orchestrator.stories) as show:
            result = orchestrator.run(show)
    return _report(result, run_options.change, signals)


def _check(options: dict[str, str]) -> None:
    """UsageError for options that exclude each other, or need another."""
    if "--verify" in options and "--no-verify" in options:
        raise UsageError("--verify and --no-verify exclude each other", hint="omit one of them")
    if "--reset" in options and "--commit" not in options:
        raise UsageError(
            "--reset needs --commit: the commit of a story is where the next one starts", hint="add --commit"
        )


def _verification(options: dict[str, str], cwd: str, *, is_free: bool) -> tuple[str, str]:
    """The command that verifies a story, and the file that it was inferred from; empty if there is none.

    Tests are code of the project, which may be a clone. So they run by themselves only where the agent runs without
    bounds anyway (`is_free`: it is any command), or in the same sandbox. AI tools ask, or have sandboxes of their own:
    with them the user must agree once to run these tests in this project.
    """
    if "--verify" in options or "--no-verify" in options:
        return options.get("--verify", ""), ""
    project = StepContext(environ={}, cwd=cwd).current_project
    found = infer_verification(project, os.environ)
    if found is None:
        return "", ""
    marks = Trust(trust_folder()).of(f"project:{project}", "")
    if is_free or "--sandbox" in options or marks.has("verify", found.command):
        return found
    if "--dry-run" not in options and output.stdin_is_tty():
        question = f"Verify stories with `{found.command}`, from {found.source}? It runs code of this project."
        if output.confirm(question, yes=False):
            marks.put("verify", found.command)
            return found
    output.warn(
        f"stories are not verified: `{found.command}`, from {found.source}, would run code of this project;"
        f" to run it, use --verify {shlex.quote(found.command)} or --sandbox"
    )
    return "", ""


def _report(result: RunResult, change: str, signals: list[int]) -> int:
    match result:
        case RunResult.COMPLETE:
            output.line(("green", f"change {change} is complete"))
            return Exit.DONE
        case RunResult.ENOUGH:
            output.line(f"stopped after --max-stories; the same command resumes change {change}")
            return Exit.DONE
        case RunResult.FAILED:
            output.error("a story was not completed", "fix the cause; the same command tries again")
            return Exit.DECLINED
        case RunResult.STOPPED:
            output.line("stopped; nothing is lost, and the same command resumes")
    return _BY_SIGNAL + signals[0] if signals else Exit.INTERRUPTED


def _show_plan(orchestrator: Orchestrator) -> int:
    for story in orchestrator.stories():
        mark = "x" if story.complete else " "
        output.line(f"[{mark}] {story.id} {story.title} ({story.done}/{len(story.tasks)})")
    prompt = orchestrator.next_prompt()
    output.text(f"\nThe prompt of the agent:\n\n{prompt}" if prompt else "\nAll stories are complete.")
    return Exit.DONE


def _own_command() -> tuple[str, ...]:
    """How an agent calls `ralphtool`: always with the whole path, since its shell may have another PATH."""
    script = Path(os.path.abspath(sys.argv[0]))  # noqa: PTH100 - links stay: they outlive an upgrade
    if script.name == "ralphtool" and script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (sys.executable, "-P", "-m", "segue.dialects.ralph")  # -P: modules of the project are not imported


def _sandbox(project: str, library: Library, program: str) -> KernelSandbox:
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.permissions import ProtectedPaths

    own = tuple(str(path("segue")) for path in (user_state_path, user_config_path, user_cache_path))
    home = os.environ.get("HOME") or "/"
    protected = ProtectedPaths(secret=own).with_store(library.store.url, "", root=project)
    return KernelSandbox(project, home=home, environ=os.environ, protected=protected, program=program)


def _repository(cwd: str) -> Repository:
    from segue.git import find_repository

    found = find_repository(cwd, environ=os.environ, trusted=True)  # an agent runs here anyway
    if found is None:
        raise UsageError(f"{cwd} is not in a git repository", hint="run git init, or omit --commit")
    return found


def _time_limit(options: dict[str, str], name: str) -> TimeLimit:
    text = options.get(name)
    if text is None:
        return TimeLimit()
    return TimeLimit(parse_time_limit(text, name).total_seconds(), text.strip())


def _number(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 9 or (name == "--max-stories" and not int(text)):  # noqa: PLR2004 - more than anyone needs
        raise UsageError(f"{name} needs a number, not {text!r:.40}", hint=f"for example {name} 3")
    return int(text)
