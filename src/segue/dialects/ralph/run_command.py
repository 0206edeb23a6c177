"""`ralphtool run`: the orchestrator, at a terminal or without one."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from segue import process
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.paths import trust_folder
from segue.dialects.ralph.cli import here
from segue.dialects.ralph.runner.confined import Confined, Unconfined
from segue.dialects.ralph.runner.orchestrator import Orchestrator, RunOptions, RunResult
from segue.dialects.ralph.runner.workers import find_worker
from segue.errors import UsageError
from segue.library import open as open_library
from segue.trust import Trust

if TYPE_CHECKING:
    from segue.git import Repository
    from segue.library import Library

_BY_SIGNAL = 128


def run(options: dict[str, str]) -> int:
    order = RunOptions(
        change=options["--change"],
        verify=options.get("--verify", ""),
        max_retries=_number(options, "--max-retries", 3),
        max_stories=_number(options, "--max-stories", 0) or None,
        takeover="--takeover" in options,
    )
    cwd = here()
    with process.noted_signals() as signals, open_library(options.get("--store") or None) as library:
        orchestrator = Orchestrator(
            order,
            environ=os.environ,
            cwd=cwd,
            library=library,
            worker=find_worker(options.get("--with", ""), os.environ, cwd),
            command=_own_command(),
            should_stop=lambda: bool(signals),
            repository=_repository(cwd) if "--commit" in options else None,
            trust=Trust(trust_folder()),
            confine=lambda project: _sandbox(project, library) if "--sandbox" in options else Unconfined(),
        )
        if "--dry-run" in options:
            return _show_plan(orchestrator)
        from segue.dialects.ralph.run_display import showing

        with showing(orchestrator.stories) as show:
            how = orchestrator.run(show)
    return _ended(how, order.change, signals)


def _ended(how: RunResult, change: str, signals: list[int]) -> int:
    match how:
        case RunResult.COMPLETE:
            output.line(("green", f"change {change} is complete"))
            return Exit.DONE
        case RunResult.ENOUGH:
            output.line(f"enough for now; the same command goes on with change {change}")
            return Exit.DONE
        case RunResult.FAILED:
            output.error("a story was not done", "look into it; the same command tries it again")
            return Exit.DECLINED
        case RunResult.STOPPED:
            output.line("stopped; nothing is lost, and the same command goes on")
    return _BY_SIGNAL + signals[0] if signals else Exit.INTERRUPTED


def _show_plan(orchestrator: Orchestrator) -> int:
    for story in orchestrator.stories():
        mark = "x" if story.complete else " "
        output.line(f"[{mark}] {story.id} {story.title} ({story.done}/{len(story.tasks)})")
    prompt = orchestrator.next_prompt()
    output.text(f"\nThe agent would be told:\n\n{prompt}" if prompt else "\nAll is done.")
    return Exit.DONE


def _own_command() -> str:
    """How an agent calls us: by name where that leads here, else by this interpreter."""
    found = process.which("ralphtool", os.environ)
    if found is not None:
        return "ralphtool"
    return f"{shlex.quote(sys.executable)} -m segue.dialects.ralph"


def _sandbox(project: str, library: Library) -> Confined:
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.permissions import ProtectedPaths

    own = tuple(str(path("segue")) for path in (user_state_path, user_config_path, user_cache_path))
    home = os.environ.get("HOME") or "/"
    protected = ProtectedPaths(secret=own).with_store(library.store.url, "", root=project)
    return Confined(project, home=home, environ=os.environ, protected=protected)


def _repository(cwd: str) -> Repository:
    from segue.git import find_repository

    found = find_repository(cwd, environ=os.environ, trusted=True)  # an agent runs here anyway
    if found is None:
        raise UsageError(f"{cwd} is in no git repository", hint="git init makes one; or leave out --commit")
    return found


def _number(options: dict[str, str], name: str, usual: int) -> int:
    said = options.get(name)
    if said is None:
        return usual
    if not said.isdecimal() or len(said) > 9 or (name == "--max-stories" and not int(said)):  # noqa: PLR2004 - more than anyone needs
        raise UsageError(f"{name} needs a number, not {said!r:.40}", hint=f"as in {name} 3")
    return int(said)
