"""Ralph's store: one JSON file per session, `<root>/<id>.json`, in a temporary folder that is ours alone.

Read `dialects.ralph.format` (what is in a file), then `stores.sealed`, then `store`; `claims` records which session
works on which change.
"""

from segue.dialects.ralph.store.store import RalphStore

__all__ = ["RalphStore"]
