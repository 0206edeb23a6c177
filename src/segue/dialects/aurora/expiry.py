"""Cleans expired sessions in the background, so that the prompt does not wait for it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.console import output
from segue.errors import NotFoundError, SegueError
from segue.library import open as open_library

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from segue.library_results import Cleaned

WAIT_SECONDS = 5.0
"""How long a command waits for it at its end. The rest is cleaned at the next start."""


class BackgroundExpiry:
    """Cleans while the `with` block runs, and reports at its end what was deleted."""

    def __init__(self, url: str, days: int | None, *, clean: Callable[[str, timedelta], Cleaned] | None = None) -> None:
        self._url = url
        self._days = days
        self._clean_store = clean or clean_store
        self._cleaned: Cleaned | None = None
        self._failure = ""
        # A daemon thread never keeps the process alive, however large the store is. An interrupted deletion leaves
        # nothing that a listing shows.
        self._thread = Thread(target=self._clean, name="expiry", daemon=True)

    def __enter__(self) -> Self:
        if self._days is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._days is None:
            return
        self._thread.join(WAIT_SECONDS)
        if self._failure:
            output.warn(f"expired sessions could not be cleaned: {self._failure}")
        if self._cleaned is not None and self._cleaned.removed:
            count = len(self._cleaned.removed)
            which = "1 session" if count == 1 else f"{count} sessions"
            output.warn(f"deleted {which} without activity for {self._days} days (session_expiry_days)")

    def _clean(self) -> None:
        try:
            self._cleaned = self._clean_store(self._url, timedelta(days=self._days or 0))
        except SegueError as error:
            self._failure = str(error)


def clean_store(url: str, older_than: timedelta) -> Cleaned:
    """Clean with a separate library, because its cache is not shared between threads.

    Sessions go to the trash, because the user did not ask for it; after the same time there they are erased.
    """
    with open_library(url) as library:
        cleaned = library.clean(older_than)
        for entry in library.trashed():
            if entry.deleted_at < utc_now() - older_than:
                with suppress(NotFoundError):
                    library.erase(entry)
        return cleaned
