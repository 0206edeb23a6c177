"""A folder in memory to break things in, as the proofs of promises have it."""

from __future__ import annotations

from tests.promises.conftest import root

__all__ = ["root"]
