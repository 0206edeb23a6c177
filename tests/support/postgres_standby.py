"""A primary and a synchronous standby, both real: what is acknowledged is on two servers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.support.postgres import DATABASE, PostgresServer, new_folder, wait_until
from tests.support.postgres_programs import run

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

STANDBY = "standby"


class StandbyPair:
    """`primary` commits only what `standby` has synced as well."""

    def __init__(self, *, major: int | None = None) -> None:
        self.primary = PostgresServer.create(major=major)
        self.standby = PostgresServer(new_folder(), major=major)
        self.standby.prepare()
        self.primary.execute("SELECT pg_create_physical_replication_slot(%s, true)", [STANDBY])
        source = f"{self.primary.dsn()} application_name={STANDBY}"
        run(
            self.standby.programs / "pg_basebackup",
            ["-D", self.standby.data, "-d", source, "-S", STANDBY, "-R", "-X", "stream", "-c", "fast", "--no-sync"],
        )
        # It syncs every file of the copy when it starts for the first time, which takes seconds.
        self.standby.write_settings(fsync=False)
        self.standby.start()
        self.standby.configure(fsync=True)
        self.primary.configure(synchronous_standby_names=STANDBY)
        wait_until(lambda: self.sync_state == "sync", what="the standby")

    @property
    def sync_state(self) -> str:
        """What the primary says of the standby; empty while it is not connected."""
        found = self.primary.execute(
            "SELECT sync_state FROM pg_stat_replication WHERE application_name = %s", [STANDBY]
        )
        return str(found[0][0]) if found else ""

    @property
    def waiting(self) -> int:
        """How many commits of the primary wait for the standby."""
        found = self.primary.execute("SELECT count(*)::int FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        return int(str(found[0][0]))

    def destroy_primary(self) -> None:
        """Kill it, and delete all that it stored."""
        self.primary.kill_9()
        shutil.rmtree(self.primary.data)

    def promote(self) -> None:
        """Make the standby the primary; it waits for no other standby."""
        self.standby.execute("SELECT pg_promote(true, 60)")

    def url(self, schema: str | None = None, *, user: str = "postgres", **options: object) -> str:
        """For clients that follow to whichever of the two can be written."""
        servers = (self.primary, self.standby)
        values = {
            "host": ",".join(str(server.folder) for server in servers),
            "port": ",".join(str(server.port) for server in servers),
            "target_session_attrs": "read-write",
            "user": user,
            "schema": schema,
            **options,
        }
        given = {name: str(value) for name, value in values.items() if value is not None}
        return f"postgresql:///{DATABASE}?{urlencode(given)}"

    def remove(self) -> None:
        for server in (self.standby, self.primary):
            server.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
