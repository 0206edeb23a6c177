"""Which project a session belongs to: by where its repository comes from, else by its first commit, else by its folder.

So a session finds its project again after a move, in a clone and in a worktree. What `.git` says is read as a file; git
itself is asked only for the first commit of a repository that nobody cloned and whose log has been cut. Whoever unpacks
a stranger's project and begins a session there has asked for nothing else, so git runs and fetches nothing for that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from segue.clock import utc_now
from segue.errors import NotFoundError, SegueError
from segue.git.command import Git
from segue.git.location import RepositoryLocation, find_location, read_text
from segue.model import OverridesChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from segue.model import JsonObject, Overview
    from segue.store import Store

_PATIENCE_SECONDS = 10.0
_MOST_CLONES = 4
"""A clone of a clone of a clone on the same machine is the project of the first one."""
_SECTION = re.compile(r'\s*\[\s*remote\s+"((?:[^"\\]|\\.)*)"\s*\]', re.IGNORECASE)
_URL = re.compile(r'\s*url\s*=\s*"?([^"#;\n]*?)"?\s*(?:[#;].*)?', re.IGNORECASE)
_SHORT_ADDRESS = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_FIRST_COMMIT = re.compile(r"0+ ([0-9a-f]{40,64}) .*\tcommit \(initial\)")


def origin_of(folder: Path, environ: Mapping[str, str]) -> JsonObject:
    """What a session that begins in this folder records of it."""
    place = os.path.realpath(folder)
    return {"cwd": _text(place), "project": project_of(Path(place), environ)}


def project_of(folder: Path, environ: Mapping[str, str]) -> str:
    """`host/owner/name` of a repository with a remote, `git:COMMIT` of one without, else the folder."""
    place = Path(os.path.realpath(folder))
    for candidate in (place, *place.parents):
        if (found := find_location(candidate)) is not None:
            return _repository_name(found, environ, _MOST_CLONES) or _text(str(candidate))
    return _text(str(place))


def address_of(url: str) -> str:
    """Where a remote is, without who asks and how: the same for all ways to write it. Empty for a folder."""
    short = None if "://" in url else _SHORT_ADDRESS.fullmatch(url)
    try:
        parts = None if short else urlsplit(url)
        host, path = (short[1], short[2]) if short else (parts.hostname or "", parts.path) if parts else ("", "")
    except ValueError:
        return ""
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if host and path else ""


# ── What moved ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Relinked(Struct, frozen=True, kw_only=True):
    """A session that follows its folder, or could not."""

    session_id: str
    cwd: str
    """Where it belongs now."""
    error: SegueError | None = None


def relink(
    store: Store, old: str, new: str, project: Callable[[Path], str], *, clock: Callable[[], datetime] = utc_now
) -> Iterator[Relinked]:
    """Let every session that began in a folder, or below it, belong to where that is now; doing it again does nothing.

    The beginning stays as it was recorded: where the session belongs now is one of its settings from here on.
    """
    for session_id in sorted(store.ids()):
        try:
            about = store.overview(session_id)
            cwd = _moved(_place(about, "cwd"), old, new)
            if not cwd:
                continue
            values = {**about.overrides, "cwd": cwd, "project": project(Path(cwd))}
            with store.open(session_id, timeout_seconds=0) as writer:
                mark = os.urandom(8).hex()
                writer.append(OverridesChanged(values=values, timestamp=clock(), id=mark), ids_are_new=True)
        except NotFoundError:
            continue  # deleted meanwhile
        except SegueError as error:
            yield Relinked(session_id=session_id, cwd="", error=error)
        else:
            yield Relinked(session_id=session_id, cwd=cwd)


def _place(about: Overview, name: str) -> str:
    """`cwd` or `project` of a session: as it was relinked last, else as it began."""
    value = about.overrides.get(name, about.extra.get(name))
    return value if isinstance(value, str) else ""


def _moved(cwd: str, old: str, new: str) -> str:
    """Empty for what is neither there nor below, or has arrived: the new folder may be in the old one."""
    if not _is_in(cwd, old) or (_is_in(new, old) and _is_in(cwd, new)):
        return ""
    return os.path.normpath(f"{new}/{cwd.removeprefix(old)}")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


# ── What git left ────────────────────────────────────────────────────────────────────────────────────────────────────


def _repository_name(place: RepositoryLocation, environ: Mapping[str, str], clones: int) -> str:
    url = _remote(place.common)
    if address := address_of(url):
        return address
    if url and clones:
        source = Path(os.path.realpath(place.root / url.removeprefix("file://")))
        above = find_location(source) or _bare_place(source)
        if above is not None and above.common != place.common:
            return _repository_name(above, environ, clones - 1)
    commit = _first_commit(place, environ)
    return f"git:{commit}" if commit else ""


def _bare_place(folder: Path) -> RepositoryLocation | None:
    """What was cloned from may well have no files; whoever says so is the configuration, and it is only read."""
    return (
        RepositoryLocation(folder, folder, folder)
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        else None
    )


def _remote(common: Path) -> str:
    """Of `origin`, else of the first remote there is."""
    found: dict[str, str] = {}
    name = ""
    for line in read_text(common / "config").split("\n"):
        if section := _SECTION.match(line):
            name = section[1]
        elif line.lstrip().startswith("["):
            name = ""
        elif name and (url := _URL.fullmatch(line)):
            found.setdefault(name, url[1])
    return found.get("origin") or next(iter(found.values()), "")


def _first_commit(place: RepositoryLocation, environ: Mapping[str, str]) -> str:
    first = _FIRST_COMMIT.match(read_text(place.common / "logs" / "HEAD").partition("\n")[0])
    if first:
        return first[1]
    git = Git(place=place, environ=environ, timeout_seconds=_PATIENCE_SECONDS)
    try:
        ended = git.run("rev-list", "--max-parents=0", "HEAD")
    except (OSError, ValueError):
        return ""
    return min(ended.output.decode("ascii", "replace").split(), default="") if ended.code == 0 else ""


def _text(path: str) -> str:
    """A path as text that every store takes: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "replace")
