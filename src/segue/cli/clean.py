from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.cli._sources import find_ids, store_filter_options
from segue.cli.trash import TRASH_DAYS, count, erase, expired, line_of, show, size
from segue.console import options, output
from segue.console.durations import parse_age
from segue.console.exit_codes import Exit
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.library import Library
    from segue.library_results import Cleaned
    from segue.store import Trashed


@options.verb(
    "segue clean --older-than 30d --dry-run",
    "segue clean --older-than 6mo",
    "segue clean --older-than 2w --agent qa --status completed --yes",
)
@click.option(
    "--older-than", metavar="AGE", default="", help="Minimum age since the last activity: 12h, 30d, 2w, 6mo, 1y."
)
@store_filter_options
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@options.yes
@options.library
@options.as_json
def command(
    *, library: Library, older_than: str, dry_run: bool, yes: bool, as_json: bool, **given: str | None
) -> int | None:
    """Move old sessions to the trash and delete expired ones.

    The sessions are listed first, and you are asked to confirm. Sessions that are in use, pinned (segue tag ID pinned)
    or unreadable are not deleted; each is listed with the reason. Sessions that have been in the trash for 30 days are
    deleted for good; without --older-than nothing else is deleted.
    """
    found, old = _find(library, older_than.strip(), given), expired(library)
    if not dry_run:
        if (found.removed or old) and not _is_confirmed(found, old, library, yes=yes):
            output.warn("nothing was deleted")
            return Exit.DECLINED
        if found.removed:
            shown = frozenset(head.id for head in found.removed)
            found = library.clean(parse_age(older_than), only=shown)
        erase(library, old)
        library.store.sweep()
    _report(found, old, library, older_than, as_json=as_json, dry_run=dry_run)
    return None


def _find(library: Library, older_than: str, given: dict[str, str | None]) -> Cleaned:
    from segue.library_results import Cleaned

    is_filtered = any(value is not None for value in given.values())
    if not older_than:
        if is_filtered:
            raise UsageError("filters need --older-than", hint="add an age, e.g. --older-than 30d")
        return Cleaned(removed=(), kept=())
    age = parse_age(older_than)
    only = find_ids(library, given, datetime.now(UTC) - age) if is_filtered else None
    return library.clean(age, only=only, dry_run=True)


def _is_confirmed(found: Cleaned, old: Sequence[Trashed], library: Library, *, yes: bool) -> bool:
    if not yes and output.stdin_is_tty():
        _preview(found, old, library)
    return output.confirm(_question(found, old, library), yes=yes)


def _preview(found: Cleaned, old: Sequence[Trashed], library: Library) -> None:
    where = "moved to the trash" if library.store.trash is not None else "deleted for good (this store has no trash)"
    show(f"{count(found.removed)} would be {where}:", found.removed)
    show(f"{count(old)} in the trash would be deleted for good ({size(old)}):", [entry.head for entry in old])
    for head, reason in found.kept:
        output.warn(f"kept {head.id}: {reason}")


def _question(found: Cleaned, old: Sequence[Trashed], library: Library) -> str:
    if not old:
        has_trash = library.store.trash is not None
        how = "Move {} to the trash?" if has_trash else "This store has no trash. Delete {} for good?"
        return how.format(count(found.removed))
    moved = f"Move {count(found.removed)} to the trash, and delete" if found.removed else "Delete"
    return f"{moved} {count(old)} in the trash for good?"


def _report(
    found: Cleaned, old: Sequence[Trashed], library: Library, older_than: str, *, as_json: bool, dry_run: bool
) -> None:
    has_trash = library.store.trash is not None
    if as_json:
        from segue.formats.transcript import to_json_object

        output.data(
            {
                "dry_run": dry_run,
                "removed": [to_json_object(head) for head in found.removed],
                "trash": has_trash,
                "erased": [entry.key for entry in old],
                "kept": [{"id": head.id, "reason": reason} for head, reason in found.kept],
            }
        )
        return
    word = "would delete" if dry_run else "deleted"
    for head in found.removed:
        output.line(f"{word} {line_of(head) if dry_run else head.id}")
    if older_than:
        output.line(f"{word} {count(found.removed)} without activity for {older_than.strip()}")
    if old or not older_than:
        output.line(
            f"{word} {count(old)} for good that had been in the trash for {TRASH_DAYS} days or more ({size(old)})"
        )
    for head, reason in found.kept:
        output.warn(f"kept {head.id}: {reason}")
    if found.removed and has_trash and not dry_run:
        output.note("to restore one: segue trash restore ID")
