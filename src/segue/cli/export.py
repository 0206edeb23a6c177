from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import click

from segue.cli._external import readable, tell_damages
from segue.console import options, output
from segue.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.library import Library, StreamedSession


@options.verb(
    "segue export qa-2026 > login.md",
    "segue export qa-2026 --format json -o login.json",
    "segue export qa-2026 --format jsonl --branch other-idea",
)
@options.session
@click.option(
    "--format",
    "format",
    type=click.Choice(["markdown", "json", "jsonl"]),
    default="markdown",
    show_default=True,
    help="markdown to read; json for everything there is; jsonl for the turns, one a line.",
)
@click.option(
    "-o", "--output", "path", metavar="FILE", type=click.Path(), help="Write a file instead of standard output."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@options.branch
@options.library
@click.option("--json", "as_json", is_flag=True, hidden=True)
def command(
    *, library: Library, id: str, format: str, path: str | None, force: bool, branch: str | None, as_json: bool
) -> None:
    """Write a session to the letter, for other programs and readers.

    ID is one of the store, or else one that an AI tool keeps, as segue list shows it.
    """
    found = readable(library, id)
    tell_damages(found.damages)
    content = _rendered(found.library.stream(found.id), "json" if as_json else format, branch)
    if path in {None, "-"}:
        output.pieces(content, exactly=True)
    else:
        data = (piece.encode("utf-8", "backslashreplace") for piece in content)
        _save(os.fspath(path or ""), data, force=force)
        output.note(f"written to {path}")


def _rendered(session: StreamedSession, format: str, branch: str | None) -> Iterator[str]:
    """Piece by piece: it may be larger than memory."""
    from segue.formats import transcript

    about = session.overview
    name = branch or about.branch
    match format:
        case "json":
            return transcript.iter_json(about, session.unknown, {"own_turns": session.own_turns})
        case "jsonl":
            return transcript.iter_jsonl(session.path(name))
        case _:
            return transcript.iter_markdown(about, session.path(name), name)


def _save(path: str, data: Iterable[bytes], *, force: bool) -> None:
    """All of it under its name, or nothing."""
    from segue.durable.folder import Folder
    from segue.durable.kernel import storage_error

    place, name = os.path.split(path)
    folder = Folder(os.path.realpath(place or "."))
    try:
        if not force:
            folder.create(name, data)
            return
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise UsageError(f"{path} is no regular file, and is not replaced", hint="name another one, or use >")
        folder.replace(name, data)
    except FileExistsError:
        raise ConflictError(f"{path} exists already", hint="--force replaces it") from None
    except OSError as error:
        raise storage_error(error, path, "write") from None
