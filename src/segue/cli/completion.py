from __future__ import annotations

import click

from segue.cli import options
from segue.console import output
from segue.console.exits import Exit

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_SEGUE_COMPLETE"


@options.verb(
    'eval "$(segue completion bash)"                             in ~/.bashrc',
    'eval "$(segue completion zsh)"                              in ~/.zshrc',
    "segue completion fish > ~/.config/fish/completions/segue.fish",
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, ids, branches, tags and agents.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click knows all three
    completer = found(ctx.find_root().command, {}, "segue", _VARIABLE)
    output.text(found.source_template % completer.source_vars())


def answer(app: click.Command, instruction: str) -> int:
    """What a shell asks while somebody types."""
    from click.shell_completion import get_completion_class

    shell, _, wanted = instruction.partition("_")
    found = get_completion_class(shell)
    if found is None or wanted != "complete":
        return Exit.USAGE
    output.text(found(app, {}, "segue", _VARIABLE).complete())
    return Exit.DONE
