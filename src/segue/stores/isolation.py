"""Isolates sessions from each other: an unexpected error while one is read becomes its damage, and costs no other.

It is added where stores are opened by URL. Stores that are constructed directly, as tests do, let every error through.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from segue.errors import DamagedError, NotFoundError, SegueError, unforeseen
from segue.model import EPOCH, Head
from segue.store import Examination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Concatenate

    from segue.errors import Damage
    from segue.model import Event
    from segue.store import Store

S = TypeVar("S", bound="Store")
P = ParamSpec("P")
R = TypeVar("R")

_METHODS = ("delete", "get_blob", "load", "open", "overview", "owner", "recover", "revision", "tail")
"""The methods that work on one session, and raise if they fail."""


def isolate_sessions(store: S) -> S:
    """The same store, with its methods wrapped."""
    isolation = _Isolation(store.path_of)
    for name in _METHODS:
        setattr(store, name, isolation.method(getattr(store, name)))
    for name, wrap in (("read", isolation.events), ("examine", isolation.examination), ("head", isolation.head)):
        setattr(store, name, wrap(getattr(store, name)))
    store.heads = isolation.heads(store)  # type: ignore[method-assign]
    return store


class _Isolation:
    def __init__(self, path_of: Callable[[str], str]) -> None:
        self._path_of = path_of

    def damage(self, session_id: str, error: Exception) -> Damage:
        return unforeseen(error, self._path_of(session_id))

    def method(self, method: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
        @wraps(method)
        def call(session_id: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(session_id, *args, **kwargs)
            except SegueError:
                raise
            except Exception as error:
                raise DamagedError(session_id, [self.damage(session_id, error)]) from error

        return call

    def events(
        self, method: Callable[Concatenate[str, P], Iterator[Event]]
    ) -> Callable[Concatenate[str, P], Iterator[Event]]:
        @wraps(method)
        def call(session_id: str, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Event]:
            return read_on(session_id, self.method(method)(session_id, *args, **kwargs))

        def read_on(session_id: str, events: Iterator[Event]) -> Iterator[Event]:
            try:
                yield from events
            except SegueError:
                raise
            except Exception as error:
                raise DamagedError(session_id, [self.damage(session_id, error)]) from error

        return call

    def examination(self, method: Callable[[str], Examination]) -> Callable[[str], Examination]:
        @wraps(method)
        def call(session_id: str) -> Examination:
            try:
                return method(session_id)
            except SegueError:
                raise
            except Exception as error:  # noqa: BLE001 - unexpected errors of any kind
                return Examination(session=None, damages=(self.damage(session_id, error),))

        return call

    def head(self, method: Callable[[str], Head]) -> Callable[[str], Head]:
        @wraps(method)
        def call(session_id: str) -> Head:
            try:
                return method(session_id)
            except SegueError:
                raise
            except Exception as error:  # noqa: BLE001 - unexpected errors of any kind
                damage = str(self.damage(session_id, error))
                return Head(id=session_id, created_at=EPOCH, updated_at=EPOCH, damage=damage)

        return call

    @staticmethod
    def heads(store: Store) -> Callable[[], Iterator[Head]]:
        """All at once, which is fastest; one by one if one of them cannot be listed."""
        method = store.heads

        @wraps(method)
        def call() -> Iterator[Head]:
            try:
                return iter(list(method()))
            except SegueError:
                raise
            except Exception:  # noqa: BLE001 - the second way finds out which one it is
                return one_by_one()

        def one_by_one() -> Iterator[Head]:
            for session_id in store.ids():
                with suppress(NotFoundError):  # deleted since it was listed
                    yield store.head(session_id)

        return call
