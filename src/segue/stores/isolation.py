"""The one net under every session: what nobody foresaw while one is read is its own damage, and costs no other.

It hangs where stores are opened for people and programs. Stores that are made by hand, as tests do, let through what
they raise.
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

_PLAIN = ("delete", "get_blob", "load", "open", "overview", "owner", "recover", "revision", "tail")
"""The methods that do something with one session, and raise where they cannot."""


def isolate_sessions(store: S) -> S:
    """The same store, with the net."""
    net = _Net(store.path_of)
    for name in _PLAIN:
        setattr(store, name, net.under(getattr(store, name)))
    for name, hang in (("read", net.under_events), ("examine", net.under_examination), ("head", net.under_head)):
        setattr(store, name, hang(getattr(store, name)))
    store.heads = net.under_heads(store)  # type: ignore[method-assign]
    return store


class _Net:
    def __init__(self, path_of: Callable[[str], str]) -> None:
        self._path_of = path_of

    def damage(self, session_id: str, error: Exception) -> Damage:
        return unforeseen(error, self._path_of(session_id))

    def under(self, method: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
        @wraps(method)
        def call(session_id: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(session_id, *args, **kwargs)
            except SegueError:
                raise
            except Exception as error:
                raise DamagedError(session_id, [self.damage(session_id, error)]) from error

        return call

    def under_events(
        self, method: Callable[Concatenate[str, P], Iterator[Event]]
    ) -> Callable[Concatenate[str, P], Iterator[Event]]:
        @wraps(method)
        def call(session_id: str, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Event]:
            return read_on(session_id, self.under(method)(session_id, *args, **kwargs))

        def read_on(session_id: str, events: Iterator[Event]) -> Iterator[Event]:
            try:
                yield from events
            except SegueError:
                raise
            except Exception as error:
                raise DamagedError(session_id, [self.damage(session_id, error)]) from error

        return call

    def under_examination(self, method: Callable[[str], Examination]) -> Callable[[str], Examination]:
        @wraps(method)
        def call(session_id: str) -> Examination:
            try:
                return method(session_id)
            except SegueError:
                raise
            except Exception as error:  # noqa: BLE001 - that is what the net is for
                return Examination(session=None, damages=(self.damage(session_id, error),))

        return call

    def under_head(self, method: Callable[[str], Head]) -> Callable[[str], Head]:
        @wraps(method)
        def call(session_id: str) -> Head:
            try:
                return method(session_id)
            except SegueError:
                raise
            except Exception as error:  # noqa: BLE001 - that is what the net is for
                damage = str(self.damage(session_id, error))
                return Head(id=session_id, created_at=EPOCH, updated_at=EPOCH, damage=damage)

        return call

    @staticmethod
    def under_heads(store: Store) -> Callable[[], Iterator[Head]]:
        """At once, as a store does it best; one by one where one of them cannot be listed."""
        method = store.heads

        @wraps(method)
        def call() -> Iterator[Head]:
            try:
                return iter(list(method()))
            except SegueError:
                raise
            except Exception:  # noqa: BLE001 - which one it is, the second way tells
                return one_by_one()

        def one_by_one() -> Iterator[Head]:
            for session_id in store.ids():
                with suppress(NotFoundError):  # deleted while we looked
                    yield store.head(session_id)

        return call
