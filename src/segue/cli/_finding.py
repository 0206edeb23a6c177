"""Where sessions are looked for: the stores of this machine and its AI tools, and the index over all of them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.console import options, output
from segue.console.durations import parse_since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.index import Filters, Index, IndexEntry, Source
    from segue.library import Library

F = TypeVar("F", bound="Callable[..., object]")

_MANY = 200
"""Sessions whose reading takes so long that one would like to know."""
STATUSES = ("active", "paused", "completed", "interrupted")
_FILTERS = (
    click.option("--tool", metavar="NAME", type=options.text, help="Of one AI tool, as claude."),
    click.option(
        "--agent", metavar="NAME", type=options.text, shell_complete=options.complete_agents, help="Of one agent."
    ),
    click.option("--project", metavar="NAME|FOLDER", type=options.text, help="Of a project, or begun below a folder."),
    click.option("--status", type=click.Choice(STATUSES), help="With this status."),
    click.option(
        "--tag", metavar="TAG", type=options.text, shell_complete=options.complete_tags, help="With this tag."
    ),
    click.option("--since", metavar="TIME", help="Active since: 7d, 2026-11-01 or an ISO time."),
    click.option("--until", metavar="TIME", help="Not active since."),
)


def filters(function: F) -> F:
    """The options that say which sessions are meant."""
    for option in reversed(_FILTERS):
        function = option(function)
    return function


def choices(function: F) -> F:
    """Those of them that choose among the sessions of one store, whatever their age."""
    for option in reversed(_FILTERS[1:5]):
        function = option(function)
    return function


def ids_in(library: Library, given: dict[str, str | None]) -> frozenset[str]:
    """The sessions of a store that these options choose."""
    from segue.index import StoreSource

    store = library.store
    places = Sources([StoreSource(store)], {store.url: library}, usual=store.url)
    with open_index(places, words=False) as catalog:
        return frozenset(entry.id for entry in catalog.entries(wanted(places, given)))


def wanted(places: Sources, given: dict[str, str | None]) -> Filters:
    """What these options say, of these places."""
    from segue.index import Filters

    now = datetime.now(UTC)
    found: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    for name in ("since", "until"):
        if (text := given.get(name)) is not None:
            found[name] = parse_since(text, now)
    if (project := given.get("project")) is not None:
        found |= _project(project)
    return Filters(sources=places.names, **found)  # type: ignore[arg-type]  # as click has checked


def _project(text: str) -> dict[str, object]:
    """A folder is meant where there is one of this name; the root of a repository means all clones of it."""
    folder = Path(text).expanduser()
    if not folder.is_dir() and not text.startswith(("/", ".", "~")):
        return {"project": text}
    place = Path(os.path.realpath(folder))  # which a link to itself does not stop
    if not (place / ".git").exists():
        return {"project": None, "folder": str(place)}
    from segue.project import project_of

    return {"project": project_of(place, os.environ), "folder": str(place)}


class Sources:
    """The sources of a call, in the order in which they are shown."""

    def __init__(self, sources: Sequence[Source], libraries: dict[str, Library], *, usual: str) -> None:
        self.sources = tuple(sources)
        self.libraries = libraries
        """The stores among them, by their names."""
        self.usual = usual
        """The one that a call finds without --store."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self.sources)

    def words(self, verb: str, entry: IndexEntry) -> list[str]:
        """What one types, behind `segue`, to do something with a session; one that a tool keeps is found by its id."""
        is_near = entry.source == self.usual or entry.source not in self.libraries
        return [verb, entry.id, *(() if is_near else ("--store", entry.source))]


def find_sources(library: Library) -> Sources:
    """The store that the call names; or else the usual one, those of the configuration, and the tools found here."""
    from segue.index import StoreSource

    libraries = {library.store.url: library}
    if is_named():
        usual = library.store.url if not _is_said() else ""
        return Sources([StoreSource(library.store)], libraries, usual=usual)
    from segue.console.settings import config_path, read_stores
    from segue.integrations.histories import integration_sources

    for url in read_stores(config_path()):
        found = options.open_library(url)
        libraries.setdefault(found.store.url, found)
    stores = [StoreSource(one.store) for one in libraries.values()]
    return Sources([*stores, *integration_sources(Path.home(), os.environ)], libraries, usual=library.store.url)


def is_named() -> bool:
    """Whether the call, or the environment for all calls, names one store."""
    return _is_said() or bool(os.environ.get("SEGUE_STORE"))


def _is_said() -> bool:
    return click.get_current_context().get_parameter_source("library") is click.core.ParameterSource.COMMANDLINE


def open_index(places: Sources, *, words: bool) -> Index:
    """The index, brought up to date; sources that cannot be looked at are named, unless there is no other."""
    from segue.index import Index
    from segue.user_folders import cache_folder

    catalog = Index(cache_folder(), notify=_tell_rebuilt)
    try:
        refreshed = catalog.refresh(places.sources, words=words, notify=_notify)
        if refreshed.read >= _MANY:
            output.progress("")
        for name, error in refreshed.failed:
            if len(places.sources) == 1:
                raise error
            output.warn(f"{name} is left out: {error}")
    except BaseException:
        catalog.close()
        raise
    return catalog


def _notify(count: int) -> None:
    if count >= _MANY:
        output.progress(f"reading what is new: {count:,} sessions")


def _tell_rebuilt(reason: str) -> None:
    output.warn(f"the index was damaged ({reason}) and is made anew from the files")


def plain_entry(entry: IndexEntry) -> dict[str, object]:
    """As JSON: what a store says of a session, then where it is and what it belongs to."""
    from segue.formats.transcript import iso

    return {
        "id": entry.id,
        "agent": entry.agent,
        "title": entry.title,
        "tags": list(entry.tags),
        "status": entry.status,
        "branch": entry.branch,
        "turn_count": entry.turn_count,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
        "damage": entry.damage,
        "store": entry.source,
        "tool": entry.tool,
        "project": entry.project,
    }
