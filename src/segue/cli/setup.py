from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import NotFoundError

if TYPE_CHECKING:
    from segue.console.extras import Extra


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    from segue.console.extras import PURPOSES

    return [name for name in PURPOSES if name.startswith(incomplete)]


@options.verb("segue setup", "segue setup anthropic", "segue setup mcp --yes", "segue setup --json")
@click.argument("name", metavar="[NAME]", required=False, type=options.text, shell_complete=_complete)
@options.yes
@options.as_json
def command(*, name: str | None, yes: bool, as_json: bool) -> int:
    """Install optional packages: models, MCP, Postgres, tokenizer.

    NAME is anthropic, openai or google for the SDK of a provider, mcp for the tools of MCP servers, tokenizer for exact
    token counts, postgres for sessions in a Postgres database, or codex to read compressed sessions of Codex. It is
    installed into the environment that Segue runs in. Without NAME, all of them are listed, with the API keys that are
    set, and those with a key are offered.
    """
    from segue.console.extras import find_extras

    extras = find_extras(os.environ)
    if name is not None:
        wanted = [extra for extra in extras if extra.name == name]
        if not wanted:
            raise NotFoundError(
                f"there is no optional part {name!r}", hint=f"there are {', '.join(one.name for one in extras)}"
            )
    else:
        wanted = [extra for extra in extras if extra.key and not extra.version]
        if not as_json:
            _show(extras)
        if not yes and not output.stdin_is_tty():
            wanted = []
    code = Exit.DONE
    for extra in wanted:
        code = max(code, _install(extra, yes=yes, quiet=as_json))
    if as_json:
        output.data([_facts(extra) for extra in find_extras(os.environ) if name in {None, extra.name}])
    return code


def _install(extra: Extra, *, yes: bool, quiet: bool) -> Exit:
    from segue.console.extras import install

    if extra.version:
        output.note(f"{extra.name} is already installed")
        return Exit.DONE
    if not output.confirm(f"Install {', '.join(extra.requirements)} into {sys.prefix}?", yes=yes):
        return Exit.DECLINED
    try:
        install(extra, environ=os.environ, progress=output.progress)
    finally:
        output.progress("")
    if not quiet:
        output.line(f"{extra.name} is installed")
    return Exit.DONE


def _show(extras: list[Extra]) -> None:
    rows = [
        (extra.name, extra.version or "not installed", f"{extra.key} is set" if extra.key else "", extra.purpose)
        for extra in extras
    ]
    output.table(("NAME", "VERSION", "KEY", "FOR"), rows, stretch=3)


def _facts(extra: Extra) -> dict[str, object]:
    return {
        "name": extra.name,
        "version": extra.version or None,
        "key": extra.key or None,
        "purpose": extra.purpose,
        "requires": list(extra.requirements),
    }
