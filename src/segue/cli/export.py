from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import click

from segue.cli._external import warn_damages
from segue.cli._lookup import find_readable
from segue.console import exit_codes, options, output
from segue.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.library import Library
    from segue.library_results import StreamedSession
    from segue.store import Store


@options.verb(
    "segue export qa-2026 > login.md",
    "segue export qa-2026 --format json -o login.json",
    "segue export qa-2026 --format jsonl --branch other-idea",
    "segue export --all backup/",
)
@options.session_argument("id", metavar="ID|FOLDER", required=False, callback=options.join_words)
@click.option("--all", "everything", is_flag=True, help="Export all sessions of the store, one file each, into FOLDER.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["markdown", "json", "jsonl"]),
    default=None,
    help="markdown (default) for reading, json (default with --all) for everything, jsonl for one turn per line.",
)
@click.option(
    "-o", "--output", "path", metavar="FILE", type=click.Path(), help="Write to FILE instead of standard output."
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@options.branch
@options.library
@click.option("--json", "as_json", is_flag=True, hidden=True)
def command(
    *,
    library: Library,
    id: str | None,
    everything: bool,
    format: str | None,
    path: str | None,
    force: bool,
    branch: str | None,
    as_json: bool,
) -> int:
    """Export sessions as Markdown, JSON or JSON Lines.

    ID is a session of the store or of an AI tool, as shown by segue list. segue import reads the files back.
    """
    if everything:
        from segue.cli._export_all import export_all

        if branch or (id and path):
            raise UsageError("--all takes one folder and no branch")
        return export_all(library, id or path or "segue-export", format or "json", force=force)
    if not id:
        raise UsageError("specify a session or --all", hint="for example: segue export --all backup/")
    found = find_readable(library, id)
    warn_damages(found.damages)
    format = "json" if as_json else format or "markdown"
    session = found.library.stream(found.id)
    content = rendered(session, found.library.store, format, branch)
    if path in {None, "-"}:
        output.write_chunks(content, raw=True)
    else:
        data = (chunk.encode("utf-8", "backslashreplace") for chunk in content)
        _save(os.fspath(path or ""), data, force=force)
        output.note(f"wrote {path}")
    if session.record_count and format != "json":
        count = f"{session.record_count:,} record{'' if session.record_count == 1 else 's'}"
        output.warn(
            f"{count} of a program left out; --format json includes {'it' if session.record_count == 1 else 'them'}"
        )
    return exit_codes.Exit.DONE


def rendered(session: StreamedSession, store: Store, format: str, branch: str | None = None) -> Iterator[str]:
    """The session in chunks, since it may be larger than memory."""
    from segue.formats import transcript
    from segue.model import hide_redacted
    from segue.transfer.convert import iter_blobs

    about = session.overview
    name = branch or about.branch
    match format:
        case "json":
            blobs = iter_blobs(store, about.id)
            rest: dict[str, transcript.Events] = {"own_turns": session.own_turns}
            if session.record_count:
                rest["records"] = session.records
            return transcript.iter_json(about, session.unknown, rest, blobs)
        case "jsonl":
            return transcript.iter_jsonl(hide_redacted(about, session.path(name)))
        case _:
            return transcript.iter_markdown(
                about, hide_redacted(about, session.path(name)), name, records=session.record_count
            )


def _save(path: str, data: Iterable[bytes], *, force: bool) -> None:
    """Write the whole file or nothing."""
    from segue.durable.folder import Folder
    from segue.durable.kernel import storage_error

    parent, name = os.path.split(path)
    folder = Folder(os.path.realpath(parent or "."))
    try:
        if not force:
            folder.create(name, data)
            return
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise UsageError(
                f"{path} is not a regular file and was not overwritten", hint="use another name, or redirect with >"
            )
        folder.replace(name, data)
    except FileExistsError:
        raise ConflictError(f"{path} already exists", hint="use --force to overwrite it") from None
    except OSError as error:
        raise storage_error(error, path, "write") from None
