"""Names of sessions and branches: their grammar, how new ones are made, and how users shorten them.

The caller passes the time and the random bytes, so that the same call gives the same name.
"""

# ruff: noqa: RUF001 - letters of other scripts look like Latin ones, which is why they are spelled

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from segue.errors import InvalidIdError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

GRAMMAR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LATIN_LETTERS = (
    "ß ss æ ae œ oe ø o å a đ d ð d þ th ħ h ı i ł l ŋ ng ŧ t ĸ k ſ s",
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o",
    "ά a έ e ή i ί i ό o ύ y ώ o",
    "а a б b в v г g д d е e ё e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh",
    "щ shch ъ - ы y ь - э e ю yu я ya є ye і i ї yi ґ g ў u ђ dj ј j љ lj њ nj ћ c џ dz",
)
"""Letters that do not decompose into an ASCII letter and accents, each with its spelling; `-` for none."""
T = TypeVar("T")

_TYPABLE = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing to misread aloud


def check_id(text: str, *, what: str = "session id") -> str:
    """Return the text if it is a valid id, else raise InvalidIdError. Every path is made from a checked id."""
    if not isinstance(text, str) or GRAMMAR.fullmatch(text) is None:
        raise InvalidIdError(str(text), what=what)
    return text


is_id = GRAMMAR.fullmatch
"""Truthy for what `check_id` returns."""


def slug(text: str, *, limit: int = 40) -> str:
    """The text as lower-case ASCII words joined by dashes; empty if no letter or digit of it has a Latin spelling.

    Accents are dropped, and Greek, Cyrillic, Japanese kana and Korean are spelled in Latin letters. Letters of other
    scripts are left out: an id must be typable everywhere.
    """
    plain = text.lower()
    return ascii_slug(plain if plain.isascii() else _transliterate(plain), limit=limit)


def ascii_slug(text: str, *, limit: int = 40) -> str:
    """Like `slug`, without everything that is not ASCII: how names were made before."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:limit].rstrip("-")


def _transliterate(text: str) -> str:
    from unicodedata import normalize

    letters = _latin_letters()
    return "".join(letters[char] if char in letters else _spell(char) for char in normalize("NFC", text))


def _spell(char: str) -> str:
    """A character in ASCII: nothing for an accent, a blank where there is no spelling."""
    from unicodedata import category, name, normalize

    if char.isascii():
        return char
    script, _, letter = name(char, "").rpartition(" ")
    if script.startswith(("HANGUL SYLLABLE", "HIRAGANA LETTER", "KATAKANA LETTER")):
        return letter.lower()
    base = "".join(part for part in normalize("NFKD", char) if part.isascii())
    return base.lower() or ("" if category(char).startswith("M") else " ")


@cache
def _latin_letters() -> dict[str, str]:
    pairs = " ".join(_LATIN_LETTERS).split()
    return {letter: spelling.strip("-") for letter, spelling in zip(pairs[::2], pairs[1::2], strict=True)}


def new_session_id(label: str, now: datetime, entropy: bytes) -> str:
    """`<label>-<date>-<time>-<4 letters>`: it begins with what the user remembers, then sorts by time."""
    number = int.from_bytes(entropy[:3])
    letters = "".join(_TYPABLE[(number >> shift) & 31] for shift in (0, 5, 10, 15))
    return f"{slug(label) or 'session'}-{now:%Y%m%d-%H%M%S}-{letters}"


# ── How users shorten them ───────────────────────────────────────────────────────────────────────────────────────────

_SHORTEST_END = 3
"""A shorter text is more likely a word than the end of an id."""
_SHORT, _SHORT_END, _LONG = 8, 4, 12
_GENERATED = re.compile(r".+-\d{8}-\d{6}-[0-9a-z]{4}")


def match_ids(text: str, ids: Iterable[str]) -> list[str]:
    """The id that is the text; or else those that begin with it, or else those that end with it; sorted."""
    known = list(ids)
    if not text:
        return []
    if text in known:
        return [text]
    found = [id for id in known if id.startswith(text)]
    if not found and len(text) >= _SHORTEST_END:
        found = [id for id in known if id.endswith(text)]
    return sorted(found)


def match_words(text: str, things: Iterable[T], names: Callable[[T], Iterable[str]]) -> list[T]:
    """The things whose names contain all words of the text, or words that begin so, in any order and case."""
    words = [_pattern(word) for word in text.casefold().split()]
    return [thing for thing in things if words and _has(words, names(thing))]


def match_named(text: str, things: Sequence[T], names_of: Callable[[T], Sequence[str]]) -> list[T]:
    """The things that `match_ids` finds by their first name, or else those that `match_words` finds by any name."""
    ids = set(match_ids(text, {names_of(thing)[0] for thing in things}))
    if ids:
        return [thing for thing in things if names_of(thing)[0] in ids]
    return match_words(text, things, names_of)


def short_ids(ids: Collection[str], *, only: Collection[str] | None = None) -> dict[str, str]:
    """Each id, or only some, as short as `match_ids` still finds it among all of them.

    It is the end of a generated id, and the beginning of any other, as far as that is enough.
    """
    forward, backward = sorted(set(ids)), sorted({id[::-1] for id in ids})

    def finds(part: str, id: str) -> bool:
        """Whether only this id begins with it; or else none does, and only this one ends with it."""
        begun = _count(part, forward)
        if id.startswith(part):
            return begun == 1
        return begun == 0 and _count(part[::-1], backward) == 1

    def shorten(id: str) -> str:
        return next((part for part in _parts(id) if finds(part, id)), id)

    return {id: shorten(id) if len(id) > _LONG else id for id in (forward if only is None else only)}


def short_ends(id: str) -> list[str]:
    """The ends of an id by which it may be called."""
    return [end for size in range(_SHORT_END, _SHORT + 1) if (end := id[-size:])[0].isalnum()]


def _count(part: str, ordered: Sequence[str]) -> int:
    """How many begin with the part; two stand for many."""
    at = bisect_left(ordered, part)
    return sum(text.startswith(part) for text in ordered[at : at + 2])


def _parts(id: str) -> Iterator[str]:
    """The parts of an id by which it may be called, the best first."""
    is_generated = _GENERATED.fullmatch(id)
    if not is_generated:
        yield id[:_SHORT].rstrip("-._")
    yield from short_ends(id)
    yield from (id[:size] for size in range(_SHORT + 1, len(id)) if id[size - 1].isalnum())


def _has(words: Sequence[re.Pattern[str]], names: Iterable[str]) -> bool:
    text = "\n".join(names).casefold()
    return all(word.search(text) for word in words)


def _pattern(word: str) -> re.Pattern[str]:
    """Not all scripts put spaces between words, so there a word may begin anywhere."""
    return re.compile(rf"(?<![^\W_]){re.escape(word)}" if word.isascii() else re.escape(word))
