"""A server on the loopback interface that speaks just enough of the protocol of Postgres to refuse a client."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_SSL_REQUESTS = {80877103, 80877104}  # TLS and GSSAPI


class PostgresPretender:
    """It accepts every client, and then answers with an error, or as a server of another version."""

    def __init__(
        self, *, version: str = "18.0", error: tuple[str, str] | None = None, greeting: bytes | None = None
    ) -> None:
        self.connections = 0
        self.statements = 0
        self._version = version
        self._error = error
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                with client, suppress(ConnectionError, struct.error):
                    self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        while True:
            size, code = struct.unpack("!II", client.recv(8, socket.MSG_WAITALL))
            if self._greeting is not None:
                client.sendall(self._greeting)
                return
            if code not in _SSL_REQUESTS:
                break
            client.sendall(b"N")
        client.recv(size - 8, socket.MSG_WAITALL)
        if self._error is not None:
            sqlstate, text = self._error
            fields = (f"{key}{value}\0" for key, value in zip("SVCM", ("FATAL", "FATAL", sqlstate, text), strict=True))
            client.sendall(_message(b"E", "".join(fields).encode() + b"\0"))
            return
        client.sendall(
            _message(b"R", struct.pack("!I", 0))
            + _message(b"S", b"server_version\0" + self._version.encode() + b"\0")
            + _message(b"S", b"client_encoding\0UTF8\0")
            + _message(b"K", struct.pack("!II", 1, 1))
            + _message(b"Z", b"I")
        )
        while kind := client.recv(1):
            (size,) = struct.unpack("!I", client.recv(4, socket.MSG_WAITALL))
            client.recv(size - 4, socket.MSG_WAITALL)
            self.statements += kind != b"X"


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body
