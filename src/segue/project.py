"""Which project a session belongs to: it is named by its remote, else by its first commit, else by its folder.

So a session finds its project again after a move, in a clone and in a worktree. Git is asked for the remote, with
everything off that an untrusted repository could make it run or fetch: the user who unpacks one and starts a session
there has asked for nothing else. The first commit is read from the log of HEAD; git would walk the whole history for
it, and is asked only where the log was cut.
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
from segue.queries import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from segue.model import JsonObject, Overview
    from segue.store import Store

_TIMEOUT_SECONDS = 10.0
_MOST_CLONES = 4
"""How many clones of clones on the same machine are followed to the first one, which names the project."""
_SHORT_ADDRESS = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_FIRST_COMMIT = re.compile(r"0+ ([0-9a-f]{40,64}) .*\tcommit \(initial\)")


def origin_of(folder: Path, environ: Mapping[str, str]) -> JsonObject:
    """What a session that starts in this folder records about it."""
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
    """Host and path of a remote, without user and protocol: the same for all spellings. Empty for a folder."""
    short = None if "://" in url else _SHORT_ADDRESS.fullmatch(url)
    try:
        parts = None if short else urlsplit(url)
        host, path = (short[1], short[2]) if short else (parts.hostname or "", parts.path) if parts else ("", "")
    except ValueError:
        return ""
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if host and path else ""


# ── Folders that moved ───────────────────────────────────────────────────────────────────────────────────────────────


class Relinked(Struct, frozen=True, kw_only=True):
    """A session that was moved to the new folder, or could not be."""

    session_id: str
    cwd: str
    """The folder it belongs to now."""
    error: SegueError | None = None


def relink(
    store: Store, old: str, new: str, project: Callable[[Path], str], *, clock: Callable[[], datetime] = utc_now
) -> Iterator[Relinked]:
    """Move every session of a folder, or of one below it, to the new place of that folder; a second call does nothing.

    What the session recorded at its start stays: its place is an override from then on.
    """
    for session_id in sorted(_ids_below(store, old)):
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


def _ids_below(store: Store, folder: str) -> Iterable[str]:
    """The sessions of a folder, or all where the store does not know it by itself."""
    if store.queries is None:
        return store.ids()
    return (one.head.id for one in store.queries.list(Filters(folder=folder.rstrip("/"))))


def folder_of(about: Overview) -> str:
    """The folder of a session: as it was relinked last, else as at its start; empty if it is not known."""
    return _place(about, "cwd")


def _place(about: Overview, name: str) -> str:
    """`cwd` or `project` of a session: as it was relinked last, else as at its start."""
    value = about.overrides.get(name, about.extra.get(name))
    return value if isinstance(value, str) else ""


def _moved(cwd: str, old: str, new: str) -> str:
    """The new folder; empty if the session was elsewhere, or has moved already: the new may be inside the old one."""
    if not _is_in(cwd, old) or (_is_in(new, old) and _is_in(cwd, new)):
        return ""
    return os.path.normpath(f"{new}/{cwd.removeprefix(old)}")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


# ── Repositories ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _repository_name(location: RepositoryLocation, environ: Mapping[str, str], clones: int) -> str:
    url = _remote_url(location, environ)
    if address := address_of(url):
        return address
    if url and clones:
        source = Path(os.path.realpath(location.root / url.removeprefix("file://")))
        above = find_location(source) or _bare_location(source)
        if above is not None and above.common != location.common:
            return _repository_name(above, environ, clones - 1)
    commit = _first_commit(location, environ)
    return f"git:{commit}" if commit else ""


def _bare_location(folder: Path) -> RepositoryLocation | None:
    """The bare repository in this folder, which the configuration of a clone named; nothing is run in it."""
    return (
        RepositoryLocation(folder, folder, folder)
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        else None
    )


def _remote_url(location: RepositoryLocation, environ: Mapping[str, str]) -> str:
    """The URL of `origin`, else of the first remote; empty if there is none."""
    config = str(location.common / "config")  # of this repository alone, and without files that it includes
    output = _ask_git(location, environ, "config", "--file", config, "--null", "--get-regexp", r"^remote\..*\.url$")
    urls: dict[str, str] = {}
    for setting in output.split("\0")[:-1]:
        name, _, url = setting.partition("\n")
        urls.setdefault(name, url)
    return urls.get("remote.origin.url") or next(iter(urls.values()), "")


def _first_commit(location: RepositoryLocation, environ: Mapping[str, str]) -> str:
    first = _FIRST_COMMIT.match(read_text(location.common / "logs" / "HEAD").partition("\n")[0])
    if first:
        return first[1]
    return min(_ask_git(location, environ, "rev-list", "--max-parents=0", "HEAD").split(), default="")


def _ask_git(location: RepositoryLocation, environ: Mapping[str, str], *arguments: str) -> str:
    """What git answers; empty where it cannot, or is not installed."""
    try:
        ended = Git(location=location, environ=environ, timeout_seconds=_TIMEOUT_SECONDS).run(*arguments)
    except (OSError, ValueError):
        return ""
    return ended.output.decode("utf-8", "replace") if ended.code == 0 else ""


def _text(path: str) -> str:
    """A path as text that every store accepts: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "replace")
