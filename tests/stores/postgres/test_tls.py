from __future__ import annotations

import socket
import ssl
import struct
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.stores.postgres.address import parse_address
from segue.stores.postgres.connections import Connections
from segue.stores.postgres.failures import ConnectError
from tests.support.postgres import DATABASE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer

SSL_REQUEST = struct.pack("!II", 8, 80877103)

pytestmark = pytest.mark.needs("openssl")


def make_certificate(folder: Path, name: str) -> Path:
    """A certificate for localhost that signs itself, and its key next to it."""
    certificate = folder / f"{name}.crt"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        *("-out", str(certificate), "-keyout", str(folder / f"{name}.key")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return certificate


class TlsFront:
    """Speaks TLS with the clients of a server that cannot, as load balancers do; others it leaves as they are."""

    def __init__(self, server: PostgresServer, certificate: Path) -> None:
        self.certificate = certificate
        self.encrypted = 0
        self._server = server
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._server.port)) as server:
            if client.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL) == SSL_REQUEST:
                client.recv(8)
                client.sendall(b"S")
                client = self._context.wrap_socket(client, server_side=True)
                self.encrypted += 1
            with client:
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def front(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[TlsFront]:
    front = TlsFront(postgres_server, make_certificate(tmp_path, "server"))
    yield front
    front.close()


def connect(front: TlsFront, host: str, options: str) -> Connections:
    return Connections(parse_address(f"postgresql://postgres@{host}:{front.port}/{DATABASE}?{options}"))


def test_the_certificate_of_the_server_is_verified_as_the_url_asks(front: TlsFront) -> None:
    for count, (host, mode) in enumerate(
        (("localhost", "verify-full"), ("127.0.0.1", "verify-ca"), ("127.0.0.1", "require"), ("127.0.0.1", "prefer")), 1
    ):
        connections = connect(front, host, f"sslmode={mode}&sslrootcert={front.certificate}")
        assert connections.execute("ask", "SELECT 1", retry=True) == [(1,)]
        connections.close()
        assert front.encrypted == count
    connections = connect(front, "localhost", "sslmode=disable")
    assert connections.execute("ask", "SELECT 1", retry=True) == [(1,)]
    connections.close()
    assert front.encrypted == count


def test_a_certificate_of_another_host_or_authority_is_refused(front: TlsFront, tmp_path: Path) -> None:
    for host, options in (
        ("127.0.0.1", f"sslmode=verify-full&sslrootcert={front.certificate}"),
        ("localhost", f"sslmode=verify-full&sslrootcert={make_certificate(tmp_path, 'other')}"),
        ("localhost", f"sslmode=verify-ca&sslrootcert={tmp_path / 'missing.crt'}"),
    ):
        with pytest.raises(ConnectError) as refused:
            connect(front, host, options).execute("ask", "SELECT 1", retry=True)
        assert refused.value.is_permanent
        assert refused.value.hint == "check sslmode and sslrootcert in the URL, and the certificate of the server"
        assert "\n" not in str(refused.value)
