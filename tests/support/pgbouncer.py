"""PgBouncer in transaction mode in front of a server: each statement may run in another server process."""

from __future__ import annotations

import shutil
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.support.postgres import DATABASE, free_port, start_kept, wait_until
from tests.support.postgres_programs import find_account

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tests.support.postgres import PostgresServer

POOL_SIZE = 3


class PgBouncer:
    """It ends with the server, whose folder has its files; no client may count on the same server process twice."""

    def __init__(self, server: PostgresServer, *, pool_size: int = POOL_SIZE) -> None:
        self.port = free_port()
        self._folder = server.folder / f"pgbouncer-{self.port}"
        self._folder.mkdir()
        find_account().own(self._folder)
        (self._folder / "users").write_text('"postgres" ""\n', encoding="utf-8")
        (self._folder / "settings").write_text(
            "[databases]\n"
            f"* = host={server.folder} port={server.port}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {self._folder / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = {pool_size}\nmax_client_conn = 200\n"
            # The one that waited longest comes next, so that clients change their server process all the time.
            "server_round_robin = 1\n",
            encoding="utf-8",
        )
        program = shutil.which("pgbouncer")
        assert program is not None, "pgbouncer is not installed"
        log = self._folder / "log"
        self._keeper = start_kept(server, [program, str(self._folder / "settings")], log=log)
        wait_until(self._answers, what="pgbouncer", log=log)

    def _answers(self) -> bool:
        assert self._keeper.poll() is None, f"pgbouncer has ended: {(self._folder / 'log').read_text('utf-8')}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def url(self, schema: str | None = None, *, user: str = "postgres", **options: object) -> str:
        values = {name: str(value) for name, value in {"schema": schema, **options}.items() if value is not None}
        return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}" + (f"?{urlencode(values)}" if values else "")

    def dsn(self, *, user: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} user={user} dbname={DATABASE}"

    def close(self) -> None:
        if self._keeper.poll() is None:
            self._keeper.terminate()
            self._keeper.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
