from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._lookup import find_readable
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import Damage, NotFoundError, SegueError
from segue.store import Examination

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import JsonObject


@options.verb("segue verify", "segue verify qa-2026", "segue verify --json")
@options.optional_session
@options.library
@options.as_json
def command(*, library: Library, id: str | None, as_json: bool) -> int:
    """Check one session or all of them for damage."""
    names = sorted(library.store.ids()) if id is None else []
    found: list[tuple[str, Examination]] = []
    if id is not None:
        read = find_readable(library, id)
        if read.external is not None:  # all of it was read to find it
            found.append((read.id, Examination(session=None, damages=read.damages)))
        else:
            library, names = read.library, [read.id]
    for number, name in enumerate(names, start=1):
        output.progress(f"verifying {number} of {len(names)}: {name}" if len(names) > 1 else "")
        try:
            found.append((name, library.store.examine(name)))
        except NotFoundError:
            if id is not None:
                raise
        except SegueError as error:
            found.append((name, Examination(session=None, damages=(Damage(name, str(error)),))))
    output.progress("")
    damaged = [name for name, examination in found if examination.damages]
    if as_json:
        output.data({"sound": not damaged, "sessions": [_plain(*each) for each in found]})
    else:
        for name, examination in found:
            for damage in examination.damages:
                output.line(f"{name}: {damage}")
            if examination.torn_bytes:
                size = examination.torn_bytes
                output.line(f"{name}: {size} bytes of an incomplete append (not damage)")
        _print_summary(len(found), damaged)
    return Exit.DAMAGED if damaged else Exit.DONE


def _print_summary(count: int, damaged: list[str]) -> None:
    if damaged:
        one = len(damaged) == 1
        output.line(
            ("red", f"{len(damaged)} of {count} session{'' if count == 1 else 's'} {'is' if one else 'are'} damaged")
        )
        output.note(f"to repair it: segue recover {damaged[0]}")
    else:
        output.line(("green", f"{count} session{' is' if count == 1 else 's are'} sound"))


def _plain(name: str, examination: Examination) -> JsonObject:
    return {
        "id": name,
        "sound": not examination.damages,
        "damages": [damage._asdict() for damage in examination.damages],
        "torn_bytes": examination.torn_bytes,
    }
