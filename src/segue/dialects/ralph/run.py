"""`ralphtool run`: runs the orchestrator, with or without a terminal."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from segue import process
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.paths import trust_folder
from segue.dialects.ralph.cli import current_folder
from segue.dialects.ralph.runner.orchestrator import Orchestrator, RunOptions, RunResult
from segue.dialects.ralph.runner.sandbox import KernelSandbox, NoSandbox
from segue.dialects.ralph.runner.workers import find_worker
from segue.errors import UsageError
from segue.library import open as open_library
from segue.trust import Trust

if TYPE_CHECKING:
    from segue.git import Repository
    from segue.library import Library

_BY_SIGNAL = 128


def run(options: dict[str, str]) -> int:
    run_options = RunOptions(
        change=options["--change"],
        verify=options.get("--verify", ""),
        max_retries=_number(options, "--max-retries", 3),
        max_stories=_number(options, "--max-stories", 0) or None,
        takeover="--takeover" in options,
    )
    cwd = current_folder()
    with process.noted_signals() as signals, open_library(options.get("--store") or None) as library:
        orchestrator = Orchestrator(
            run_options,
            environ=os.environ,
            cwd=cwd,
            library=library,
            worker=find_worker(options.get("--with", ""), os.environ, cwd),
            command=_own_command(),
            should_stop=lambda: bool(signals),
            repository=_repository(cwd) if "--commit" in options else None,
            trust=Trust(trust_folder()),
            confine=lambda project: _sandbox(project, library) if "--sandbox" in options else NoSandbox(),
        )
        if "--dry-run" in options:
            return _show_plan(orchestrator)
        from segue.dialects.ralph.run_display import show_run

        with show_run(orchestrator.stories) as show:
            result = orchestrator.run(show)
    return _report(result, run_options.change, signals)


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


def _own_command() -> str:
    """How an agent calls `ralphtool`: by name if it is on the PATH, else with this interpreter."""
    found = process.which("ralphtool", os.environ)
    if found is not None:
        return "ralphtool"
    return f"{shlex.quote(sys.executable)} -m segue.dialects.ralph"


def _sandbox(project: str, library: Library) -> KernelSandbox:
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.permissions import ProtectedPaths

    own = tuple(str(path("segue")) for path in (user_state_path, user_config_path, user_cache_path))
    home = os.environ.get("HOME") or "/"
    protected = ProtectedPaths(secret=own).with_store(library.store.url, "", root=project)
    return KernelSandbox(project, home=home, environ=os.environ, protected=protected)


def _repository(cwd: str) -> Repository:
    from segue.git import find_repository

    found = find_repository(cwd, environ=os.environ, trusted=True)  # an agent runs here anyway
    if found is None:
        raise UsageError(f"{cwd} is not in a git repository", hint="run git init, or omit --commit")
    return found


def _number(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 9 or (name == "--max-stories" and not int(text)):  # noqa: PLR2004 - more than anyone needs
        raise UsageError(f"{name} needs a number, not {text!r:.40}", hint=f"for example {name} 3")
    return int(text)
