from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.cli.import_ import TOOLS, show
from segue.console import options, output
from segue.console.error_messages import SEGUE_HINTS
from segue.integrations.registry import INTEGRATIONS

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
    help="Seconds between two checks.",
)
@options.library
@options.as_json
def command(*, library: Library, tools: tuple[str, ...], every: float, as_json: bool) -> None:
    """Import sessions as AI tools write them, until Ctrl-C.

    Without TOOL, sessions of all tools are imported. Sessions that a tool deletes later stay in the store. With --json
    one line per session.
    """
    from segue.console.paths import machine_trust
    from segue.transfer.import_position import ImportPositions
    from segue.transfer.import_sessions import FailedImport, ImportWatch
    from segue.user_folders import cache_folder

    integrations = [INTEGRATIONS[name] for name in dict.fromkeys(tools or TOOLS)]
    watch = ImportWatch(
        integrations,
        library.store,
        home=Path.home(),
        environ=os.environ,
        trust=machine_trust(),
        positions=ImportPositions(cache_folder()),
    )
    output.note(f"importing into {library.store.url}; press Ctrl-C to stop")
    reported: set[str] = set()
    was_lost = False
    while True:
        is_lost = False
        for found in watch.poll():
            if isinstance(found, FailedImport) and found.is_store_lost:
                is_lost = True
                if not was_lost:
                    output.warn(f"{SEGUE_HINTS.describe(found.error)}; trying again")
                continue
            if isinstance(found, FailedImport):
                key = f"{found.native_id}: {found.error}"
                is_new = key not in reported
                reported.add(key)
            else:
                is_new = bool(found.turns)
            if is_new:
                show(found, as_json=as_json)
        if was_lost and not is_lost:
            output.warn(f"{library.store.url} answers again")
        was_lost = is_lost
        time.sleep(every)
