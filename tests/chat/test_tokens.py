"""How texts are counted, with a tokenizer and without."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.chat.context.tokens import Estimate, Tokenizer, best_counter


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("x" * 4001, 1001)])
def test_the_estimate_is_four_characters_a_token(text: str, tokens: int) -> None:
    assert Estimate().count(text) == tokens
    assert Estimate().kind == "estimate"


def test_the_tokenizer_is_used_where_it_is_installed() -> None:
    counter = best_counter()
    assert counter.kind == "tokenizer"
    assert counter.count("Why does login fail?") == 5
    assert counter is best_counter()


@given(st.text(st.characters(), max_size=200))
def test_the_tokenizer_takes_any_text(text: str) -> None:
    assert (best_counter().count(text) > 0) == bool(text)


@pytest.mark.parametrize("text", ["\ud800 alone", "<|endoftext|>", "\0", "🙂" * 100])
def test_the_tokenizer_takes_what_models_emit(text: str) -> None:
    assert best_counter().count(text) > 0


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def encode(text: str) -> list[int]:
        asked.append(text)
        return [1, 2]

    counter = Tokenizer(encode)
    assert [counter.count("a"), counter.count("a")] == [2, 2]
    assert asked == ["a"]


@pytest.mark.parametrize("module", ["None", "object()"], ids=["not installed", "broken"])
def test_without_a_working_tokenizer_the_estimate_is_used(module: str) -> None:
    code = (
        f"import sys; sys.modules['bpe_openai'] = {module}\n"
        "from segue.chat.context.tokens import best_counter; print(best_counter().kind)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("estimate\n", "")


def test_counting_opens_no_connection() -> None:
    code = (
        "import sys\n"
        "def refuse(event, _):\n"
        "    if event.startswith('socket.'): raise SystemExit(event)\n"
        "sys.addaudithook(refuse)\n"
        "from segue.chat.context.tokens import best_counter; print(best_counter().count('Why does login fail?'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("5\n", "")
