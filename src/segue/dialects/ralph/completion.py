"""Shell completion of `ralphtool`: a script for each shell, which asks `ralphtool completion words` for what fits.

All that is offered is a word of ours, or the name of a change or a session. These names contain nothing that a shell
would interpret.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exit_codes import Exit
from segue.dialects.ralph.arguments import COMMANDS, takes_value
from segue.dialects.ralph.cli import current_folder
from segue.dialects.ralph.openspec import find_changes
from segue.dialects.ralph.step_context import StepContext
from segue.errors import SegueError, UsageError
from segue.formats.terminal import one_line
from segue.integrations.registry import launchable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BASH = """\
_ralphtool() {
    local word
    COMPREPLY=()
    while IFS=$'\\t' read -r word _; do
        COMPREPLY+=("$word")
    done < <("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _ralphtool ralphtool
"""
_ZSH = """\
#compdef ralphtool
_ralphtool() {
    local -a found
    local word about
    while IFS=$'\\t' read -r word about; do
        found+=("$word:$about")
    done < <("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then _describe ralphtool found; else _files; fi
}
compdef _ralphtool ralphtool
"""
_FISH = """\
complete -c ralphtool -f -a '(ralphtool completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def run(args: Sequence[str]) -> int:
    """`ralphtool completion SHELL`, or `completion words -- WORD…` for the scripts."""
    if args[:2] == ["words", "--"]:
        output.lines((f"{word}\t{one_line(about)}" if about else word,) for word, about in complete(list(args[2:])))
        return Exit.DONE
    if len(args) != 1 or args[0] not in SCRIPTS:
        raise UsageError("completion takes the name of a shell", hint=f"one of {', '.join(SCRIPTS)}")
    output.write_raw(SCRIPTS[args[0]])
    return Exit.DONE


def complete(words: list[str]) -> list[tuple[str, str]]:
    """What fits for the last of these words, each with its meaning. The others are before it."""
    *before, current = words or [""]
    called = next((name for name in sorted(COMMANDS, key=len, reverse=True) if _begins(before, name)), None)
    if called is None:
        return _fitting(_next_words(before), current)
    spec, given = COMMANDS[called], before[len(called.split()) :]
    if given and takes_value(spec, given[-1]):
        return _fitting(_values(given[-1]), current)
    if "--" in given or (current and not current.startswith("-")):
        return []
    left = [(name, about) for name, about in spec.options.items() if name not in given]
    return _fitting(left, current)


def _begins(words: Sequence[str], name: str) -> bool:
    return list(words[: len(name.split())]) == name.split()


def _next_words(before: list[str]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for name, spec in COMMANDS.items():
        parts = name.split()
        if len(parts) > len(before) and parts[: len(before)] == before:
            is_last = len(parts) == len(before) + 1
            found.setdefault(parts[len(before)], spec.summary if is_last else "")
    return list(found.items())


def _values(option: str) -> list[tuple[str, str]]:
    try:
        match option:
            case "--change":
                return [(name, "") for name in find_changes(_step().current_project)]
            case "--session":
                return [(head.id, head.title) for head in _step().store.heads()]
            case "--with":
                return [(name, "") for name in launchable()]
    except (SegueError, OSError):
        pass  # completion reports no errors
    return []


def _step() -> StepContext:
    return StepContext(environ=os.environ, cwd=current_folder())


def _fitting(found: Iterable[tuple[str, str]], current: str) -> list[tuple[str, str]]:
    return [(word, about) for word, about in found if word.startswith(current)]
