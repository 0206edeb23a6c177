from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import click

from segue.cli import options
from segue.console import output

if TYPE_CHECKING:
    from segue.chat.company import Company
    from segue.chat.dialect import Dialect
    from segue.library import Library


@options.verb(
    "segue chat",
    "segue chat --agent reviewer",
    "segue chat --agent ollama/qwen3 --preset reviewer",
    "segue chat --preset executor",
    "segue chat --agent 'command:claude -p' --title \"Login bug\"",
    "printf 'Why does login fail?\\n/exit\\n' | segue chat --agent offline",
)
@options.agent
@click.option(
    "--preset", metavar="NAME", default="", type=options.text, help="The prompt of a preset, whoever answers."
)
@options.model
@click.option("--title", metavar="TEXT", default="", type=options.text, help="What it is about.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, type=options.text, help="A tag; can be repeated.")
@click.option("--id", metavar="ID", type=options.text, help="An id of your own instead of a made one.")
@options.yes_to_tools
@options.library
def command(
    *,
    library: Library,
    agent: str,
    preset: str,
    model: str,
    title: str,
    tags: tuple[str, ...],
    id: str | None,
    yes: bool,
) -> int:
    """Hold a conversation in a new session; every turn is saved as it is said.

    /help lists what can be typed, /exit or Ctrl-D leaves, segue resume comes back. Without --agent the preset, the
    configuration or what is found on this machine decides who answers, and else the offline partner does.

    Without a terminal, lines are read as if typed, answers go to standard output and everything else to standard error.
    """
    from segue.chat.consent import AtTerminal, trusting
    from segue.chat.start import begin, hold
    from segue.cli.settings import here, history_path, open_company
    from segue.project import origin_of

    terminal = output.conversation(history_path())
    company = open_company(
        confirm=trusting(terminal),
        tell=terminal.note,
        person=AtTerminal(terminal, yes=yes),
    )
    cast = company.choose(agent, preset=preset, model=model)
    began = origin_of(here(), os.environ)
    conversation = begin(library, company, cast, title=title, tags=tags, id=id, extra=began)
    return hold(library, conversation, company, dialect=dialect(library, company), terminal=terminal, cwd=here())


def dialect(library: Library, company: Company) -> Dialect:
    """As it is configured. Its farewell names the store, where the call did: it is needed to come back."""
    from msgspec.structs import replace

    from segue.chat.dialect import SEGUE
    from segue.chat.workspace import workspace_commands
    from segue.cli.settings import find_conversations

    found = replace(
        SEGUE,
        idle_seconds=company.settings.idle_minutes * 60,
        extra=workspace_commands(lambda: find_conversations(company.tell)),
    )
    context = click.get_current_context()
    if context.get_parameter_source("library") is not click.core.ParameterSource.COMMANDLINE:
        return found
    store = shlex.quote(library.store.url).replace("{", "{{").replace("}", "}}")
    return replace(found, resume=f"{SEGUE.resume} --store {store}")
