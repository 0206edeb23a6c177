"""Ralph's store: one JSON file a session, `<root>/<id>.json`, in a temporary folder that is ours alone.

Read `formats.ralph` (what is in a file), then `stores.sealed`, then `store`; `claims` says who works on which change,
and is imported by whoever asks that.
"""

from segue.dialects.ralph.store.store import RalphStore

__all__ = ["RalphStore"]
