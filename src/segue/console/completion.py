"""Shell completion of all commands. Ids, titles, tags and names are untrusted: none reaches a command line unquoted."""

from __future__ import annotations

import os
import re
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from segue.console import output
from segue.console.exit_codes import Exit
from segue.errors import SegueError
from segue.ids import match_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click
    from click.shell_completion import ShellComplete

    Sessions = Callable[[click.Context, str], Iterable[CompletionItem]]

_QUOTE = "_SEGUE_QUOTE"
"""The first character of the current word. Scripts of earlier versions do not set it and get plain words only."""
_NOT_PLAIN = re.compile(r"[^\w@%+=:,./-]")
_LONGEST_TITLE = 60

_BASH = """\
%(complete_func)s() {
    local response line
    response=$(IFS=$'\\n'; env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        _SEGUE_QUOTE="${COMP_WORDS[COMP_CWORD]:0:1}" %(complete_var)s=bash_complete "$1")
    while IFS= read -r line; do
        case $line in
            dir,*) COMPREPLY=(); compopt -o dirnames ;;
            file,*) COMPREPLY=(); compopt -o default ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done <<< "$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Bash inserts completions unchanged, so they are quoted here in the way the current word is."""

    source_template = _BASH

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        return [item for item in super().get_completions(args, incomplete) if _quoted(item.value) is not None]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{_quoted(item.value)}"


class _Fish(FishComplete):
    """Fish quotes by itself; a completion may contain commas."""

    source_template = FishComplete.source_template.replace('string split "," ', 'string split --max 1 "," ')


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}


def variable(program: str) -> str:
    """The environment variable by which a shell asks a program for completions."""
    return f"_{program.upper()}_COMPLETE"


def script(shell: str, app: click.Command, program: str) -> str:
    """What a shell has to evaluate to complete the arguments of a program."""
    completer = SHELLS[shell](app, {}, program, variable(program))
    return completer.source_template % completer.source_vars()


def answer(app: click.Command, program: str, instruction: str, *, sessions: Sessions | None = None) -> int:
    """Answer a completion request of a shell. `sessions` lists those that a text may mean."""
    shell, _, wanted = instruction.partition("_")
    if shell not in SHELLS or wanted != "complete":
        return Exit.USAGE
    completer = SHELLS[shell](app, {"obj": sessions}, program, variable(program))
    # A warning or progress would end up in the line that the user is typing.
    with redirect_stderr(StringIO()):
        found = completer.get_completions(*completer.get_completion_args())
    # The user must see what is inserted, and a line break would start another completion.
    shown = [completer.format_completion(item) for item in found if item.value.isprintable()]
    output.text("\n".join(shown))
    return Exit.DONE


def session_item(id: str, title: str) -> CompletionItem:
    """A session with its title, which zsh and fish show next to it."""
    shown = "".join(character if character.isprintable() else " " for character in title).strip()
    shown = shown if len(shown) <= _LONGEST_TITLE else f"{shown[: _LONGEST_TITLE - 1]}…"
    return CompletionItem(id, help=shown or None)


def match_items(incomplete: str, items: Iterable[CompletionItem]) -> list[CompletionItem]:
    """Those that begin with the text; or else those with its words in their title."""
    known = list(items)
    begun = [item for item in known if item.value.startswith(incomplete)]
    return begun or match_words(incomplete, known, lambda item: (item.help or "",))


def complete_sessions(
    find: Callable[[], Iterable[CompletionItem]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The `shell_complete` of a parameter whose sessions `find` lists."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
        try:
            return match_items(incomplete, find())
        except SegueError:
            return []  # completion cannot show errors

    return complete


def _quoted(word: str) -> str | None:
    """The word quoted for bash, so that it stays one word and nothing in it is run; None where that is impossible."""
    match os.environ.get(_QUOTE):
        case None:
            return None if _NOT_PLAIN.search(word) else word
        case '"':  # history is expanded within double quotes, and a backslash before it would stay
            return None if "!" in word else re.sub(r'([$`"\\])', r"\\\1", word)
        case "'":
            return None if "'" in word else word
        case _:
            return _NOT_PLAIN.sub(r"\\\g<0>", word)
