"""What shows that a store keeps its word, shipped so that anybody's store can be shown to.

    # tests/conformance/test_mine.py
    class TestMine(Conformance):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> Harness:
            return MyHarness(tmp_path)

`Conformance` is all chapters of `segue.testing.conformance`; a `Harness` says how to make the store and how to hurt it
(`harness_journal` and `harness_memory` are two to copy from). For readable failures, let pytest rewrite the assertions:
`pytest.register_assert_rewrite("segue.testing")` in conftest.py.
"""

from segue.testing.harness import Harness

__all__ = ["Harness"]
