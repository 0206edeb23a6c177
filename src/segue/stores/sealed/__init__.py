"""The base of stores with one sealed JSON file per session, whatever fields the file has.

Read `formats.sealed` (what is in a file), then `writer`, then `store`.
"""

from segue.stores.sealed.head_cache import SealedHeadCache
from segue.stores.sealed.store import SealedStore
from segue.stores.sealed.writer import SealedWriter

__all__ = ["SealedHeadCache", "SealedStore", "SealedWriter"]
