"""What a commit survives: asked of the server, by the statement that is committed.

Settings change while connections are open, per server, database and role; those that are in force for a statement are
known inside it alone. Two things can still lower what they promise. A wait for the standby can be cancelled: then the
server warns, and the driver hears it (`driver`). And it can be ended by an administrator who gives up the standby, of
which nothing is reported: so after a long wait the settings are asked again (`connections`).
"""

from __future__ import annotations

from segue.store import Durability

ACHIEVED = f"""
    CASE WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off'
         THEN {Durability.WRITTEN:d}
         WHEN current_setting('synchronous_commit') <> 'local' AND current_setting('synchronous_standby_names') <> ''
              AND current_setting('max_wal_senders') <> '0'
              -- Else the warning of a cancelled wait is not sent.
              AND current_setting('client_min_messages') NOT IN ('error', 'fatal', 'panic')
         THEN {Durability.REPLICATED:d}
         ELSE {Durability.SYNCED:d} END"""
"""The level of `Durability` that a commit has, as an expression in SQL."""

WAITING_FUNCTION = "SyncRepWaitForLSN"
"""The function of the server that waits for the standby: its warnings are about that, in whatever language."""
