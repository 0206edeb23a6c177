"""What is shown counts: other programs and users may have changed it since we wrote it.

What stands under `segue` is believed of those messages and decisions whose role and text are still there. A message
without such a counterpart is a new turn, where it stands. A counterpart whose message is gone is not believed.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.soleur.format.document import message_checksum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import JsonObject


class Pairing(NamedTuple):
    """Which shown object belongs to which of our entries."""

    shown_with: dict[int, JsonObject]
    """By the index of the entry."""
    new_before: dict[int, list[JsonObject]]
    """Shown objects without an entry, by the index of the entry that follows them."""
    new_at_end: list[JsonObject]
    orphans: list[int]
    """Entries whose object is no longer shown."""


def pair_messages(shown: Sequence[JsonObject], entries: Sequence[JsonObject], kind: str) -> Pairing:
    """Match the shown objects with our entries of this type, both in order."""
    indexes = [at for at, entry in enumerate(entries) if entry.get("type") == kind and "sum" in entry]
    sums = [str(entries[at]["sum"]) for at in indexes]
    partners = [None if at is None else indexes[at] for at in _match([message_checksum(one) for one in shown], sums)]
    shown_with = {at: one for at, one in zip(partners, shown, strict=True) if at is not None}
    new_before: dict[int, list[JsonObject]] = {}
    waiting: list[JsonObject] = []
    for at, one in zip(partners, shown, strict=True):
        if at is None:
            waiting.append(one)
        elif waiting:
            new_before[at], waiting = waiting, []
    return Pairing(shown_with, new_before, waiting, [at for at in indexes if at not in shown_with])


def rebased(entries: Sequence[JsonObject], turns: Pairing) -> list[JsonObject]:
    """The entries with every fork moved, if the conversation has gained or lost turns before it."""
    if not turns.new_before and not turns.orphans:
        return list(entries)
    gone = set(turns.orphans)
    paths: dict[object, list[int]] = {"main": []}
    moved: list[JsonObject] = []
    for at, entry in enumerate(entries):
        if entry.get("type") == "turn":
            paths.setdefault(entry.get("branch", "main"), []).append(at)
        elif entry.get("type") == "branch" and isinstance(count := entry.get("at"), int):
            shared = paths.get(entry.get("parent"), [])[: max(0, count)]
            paths.setdefault(entry.get("name"), list(shared))
            now = sum((turn not in gone) + len(turns.new_before.get(turn, ())) for turn in shared)
            entry = {**entry, "at": now}  # noqa: PLW2901 - the same entry, moved
        moved.append(entry)
    return moved


def _match(shown: list[str], stored: list[str]) -> list[int | None]:
    """For each shown object the index of its entry; nearly always all have one, or all but the last few."""
    start = 0
    while start < min(len(shown), len(stored)) and shown[start] == stored[start]:
        start += 1
    partners: list[int | None] = [*range(start), *[None] * (len(shown) - start)]
    if start < len(shown) and start < len(stored):
        matcher = SequenceMatcher(None, stored[start:], shown[start:], autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                partners[start + block.b + step] = start + block.a + step
    return partners
