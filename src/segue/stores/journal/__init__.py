"""The native store, and Aurora's: one append-only file a session, `<root>/<id>.jsonl`.

Read `parser` (lines to events), `window` (from the end, not from the beginning), `writer`, then `store`.
"""

from segue.stores.journal.store import JournalStore

__all__ = ["JournalStore"]
