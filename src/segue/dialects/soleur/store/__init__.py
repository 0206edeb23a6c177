"""Soleur's store: one readable JSON file per session, `<root>/<id>.json`, that Soleur can load.

Read `dialects.soleur.format` (what is in a file), then `stores.sealed`, then `store`.
"""

from segue.dialects.soleur.store.store import SoleurStore

__all__ = ["SoleurStore"]
