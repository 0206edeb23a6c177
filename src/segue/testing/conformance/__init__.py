"""The contract of `segue.store` as claims, one class per chapter; `Conformance` is all of them.

A chapter reads the capabilities of the store, and "no" is tested as strictly as "yes": nothing is skipped.
"""

from segue.testing.conformance.append import AppendChapter
from segue.testing.conformance.blobs import BlobsChapter
from segue.testing.conformance.branches import BranchesChapter
from segue.testing.conformance.chapter import Chapter
from segue.testing.conformance.damage import DamageChapter
from segue.testing.conformance.durability import DurabilityChapter
from segue.testing.conformance.errors import ErrorsChapter
from segue.testing.conformance.identity import IdentityChapter
from segue.testing.conformance.lifecycle import LifecycleChapter
from segue.testing.conformance.listing import ListingChapter
from segue.testing.conformance.locks import LocksChapter
from segue.testing.conformance.order import OrderChapter
from segue.testing.conformance.queries import QueriesChapter
from segue.testing.conformance.reading import ReadingChapter
from segue.testing.conformance.records import RecordsChapter
from segue.testing.conformance.reopen import ReopeningChapter
from segue.testing.conformance.text import TextChapter
from segue.testing.conformance.trash import TrashChapter
from segue.testing.conformance.unknown import UnknownDataChapter
from segue.testing.conformance.versions import VersionsChapter

CHAPTERS: tuple[type[Chapter], ...] = (
    IdentityChapter,
    AppendChapter,
    OrderChapter,
    ReadingChapter,
    BranchesChapter,
    ListingChapter,
    LifecycleChapter,
    LocksChapter,
    ErrorsChapter,
    TextChapter,
    DamageChapter,
    ReopeningChapter,
    UnknownDataChapter,
    RecordsChapter,
    VersionsChapter,
    DurabilityChapter,
    BlobsChapter,
    TrashChapter,
    QueriesChapter,
)


class Conformance(
    IdentityChapter,
    AppendChapter,
    OrderChapter,
    ReadingChapter,
    BranchesChapter,
    ListingChapter,
    LifecycleChapter,
    LocksChapter,
    ErrorsChapter,
    TextChapter,
    DamageChapter,
    ReopeningChapter,
    UnknownDataChapter,
    RecordsChapter,
    VersionsChapter,
    DurabilityChapter,
    BlobsChapter,
    TrashChapter,
    QueriesChapter,
):
    """Everything that a store promises. A subclass provides the fixture `harness`."""


__all__ = [
    "CHAPTERS",
    "AppendChapter",
    "BlobsChapter",
    "BranchesChapter",
    "Chapter",
    "Conformance",
    "DamageChapter",
    "DurabilityChapter",
    "ErrorsChapter",
    "IdentityChapter",
    "LifecycleChapter",
    "ListingChapter",
    "LocksChapter",
    "OrderChapter",
    "QueriesChapter",
    "ReadingChapter",
    "RecordsChapter",
    "ReopeningChapter",
    "TextChapter",
    "TrashChapter",
    "UnknownDataChapter",
    "VersionsChapter",
]
