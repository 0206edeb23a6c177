"""What a store needs from its format. Protocols are slow to create, and only the type checker needs these."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

Written = TypeVar("Written", bound="SealedDocument")

if TYPE_CHECKING:
    from typing import Protocol, Self

    from segue.errors import Damage
    from segue.model import Event, Overview

    Read_co = TypeVar("Read_co", bound="SealedDocument", covariant=True)

    class SealedDocument(Protocol):
        """The content of a whole file; immutable."""

        version: int
        """The version of what is under the key `segue`."""
        overview: Overview

        @property
        def events(self) -> list[Event]: ...

        def encode(self) -> bytes:
            """The bytes of the file."""

        def renumbered(self) -> Self:
            """The same without the gaps that lost events left in the numbers."""

    class ParsedFile(Protocol[Read_co]):
        """What can be read of a file, and what cannot."""

        @property
        def document(self) -> Read_co | None: ...

        @property
        def damages(self) -> tuple[Damage, ...]: ...
