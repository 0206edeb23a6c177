"""Histories that the real aider wrote: lines of the user, of the model and of aider itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from tests.support.corpus_events import HOMES, read_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn


def test_every_run_has_what_was_said_and_nothing_of_aider(tmp_path: Path) -> None:
    history = (HOMES / "aider" / ".aider.chat.history.md").read_text(encoding="utf-8")
    first, second = (session.active for session in read_corpus("aider", tmp_path))
    asked, answered = first
    assert (asked.role, asked.content) == ("user", "#P1# hello [[uni]]")
    assert answered.content == history.partition("\n\nA#1")[2].partition("\n\n> Tokens")[0].join(["A#1", ""])
    assert answered.content.count("Ünïcode") == 1  # aider repeats it as the message of a commit
    assert answered.extra["usage"] == {"input_tokens": 1300, "output_tokens": 52}
    assert [turn.content for turn in second] == ["#P2# second", "A#2: done ."]


RUN = """
# aider chat started at 2026-11-15 13:08:50

> aider --message A second
line  
> Model: openai/m with whole edit format  

#### A second  
#### line  

Let me see.

#### A heading

> A quotation

> Tokens: 12k sent, 2.0k cache write, 1.5k cache hit, 1,196 received. Cost: $0.0030 message, $0.01 session.  
> Commit b28826b feat: one
two

three  

#### Next  

Done.
"""  # noqa: W291 - the spaces are what it is about


def read(folder: Path, text: str) -> list[TranscriptTurn]:
    (folder / ".aider.chat.history.md").write_text(text, encoding="utf-8")
    (session,) = INTEGRATIONS["aider"].sessions(folder, {})
    return list(INTEGRATIONS["aider"].read(session).turns)


def test_headings_and_quotations_of_the_model_are_the_models(tmp_path: Path) -> None:
    asked, answered, *rest = (entry.turn for entry in read(tmp_path, RUN))
    assert asked.content == "A second\nline"
    assert answered.content == "Let me see.\n\n#### A heading\n\n> A quotation"
    assert (answered.model, answered.tokens) == ("openai/m", 1196)
    assert answered.extra["usage"] == {
        "input_tokens": 12000,
        "cached_tokens": 1500,
        "cache_written_tokens": 2000,
        "output_tokens": 1196,
        "cost_usd": pytest.approx(0.003),
    }
    assert [(turn.role, turn.content) for turn in rest] == [("user", "Next"), ("assistant", "Done.")]


def test_without_spaces_at_the_ends_of_lines_the_marks_count(tmp_path: Path) -> None:
    text = "\n".join(line.rstrip() for line in RUN.split("\n"))
    said = [(entry.turn.role, entry.turn.content) for entry in read(tmp_path, text)]
    assert ("user", "A second\nline") in said
    assert said[-2:] == [("user", "Next"), ("assistant", "Done.")]
