from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.cli.import_ import TOOLS, show
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue watch", "segue watch claude codex", "segue watch --every 30")
@click.argument("tools", metavar="[TOOL]...", type=click.Choice(TOOLS), nargs=-1)
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="How often to look.",
)
@options.library
@options.as_json
def command(*, library: Library, tools: tuple[str, ...], every: float, as_json: bool) -> None:
    """Copy sessions into the store as AI tools write them, until Ctrl-C.

    Of all tools, or of those named. What a tool deletes later stays in the store. With --json a line a session.
    """
    from segue.integrations.histories import HISTORIES
    from segue.transfer.import_sessions import FailedImport, ImportWatch

    histories = [HISTORIES[name] for name in dict.fromkeys(tools or TOOLS)]
    watch = ImportWatch(histories, library.store, home=Path.home(), environ=os.environ)
    output.note(f"copying into {library.store.url}; Ctrl-C ends it")
    told: set[str] = set()
    while True:
        for found in watch.poll():
            if isinstance(found, FailedImport):
                key = f"{found.native_id}: {found.error}"
                is_news = key not in told
                told.add(key)
            else:
                is_news = bool(found.turns)
            if is_news:
                show(found, as_json=as_json)
        time.sleep(every)
