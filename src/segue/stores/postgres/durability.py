"""What a commit survives, by what the server says of itself."""

from __future__ import annotations

from segue.store import Durability


def durability_of(synchronous_commit: str, standby_names: str, fsync: str) -> Durability:
    """From the settings that were in force for the commit: see `statements`."""
    if fsync == "off" or synchronous_commit == "off":
        return Durability.WRITTEN
    if standby_names.strip() and synchronous_commit != "local":
        return Durability.REPLICATED
    return Durability.SYNCED
