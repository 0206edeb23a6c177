"""Real Postgres servers for tests: each one is ended with the process that started it, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import psycopg

from tests.support import postgres_keeper
from tests.support.postgres_programs import find_account, find_versions, is_reachable, reachable, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

DATABASE = "postgres"
"""The one that every server has from the beginning: to create another takes as long as a test."""
PASSWORD_USERS = "password_users"  # noqa: S105 - a role
"""The members of this role need their password on TCP; all others are trusted, and all are on the socket."""

HBA = f"""\
local all all trust
host  all +{PASSWORD_USERS} 127.0.0.1/32 scram-sha-256
host  all all 127.0.0.1/32 trust
local replication all trust
host  replication all 127.0.0.1/32 trust
"""

SETTINGS = {
    "shared_buffers": "32MB",
    "max_connections": "200",
    "lc_messages": "C",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %a ",
    "wal_retrieve_retry_interval": "100ms",
    "min_wal_size": "32MB",
    "max_wal_size": "128MB",
}

MEMORY, DISK = Path("/dev/shm"), Path("/tmp")
ROOM_BYTES = 2 << 30
PREFIX = "segue-postgres-"
LOCK = "users.lock"
PATIENCE_SECONDS = 60
SECONDS_BETWEEN_LOOKS = 0.02

_KEEPERS: list[subprocess.Popen[bytes]] = []
"""Those that outlive the object that started them, as other processes may use the server."""


class PostgresServer:
    """One server with its data in one folder, on a socket in that folder and on a port of the loopback interface.

    Everything is on as in production, `fsync` too, unless `settings` has it otherwise. The superuser is `postgres`.
    Tests of a module that imports it are left out, and reported, where no server can run.
    """

    def __init__(self, folder: Path, *, major: int | None = None, port: int | None = None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "log"
        versions = find_versions()
        self.programs = versions[next(iter(versions)) if major is None else major]
        self.port = free_port() if port is None else port
        self._keeper: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    @classmethod
    def create(cls, *, major: int | None = None, **settings: object) -> Self:
        """A new server that runs, by default of the newest version, in a folder of its own."""
        server = cls(new_folder(), major=major)
        server.prepare()
        server.init(**settings)
        server.start()
        server.execute(f"CREATE ROLE {PASSWORD_USERS}")
        return server

    # ── Life ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        """Make the folder one that the user who runs the server can use, and take its lock."""
        self.folder.chmod(0o755)
        (self.folder / LOCK).touch()
        find_account().own(self.folder)
        self.programs = reachable(self.programs, self.folder / "programs")
        self.attach()

    def attach(self) -> None:
        """Use the server until this process ends or releases it. OSError if its last user has left it."""
        self._lock = os.open(self.folder / LOCK, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        """End this use. After the last one, the server is stopped and its folder removed."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._keeper is not None:
            _KEEPERS.append(self._keeper)

    def init(self, *arguments: str, **settings: object) -> None:
        """Make a new cluster. Its first files are not synced, which only a power cut now could show."""
        usual = ["-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        run(self.programs / "initdb", [*usual, *arguments])
        (self.data / "pg_hba.conf").write_text(HBA, encoding="utf-8")
        self.write_settings(**{**SETTINGS, **settings})

    def write_settings(self, **settings: object) -> None:
        """Add settings to the configuration of a server that does not run."""
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {_quoted(value)}\n" for name, value in settings.items())

    def start(self) -> None:
        """Start the server and wait until it answers."""
        place = ["-D", self.data, "-k", self.folder, "-p", self.port, "-h", "127.0.0.1"]
        self._keeper = start_kept(self, [self.programs / "postgres", *place], log=self.log, removes=True)
        self._wait_until_ready()

    def stop(self) -> None:
        """Stop it in order."""
        self._signal(signal.SIGINT)
        self._ended()

    def kill_9(self) -> None:
        """Kill the server with all its processes at once, so that nothing is flushed and no client is told."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        children = _children(pid)
        os.kill(pid, signal.SIGKILL)
        for child in children:
            _kill(child)
        self._ended()

    def restart(self) -> None:
        """Start it again, after `stop` first if it runs."""
        if self.is_running:
            self.stop()
        self.start()

    def remove(self) -> None:
        """Kill it if it runs, and delete everything."""
        if self.is_running:
            self.kill_9()
        self.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def is_running(self) -> bool:
        return self._keeper is not None and self._keeper.poll() is None

    @property
    def pid(self) -> int:
        """The first process of the server, the postmaster."""
        return int((self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])

    # ── Use ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def dsn(self, *, user: str = "postgres", database: str = DATABASE, tcp: bool = False) -> str:
        """For libpq and psycopg."""
        return f"host={'127.0.0.1' if tcp else self.folder} port={self.port} user={user} dbname={database}"

    def url(self, schema: str | None = None, *, user: str = "postgres", tcp: bool = False, **options: object) -> str:
        """For a store."""
        values = {"schema": schema, **options}
        given = {name: str(value) for name, value in values.items() if value is not None}
        if tcp:
            return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}" + (f"?{urlencode(given)}" if given else "")
        socket_of = {"host": str(self.folder), "port": str(self.port), "user": user}
        return f"postgresql:///{DATABASE}?{urlencode({**socket_of, **given})}"

    def connect(self, *, user: str = "postgres", database: str = DATABASE) -> psycopg.Connection:
        """A connection of the driver, in autocommit mode."""
        return psycopg.connect(self.dsn(user=user, database=database), autocommit=True, application_name="tests")

    def execute(
        self, statement: str, values: Sequence[object] = (), *, user: str = "postgres", database: str = DATABASE
    ) -> list[tuple[object, ...]]:
        """The rows of one statement on a new connection."""
        with self.connect(user=user, database=database) as connection:
            found = connection.execute(statement, values or None)
            return found.fetchall() if found.description else []

    def configure(self, **settings: object) -> None:
        """Change settings of the running server. Those that need a restart get one; None is back to the default."""
        for name, value in settings.items():
            how = f"SET {name} = {_quoted(value)}" if value is not None else f"RESET {name}"
            self.execute(f"ALTER SYSTEM {how}")
        before = self.execute("SELECT pg_conf_load_time()")
        self.execute("SELECT pg_reload_conf()")
        wait_until(lambda: self.execute("SELECT pg_conf_load_time()") != before)
        if self.execute("SELECT 1 FROM pg_settings WHERE pending_restart"):
            self.restart()

    # ── Inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _wait_until_ready(self) -> None:
        wait_until(self._is_ready, what=f"the server in {self.data}", log=self.log)

    def _is_ready(self) -> bool:
        assert self.is_running, f"the server has ended: {self.log.read_text(encoding='utf-8')}"
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return False
        # The eighth line is the state; a pid of an earlier life is replaced before it is written.
        return len(lines) > 7 and lines[7].strip() in {"ready", "standby"} and self._is_of_keeper(int(lines[0]))

    def _is_of_keeper(self, pid: int) -> bool:
        return self._keeper is not None and pid in _children(self._keeper.pid)

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def _ended(self) -> None:
        if self._keeper is not None:
            self._keeper.wait(PATIENCE_SECONDS)
            self._keeper = None


def new_folder() -> Path:
    """A folder for a server, in memory where there is room: a sync costs nothing there, and no test cuts the power.

    If its programs have to be copied there, it is on disk, since programs may not be run from the other place.
    """
    has_room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    in_memory = has_room and all(map(is_reachable, find_versions().values()))
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=MEMORY if in_memory else DISK))


def start_kept(
    server: PostgresServer, command: Sequence[object], *, log: Path, removes: bool = False
) -> subprocess.Popen[bytes]:
    """Run a program as the user of the server, as long as the server is used; then perhaps remove its folder."""
    account = find_account()
    arguments = [
        *(sys.executable, "-I", postgres_keeper.__file__),
        *(server.folder / LOCK, server.folder if removes else ""),
        *(("-", "-") if account.user is None else (account.user, account.group)),
        *command,
    ]
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(argument) for argument in arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def free_port() -> int:
    """A port of the loopback interface that is free now, and that no outgoing connection is given."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _quoted(value: object) -> str:
    text = {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _children(pid: int) -> list[int]:
    done = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return [int(child) for child, parent in pairs if int(parent) == pid]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until(is_done: Callable[[], bool], *, what: str = "the server", log: Path | None = None) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_done():
        assert time.monotonic() < deadline, f"{what} did not answer: {log.read_text(encoding='utf-8') if log else ''}"
        time.sleep(SECONDS_BETWEEN_LOOKS)
