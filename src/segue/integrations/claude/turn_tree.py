"""Which turn each record of Claude Code belongs to. A record that is not a turn belongs to the turn before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.values import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.integrations.claude.message_index import MessageEntry
    from segue.model import JsonObject


class TurnTree:
    def __init__(self) -> None:
        self._turns: dict[str, str] = {}  # by the id of a record
        self._answers: dict[str, str] = {}  # by a turn with results, or between them: the turn with the calls
        self._results: dict[str, str] = {}  # by a turn with calls: the last of its results
        self._latest = {False: "", True: ""}
        self._sides: set[str] = set()

    def find(self, entry: MessageEntry) -> str:
        """The turn that it follows; if that cannot be read, the one before it in the file."""
        if not entry.parent:
            return ""
        found = self._turns.get(entry.parent)
        if found is None:
            return self._latest[entry.is_side]
        if entry.is_side and found not in self._sides:
            return ""
        return self._after_results(found)

    def end(self, record: str) -> str:
        return self._after_results(self._turns.get(record, ""))

    def skip(self, entry: MessageEntry, records: list[JsonObject], after: str) -> None:
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], after)

    def add(self, entry: MessageEntry, records: list[JsonObject], name: str, after: str, *, is_result: bool) -> str:
        """Add a turn; returns the turn that it follows.

        Parallel results all follow the same call in the file; here each follows the one before it. So does what the
        tool adds between them.
        """
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], name)
        self._latest[entry.is_side] = name
        if entry.is_side:
            self._sides.add(name)
        if after and (is_result or (entry.is_attached and after in self._answers)):
            answer = self._answers.get(after, after)
            after = self._results.get(answer, after)
            self._answers[name], self._results[answer] = answer, name
        return after

    def move(self, ids: Iterable[str], name: str) -> None:
        """Let these records belong to that turn: an answer may continue in another turn."""
        self._turns |= dict.fromkeys(ids, name)

    def _after_results(self, name: str) -> str:
        return self._results.get(self._answers.get(name, ""), name)


def _ids(records: list[JsonObject]) -> list[str]:
    return [as_text(record.get("uuid")) for record in records]
