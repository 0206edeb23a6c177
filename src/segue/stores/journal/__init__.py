"""The native store, which Aurora uses too: one append-only file per session, `<root>/<id>.jsonl`.

Read `parser` (lines to events), `window` (reading from the end of a file), `known_ends` (reading only what is new),
`writer`, then `store`.
"""

from segue.stores.journal.store import JournalStore

__all__ = ["JournalStore"]
