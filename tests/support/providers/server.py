"""A real HTTP server on 127.0.0.1 that says exactly the bytes of its script, and breaks off where it says so."""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

SAFE_SECONDS = 30
"""A client or a server that waits for something that never comes is a failure, not a hang."""

Ending = Literal["close", "cut", "half-close", "hold", "silence"]


@dataclass(frozen=True)
class Reply:
    """What one connection gets: a head, pieces of a body, and the way it ends."""

    body: tuple[bytes, ...] = ()
    status: str = "200 OK"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/event-stream"),)
    ending: Ending = "close"
    """`cut` resets the connection, `half-close` ends the sending side without the end of the body and keeps reading,
    `hold` says nothing more until the client leaves, and `silence` does not even send the head."""
    chunked: bool = True
    """Without it the body ends with the connection, so that a lost end cannot be told from a real one by HTTP alone."""


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, object]


@dataclass
class Server:
    """Answers one connection after the other, each with the next reply of the script."""

    script: list[Reply]
    asked: list[ReceivedRequest] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client has closed a connection that was held."""
    may_cut: threading.Event = field(default_factory=threading.Event)
    """A reset also takes away what the client has not read yet: it waits for this."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        accepting = threading.Thread(target=self._accept)
        accepting.start()
        self._threads.append(accepting)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A thread in accept() does not notice that its socket is closed; one last connection wakes it.
        replies, self.script = self.script, []
        with socket.create_connection(("127.0.0.1", self.port)):
            pass
        for thread in self._threads:
            thread.join(SAFE_SECONDS)
            assert not thread.is_alive(), f"the server waits for a client that never leaves; still to say: {replies}"
        self._listener.close()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if not self.script:
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection, self.script.pop(0)))
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket, reply: Reply) -> None:
        with connection:
            connection.settimeout(SAFE_SECONDS)
            request = _read_request(connection)
            if request is None:
                return
            self.asked.append(request)
            if reply.ending == "silence":
                self._wait_for_leaving(connection)
                return
            connection.sendall(_head(reply))
            for piece in reply.body:
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if reply.chunked else piece)
            match reply.ending:
                case "close" if reply.chunked:
                    connection.sendall(b"0\r\n\r\n")
                case "cut":
                    assert self.may_cut.wait(SAFE_SECONDS)
                    # Closing with this option sends a reset instead of an end.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                case "half-close":
                    connection.shutdown(socket.SHUT_WR)
                    self._wait_for_leaving(connection)
                case "hold":
                    self._wait_for_leaving(connection)
                case _:
                    pass

    def _wait_for_leaving(self, connection: socket.socket) -> None:
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass
        self.left.set()


def _head(reply: Reply) -> bytes:
    framing = [("Transfer-Encoding", "chunked")] if reply.chunked else []
    lines = [f"{name}: {value}" for name, value in (*reply.headers, *framing, ("Connection", "close"))]
    return "\r\n".join([f"HTTP/1.1 {reply.status}", *lines, "", ""]).encode()


def _read_request(connection: socket.socket) -> ReceivedRequest | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    method, path, _ = first.split(" ")
    return ReceivedRequest(method, path, headers, json.loads(body) if body else {})
