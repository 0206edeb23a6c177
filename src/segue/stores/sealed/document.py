"""What a format must tell its store. Protocols are slow to make, and only the type checker needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

Written = TypeVar("Written", bound="SealedDocument")

if TYPE_CHECKING:
    from typing import Protocol, Self

    from segue.errors import Damage
    from segue.model import Event, Overview

    Read_co = TypeVar("Read_co", bound="SealedDocument", covariant=True)

    class SealedDocument(Protocol):
        """A whole file; immutable."""

        version: int
        """Of what stands under `segue`."""
        overview: Overview

        @property
        def events(self) -> list[Event]: ...

        def encode(self) -> bytes:
            """The file."""

        def renumbered(self) -> Self:
            """Without the gaps that lost events left."""

    class ParsedFile(Protocol[Read_co]):
        """All that can be read of a file, and all that cannot."""

        @property
        def document(self) -> Read_co | None: ...

        @property
        def damages(self) -> tuple[Damage, ...]: ...
