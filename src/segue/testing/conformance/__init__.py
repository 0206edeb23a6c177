"""The contract of `segue.store` as claims, one chapter a class; `Conformance` is all of them.

A chapter asks the store for its capabilities, and "no" is claimed as strictly as "yes": nothing is skipped.
"""

from segue.testing.conformance.append import Append
from segue.testing.conformance.blobs import Blobs
from segue.testing.conformance.branches import Branching
from segue.testing.conformance.chapter import Chapter
from segue.testing.conformance.damage import DamageReports
from segue.testing.conformance.durability import Surviving
from segue.testing.conformance.errors import Errors
from segue.testing.conformance.identity import Identity
from segue.testing.conformance.lifecycle import Lifecycle
from segue.testing.conformance.listing import Listings
from segue.testing.conformance.locks import Locks
from segue.testing.conformance.order import Ordering
from segue.testing.conformance.reading import Reads
from segue.testing.conformance.reopen import Reopening
from segue.testing.conformance.text import AnyText
from segue.testing.conformance.trash import Trashing
from segue.testing.conformance.unknown import UnknownThings
from segue.testing.conformance.versions import Versions

CHAPTERS: tuple[type[Chapter], ...] = (
    Identity,
    Append,
    Ordering,
    Reads,
    Branching,
    Listings,
    Lifecycle,
    Locks,
    Errors,
    AnyText,
    DamageReports,
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
    Ordering,
    Reads,
    Branching,
    Listings,
    Lifecycle,
    Locks,
    Errors,
    AnyText,
    DamageReports,
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
    "AnyText",
    "Append",
    "Blobs",
    "Branching",
    "Chapter",
    "Conformance",
    "DamageReports",
    "Errors",
    "Identity",
    "Lifecycle",
    "Listings",
    "Locks",
    "Ordering",
    "Reads",
    "Reopening",
    "Surviving",
    "Trashing",
    "UnknownThings",
    "Versions",
]
