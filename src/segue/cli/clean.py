from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli import options
from segue.console import output
from segue.console.moments import parse_age

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue clean --older-than 30d --dry-run", "segue clean --older-than 30d")
@click.option("--older-than", metavar="AGE", required=True, help="No activity for so long: 30d, 12h, 2w.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@options.library
@options.as_json
def command(*, library: Library, older_than: str, dry_run: bool, as_json: bool) -> None:
    """Delete sessions that nobody has touched for long.

    Sessions in use and sessions that cannot be read are never touched; they are named with the reason.
    """
    cleaned = library.clean(parse_age(older_than), dry_run=dry_run)
    if as_json:
        from segue.formats.transcript import plain

        output.data(
            {
                "dry_run": dry_run,
                "removed": [plain(head) for head in cleaned.removed],
                "kept": [{"id": head.id, "reason": reason} for head, reason in cleaned.kept],
            }
        )
        return
    word = "would delete" if dry_run else "deleted"
    for head in cleaned.removed:
        output.line(f"{word} {head.id}")
    count = len(cleaned.removed)
    output.line(f"{word} {count} session{'' if count == 1 else 's'} without activity for {older_than.strip()}")
    for head, reason in cleaned.kept:
        output.warn(f"kept {head.id}: {reason}")
