"""Soleur's store: one JSON file a session, `<root>/<id>.json`, that a person can read and Soleur can load.

Read `formats.soleur` (what is in a file), then `stores.sealed`, then `store`.
"""

from segue.dialects.soleur.store.store import SoleurStore

__all__ = ["SoleurStore"]
