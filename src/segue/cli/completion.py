"""Shell completion. Ids, tags and names are untrusted: none reaches the command line unquoted."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from segue.console import options, output
from segue.console.exit_codes import Exit

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem, ShellComplete

_VARIABLE = "_SEGUE_COMPLETE"
_QUOTE = "_SEGUE_QUOTE"
"""The first character of the current word. Scripts of earlier versions do not set it and get plain words only."""
_NOT_PLAIN = re.compile(r"[^\w@%+=:,./-]")

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


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}


@options.verb(
    'eval "$(segue completion bash)"                             in ~/.bashrc',
    'eval "$(segue completion zsh)"                              in ~/.zshrc',
    "segue completion fish > ~/.config/fish/completions/segue.fish",
)
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, ids, branches, tags and agents.
    """
    completer = _SHELLS[shell](ctx.find_root().command, {}, "segue", _VARIABLE)
    output.text(completer.source_template % completer.source_vars())


def answer(app: click.Command, instruction: str) -> int:
    """Answer a completion request of a shell."""
    shell, _, wanted = instruction.partition("_")
    if shell not in _SHELLS or wanted != "complete":
        return Exit.USAGE
    completer = _SHELLS[shell](app, {}, "segue", _VARIABLE)
    found = completer.get_completions(*completer.get_completion_args())
    # The user must see what is inserted, and a line break would start another completion.
    shown = [completer.format_completion(item) for item in found if item.value.isprintable()]
    output.text("\n".join(shown))
    return Exit.DONE


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
