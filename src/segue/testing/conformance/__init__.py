"""The contract of `segue.store` as claims, one chapter a class; `Conformance` is all of them.

A chapter asks the store for its capabilities, and "no" is claimed as strictly as "yes": nothing is skipped.
"""

from segue.testing.conformance.append import Append
from segue.testing.conformance.blobs import Blobs
from segue.testing.conformance.branches import Branches
from segue.testing.conformance.chapter import Chapter
from segue.testing.conformance.damage import Damage
from segue.testing.conformance.durability import Surviving
from segue.testing.conformance.errors import Errors
from segue.testing.conformance.identity import Identity
from segue.testing.conformance.lifecycle import Lifecycle
from segue.testing.conformance.listing import Listing
from segue.testing.conformance.locks import Locks
from segue.testing.conformance.order import Order
from segue.testing.conformance.reading import Reading
from segue.testing.conformance.reopen import Reopening
from segue.testing.conformance.text import Text
from segue.testing.conformance.trash import Trashing
from segue.testing.conformance.unknown import UnknownThings
from segue.testing.conformance.versions import Versions

CHAPTERS: tuple[type[Chapter], ...] = (
    Identity,
    Append,
    Order,
    Reading,
    Branches,
    Listing,
    Lifecycle,
    Locks,
    Errors,
    Text,
    Damage,
    Reopening,
    UnknownThings,
    Versions,
    Surviving,
    Blobs,
    Trashing,
)


class Conformance(
    Identity,
    Append,
    Order,
    Reading,
    Branches,
    Listing,
    Lifecycle,
    Locks,
    Errors,
    Text,
    Damage,
    Reopening,
    UnknownThings,
    Versions,
    Surviving,
    Blobs,
    Trashing,
):
    """Everything a store promises. A subclass gives the fixture `harness`."""


__all__ = [
    "CHAPTERS",
    "Append",
    "Blobs",
    "Branches",
    "Chapter",
    "Conformance",
    "Damage",
    "Errors",
    "Identity",
    "Lifecycle",
    "Listing",
    "Locks",
    "Order",
    "Reading",
    "Reopening",
    "Surviving",
    "Text",
    "Trashing",
    "UnknownThings",
    "Versions",
]
