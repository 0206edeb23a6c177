"""The conformance suite for stores: it shows that a store does what `segue.Store` promises.

    # tests/conformance/test_mine.py
    class TestMine(Conformance):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> Harness:
            return MyHarness(tmp_path)

`Conformance` has all test classes of `segue.testing.conformance`. A `Harness` makes the store and damages it;
`harness_journal` and `harness_memory` are two examples. For readable failures, let pytest rewrite the assertions:
`pytest.register_assert_rewrite("segue.testing")` in conftest.py.
"""

from typing import TYPE_CHECKING

from segue.testing.harness import Harness

if TYPE_CHECKING:
    from segue.testing.conformance import Conformance

__all__ = ["Conformance", "Harness"]


def __getattr__(name: str) -> object:
    """Import the suite, and with it pytest, when it is first used."""
    if name != "Conformance":
        raise AttributeError(f"module 'segue.testing' has no attribute {name!r}")
    from segue.testing.conformance import Conformance

    return Conformance


def __dir__() -> list[str]:
    return __all__
