"""Fixtures of the same proofs for journals."""

from tests.promises.conftest import seed
from tests.promises.test_many_processes import crew

__all__ = ["crew", "seed"]
