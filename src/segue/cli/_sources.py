"""The sources of sessions: the stores of this machine and its AI tools, and the index of all of them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec.structs import replace

from segue.console import options, output
from segue.console.durations import parse_since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.index import Index, IndexEntry, Source
    from segue.library import Library
    from segue.queries import Filters

F = TypeVar("F", bound="Callable[..., object]")

_SLOW = 200
"""The number of sessions from which reading takes long enough to show progress."""
STATUSES = ("active", "paused", "completed", "interrupted")
_FILTERS = (
    click.option("--tool", metavar="NAME", type=options.text, help="Only sessions of this AI tool or framework."),
    click.option(
        "--agent",
        metavar="NAME",
        type=options.text,
        shell_complete=options.complete_recorded_agents,
        help="Only sessions with this agent.",
    ),
    click.option(
        "--project", metavar="NAME|FOLDER", type=options.text, help="Only sessions of this project or folder."
    ),
    click.option("--status", type=click.Choice(STATUSES), help="Only sessions with this status."),
    click.option(
        "--tag",
        metavar="TAG",
        type=options.text,
        shell_complete=options.complete_tags,
        help="Only sessions with this tag.",
    ),
    click.option("--since", metavar="TIME", help="Only sessions active since TIME: 7d, 2026-11-01."),
    click.option("--until", metavar="TIME", help="Only sessions not active since TIME."),
)


def filter_options(function: F) -> F:
    """Add the options that filter sessions."""
    for option in reversed(_FILTERS):
        function = option(function)
    return function


def store_filter_options(function: F) -> F:
    """Add the filter options that apply to one store and do not depend on age."""
    for option in reversed(_FILTERS[1:5]):
        function = option(function)
    return function


def find_ids(library: Library, given: dict[str, str | None], until: datetime) -> frozenset[str]:
    """The ids of the sessions of a store that match these options, and were not active since then."""
    from segue.index import StoreSource

    store = library.store
    sources = Sources([StoreSource(store)], {store.url: library}, default=store.url)
    with open_index(sources, with_text=False, every_session=True) as index:
        filters = replace(parse_filters(sources, given), until=until)
        return frozenset(entry.id for entry in index.entries(filters))


def parse_filters(sources: Sources, given: dict[str, str | None]) -> Filters:
    """The filters that these options set, limited to these sources."""
    from segue.queries import Filters

    now = datetime.now(UTC)
    found: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    for name in ("since", "until"):
        if (text := given.get(name)) is not None:
            found[name] = parse_since(text, now)
    if (project := given.get("project")) is not None:
        found |= _project(project)
    return Filters(sources=sources.names, **found)  # type: ignore[arg-type]  # checked by click


def _project(text: str) -> dict[str, object]:
    """An existing folder is a folder, any other text a project; the root of a repository includes all its clones."""
    folder = Path(text).expanduser()
    if not folder.is_dir() and not text.startswith(("/", ".", "~")):
        return {"project": text}
    resolved = Path(os.path.realpath(folder))  # unlike Path.resolve, accepts a link to itself
    if not (resolved / ".git").exists():
        return {"project": None, "folder": str(resolved)}
    from segue.project import project_of

    return {"project": project_of(resolved, os.environ), "folder": str(resolved)}


class Sources:
    """The sources of a call, in the order in which they are shown."""

    def __init__(self, sources: Sequence[Source], libraries: dict[str, Library], *, default: str) -> None:
        self.sources = tuple(sources)
        self.libraries = libraries
        """The libraries of those sources that are stores, by name."""
        self.default = default
        """The store that is used without --store."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self.sources)

    def arguments(self, verb: str, entry: IndexEntry) -> list[str]:
        """The arguments of `segue` that run a verb on a session; a session of an AI tool needs only its id."""
        is_found_by_id = entry.source == self.default or entry.source not in self.libraries
        return [verb, entry.id, *(() if is_found_by_id else ("--store", entry.source))]


def find_sources(library: Library) -> Sources:
    """The store that the user has named, or else the default store, the configured stores and the AI tools."""
    from segue.index import StoreSource

    libraries = {library.store.url: library}
    if is_store_named():
        default = library.store.url if not options.is_store_option_given() else ""
        return Sources([StoreSource(library.store)], libraries, default=default)
    from segue.console.settings import read_stores
    from segue.integrations.registry import integration_sources
    from segue.user_folders import config_path

    for url in read_stores(config_path()):
        found = options.open_library(url)
        click.get_current_context().call_on_close(found.close)
        libraries.setdefault(found.store.url, found)
    stores = [StoreSource(one.store) for one in libraries.values()]
    return Sources([*stores, *integration_sources(Path.home(), os.environ)], libraries, default=library.store.url)


def is_store_named() -> bool:
    """Whether --store or SEGUE_STORE names one store."""
    return options.is_store_option_given() or bool(os.environ.get("SEGUE_STORE"))


def open_index(sources: Sources, *, with_text: bool, every_session: bool = False, quiet: bool = False) -> Index:
    """The index, brought up to date. A source that cannot be read is reported, or raised if it is the only one.

    It has one entry per conversation, or with `every_session` one per session. With `quiet` nothing is printed.
    """
    from segue.console.paths import machine_trust
    from segue.index import Index
    from segue.user_folders import cache_folder

    links = None if every_session else machine_trust().links
    index = Index(cache_folder(), links=links, notify=_be_silent if quiet else _warn_rebuilt)
    try:
        refreshed = index.refresh(sources.sources, with_text=with_text, notify=_be_silent if quiet else _show_progress)
        if refreshed.read >= _SLOW and not quiet:
            output.progress("")
        for name, error in refreshed.failed:
            if len(sources.sources) == 1:
                raise error
            if not quiet:
                output.warn(f"{name} was skipped: {error}")
    except BaseException:
        index.close()
        raise
    return index


def _be_silent(_: object) -> None:
    pass


def _show_progress(count: int) -> None:
    if count >= _SLOW:
        output.progress(f"indexing new sessions: {count:,}")


def _warn_rebuilt(reason: str) -> None:
    output.warn(f"the index was damaged ({reason}) and is being rebuilt from the session files")


def entry_json(entry: IndexEntry) -> dict[str, object]:
    """A session as JSON: the fields of its head, then its source, tool and project."""
    from segue.formats.transcript import iso

    return {
        "id": entry.id,
        "agent": entry.agent,
        "title": entry.title,
        "tags": list(entry.tags),
        "status": entry.status,
        "branch": entry.branch,
        "turn_count": entry.turn_count,
        "git_branch": entry.git_branch,
        "usage": entry.usage.as_json() if entry.usage is not None else None,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
        "damage": entry.damage,
        "store": entry.source,
        "tool": entry.tool,
        "project": entry.project,
        "copies": [{"store": copy.source, "tool": copy.tool, "id": copy.id} for copy in entry.copies],
    }
