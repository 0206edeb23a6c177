"""A proxy on loopback in front of a Postgres server: a network that stalls, breaks and loses answers when asked to."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from tests.support.postgres import DATABASE, PATIENCE_SECONDS, free_port

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tests.support.postgres import PostgresServer

CHUNK_BYTES = 65536


class Way(Enum):
    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


BOTH = (Way.TO_SERVER, Way.TO_CLIENT)


class Moment(Enum):
    """When a connection is broken, seen from a request of the client."""

    BEFORE_REQUEST = "nothing of the request reaches the server"
    INSIDE_REQUEST = "half of the request reaches the server"
    BEFORE_ANSWER = "the server has carried out the request, and nothing of its answer reaches the client"
    INSIDE_ANSWER = "half of the answer reaches the client"


class Fault(NamedTuple):
    """What happens to the first request that contains these bytes (or to any request)."""

    moment: Moment
    containing: bytes
    is_cut: bool
    """Whether the connection is reset; otherwise it is silent from then on, in both directions."""
    after: int
    """How many such requests pass before."""


class LoopbackProxy:
    """Forwards every connection to the server, until told otherwise. It does not understand TLS.

    What is held back is not lost: it arrives after `resume`, as the packets of a network that works again.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._changed = threading.Condition()
        self._held: set[Way] = set()
        self._links: list[_Link] = []
        self._fault: Fault | None = None
        self._bytes_left: dict[Way, int] = {}
        self.struck = threading.Event()
        """Set when the fault that was asked for has happened."""
        self._listener: socket.socket | None = None
        self.port = free_port()
        self.accept()

    # ── The network ─────────────────────────────────────────────────────────────────────────────────────────────────

    def hold(self, *ways: Way) -> None:
        """Forward nothing more, by default in neither direction: connections stay open and silent, new ones too."""
        with self._changed:
            self._held.update(ways or BOTH)

    def resume(self) -> None:
        """Forward again, first what was held back."""
        with self._changed:
            self._held.clear()
            for link in self._links:
                link.is_silent = False
            self._changed.notify_all()

    def cut(self) -> None:
        """Reset all connections. New ones are accepted."""
        with self._changed:
            links, self._links = self._links, []
            for link in links:
                link.cut()
            self._changed.notify_all()

    def refuse(self) -> None:
        """Reset all connections, and refuse new ones."""
        if self._listener is not None:
            # A thread that waits in accept() is woken only by this.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()

    def accept(self) -> None:
        """Accept connections again, on the same port."""
        listener = socket.create_server(("127.0.0.1", self.port))
        self._listener = listener
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def strike(self, moment: Moment, *, containing: bytes = b"", after: int = 0, cut: bool = True) -> None:
        """Break the connection of the next request that contains these bytes, once. `struck` is set when it happened.

        With `after`, that many of such requests pass before.
        A statement that is prepared contains its values, and not its text.
        """
        with self._changed:
            self.struck.clear()
            self._fault = Fault(moment, containing, cut, after)

    def cut_after(self, count: int, way: Way) -> None:
        """Reset a connection when this many more bytes went that way, on whatever connection the last of them is."""
        with self._changed:
            self.struck.clear()
            self._bytes_left[way] = count

    def wait_for_strike(self) -> None:
        assert self.struck.wait(PATIENCE_SECONDS), "no request met the fault"

    # ── Use ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def url(self, schema: str | None = None, *, user: str = "postgres", **options: object) -> str:
        values = {name: str(value) for name, value in {"schema": schema, **options}.items() if value is not None}
        return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}" + (f"?{urlencode(values)}" if values else "")

    def dsn(self, *, user: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} user={user} dbname={DATABASE}"

    def close(self) -> None:
        self.refuse()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ── Inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = self._connect()
            except OSError:  # the server does not run
                _close(client, resets=True)
                continue
            link = _Link(client, server)
            with self._changed:
                self._links.append(link)
            for way in BOTH:
                threading.Thread(target=self._pump, args=(link, way), daemon=True).start()

    def _connect(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self._server.folder / f".s.PGSQL.{self._server.port}"))
        except OSError:
            server.close()
            raise
        return server

    def _pump(self, link: _Link, way: Way) -> None:
        source, sink = (link.client, link.server) if way is Way.TO_SERVER else (link.server, link.client)
        try:
            while data := source.recv(CHUNK_BYTES):
                sink.sendall(self._pass(link, way, data))
            with self._changed:
                self._wait(link, way)
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # one side has reset the connection: the other one must see it too
            link.cut()
        finally:
            link.end(way)

    def _pass(self, link: _Link, way: Way, data: bytes) -> bytes:
        """What of the bytes may go on now. OSError if the connection is cut."""
        with self._changed:
            self._wait(link, way)
            if way is Way.TO_SERVER:
                data = self._request(link, data)
            elif link.awaited is not None:
                data = self._answer(link, link.awaited, data)
            left = self._bytes_left.get(way)
            if left is not None:
                if len(data) >= left:
                    del self._bytes_left[way]
                    self._break(link, way, data[:left], is_cut=True)
                else:
                    self._bytes_left[way] = left - len(data)
            self._wait(link, way)
        return data

    def _request(self, link: _Link, data: bytes) -> bytes:
        fault = self._fault
        link.seen = (link.seen + data)[-2 * CHUNK_BYTES :]
        if fault is None or fault.containing not in link.seen:
            return data
        link.seen = b""
        if fault.after:
            self._fault = fault._replace(after=fault.after - 1)
            return data
        self._fault = None
        match fault.moment:
            case Moment.BEFORE_REQUEST:
                return self._break(link, Way.TO_SERVER, b"", is_cut=fault.is_cut) or data
            case Moment.INSIDE_REQUEST:
                rest = self._break(link, Way.TO_SERVER, data[: len(data) // 2], is_cut=fault.is_cut)
                return rest or data[len(data) // 2 :]
            case _:
                link.awaited = fault
                return data

    def _answer(self, link: _Link, fault: Fault, data: bytes) -> bytes:
        """The answer is collected until the server is ready for the next request: then it has committed."""
        link.answer += data
        if not _is_ready(link.answer):
            return b""
        answer, link.answer, link.awaited = link.answer, b"", None
        sent = len(answer) // 2 if fault.moment is Moment.INSIDE_ANSWER else 0
        self._break(link, Way.TO_CLIENT, answer[:sent], is_cut=fault.is_cut)
        return answer[sent:]

    def _break(self, link: _Link, way: Way, last: bytes, *, is_cut: bool) -> bytes:
        """Send the last bytes, and cut the connection or keep it silent. OSError after a cut."""
        if last:
            (link.server if way is Way.TO_SERVER else link.client).sendall(last)
        if is_cut:
            self._links.remove(link)
            # A reset would discard what the other end has not read yet.
            link.cut(resets=not last)
            self.struck.set()
            raise ConnectionResetError
        link.is_silent = True
        self.struck.set()
        return b""

    def _wait(self, link: _Link, way: Way) -> None:
        while (way in self._held or link.is_silent) and not link.is_cut:
            self._changed.wait()
        if link.is_cut:
            raise ConnectionResetError


class _Link:
    """One connection of a client with one to the server."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.seen = b""
        self.awaited: Fault | None = None
        self.answer = b""
        self.is_silent = False
        self.is_cut = False
        self._ended: set[Way] = set()

    def cut(self, *, resets: bool = True) -> None:
        self.is_cut = True
        for side in (self.client, self.server):
            _close(side, resets=resets)

    def end(self, way: Way) -> None:
        """After the last byte of both directions, close both sides."""
        self._ended.add(way)
        if len(self._ended) == len(BOTH):
            for side in (self.client, self.server):
                side.close()


def _close(side: socket.socket, *, resets: bool) -> None:
    """Close it, so that the other end sees a broken connection or an end, and wake the thread that reads it."""
    with contextlib.suppress(OSError):
        if resets:
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        side.shutdown(socket.SHUT_RD if resets else socket.SHUT_RDWR)
    side.close()


def _is_ready(answer: bytes) -> bool:
    """Whether the messages end with ReadyForQuery, outside a transaction."""
    return answer[-6:-1] == b"Z\0\0\0\5" and answer.endswith(b"I")
