"""Shell completion of all commands, and the sessions that it offers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from segue.console import completion, options, output
from segue.console.recent import recorded_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.shell_completion import CompletionItem

_APPS = {
    "segue": "segue.cli.app:app",
    "aur": "segue.dialects.aurora.cli:app",
    "cortext": "segue.dialects.cortext.cli:app",
    "soleur": "segue.dialects.soleur.cli:app",
}
_RALPHTOOL = "ralphtool"
"""It does not use click, and brings its own scripts."""


@options.verb(
    'eval "$(segue completion bash)"                             in ~/.bashrc',
    'eval "$(segue completion zsh)"                              in ~/.zshrc',
    "segue completion fish > ~/.config/fish/completions/segue.fish",
    "segue completion fish aur > ~/.config/fish/completions/aur.fish",
)
@click.argument("shell", type=click.Choice(list(completion.SHELLS)))
@click.argument("commands", metavar="[COMMAND]...", nargs=-1, type=click.Choice([*_APPS, _RALPHTOOL]))
def command(*, shell: str, commands: tuple[str, ...]) -> None:
    """Print the completion script for a shell.

    It completes commands, options, sessions, branches, tags and agents; zsh and fish show the titles of sessions. It is
    for segue, aur, cortext, soleur and ralphtool, or for the COMMANDs that are named.
    """
    output.text("\n".join(_script(shell, name) for name in commands or (*_APPS, _RALPHTOOL)))


def _script(shell: str, name: str) -> str:
    if name == _RALPHTOOL:
        from segue.dialects.ralph.completion import SCRIPTS

        return SCRIPTS[shell]
    module, _, attribute = _APPS[name].partition(":")
    app: click.Command = getattr(import_module(module), attribute)
    return completion.script(shell, app, name)


def find_sessions(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """The sessions of `segue list`, then the lines of the last list in this terminal."""
    from segue.cli._entries import list_candidates
    from segue.cli._sources import find_sources, parse_filters

    library = ctx.params.get("library")
    if library is None:
        return
    with ctx.scope(cleanup=False):
        sources = find_sources(library)
        entries = list_candidates(sources, parse_filters(sources, {}), incomplete)
    for entry in entries:
        yield completion.session_item(entry.id, entry.title)
    titles = {(entry.source, entry.id): entry.title for entry in entries}
    for number, line in enumerate(recorded_list() or (), 1):
        if (title := titles.get((line.source, line.id))) is not None:
            yield completion.session_item(f"@{number}", title or line.id)
