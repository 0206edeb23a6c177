"""Values for a footer, as a stranger would write them, and as Segue does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.gptel.format.lisp import Pair, Symbol

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

CANARY = '(progn (setq segue-test-ran t) (write-region "" nil (getenv "SEGUE_TEST_CANARY")))'
"""Lisp that tells on whoever runs it."""

VARIABLES = (
    *("gptel--preset", "gptel-model", "gptel--backend-name", "gptel--system-message", "gptel-system-prompt"),
    *("gptel--tool-names", "gptel-temperature", "gptel-max-tokens", "gptel--num-messages-to-send", "gptel--bounds"),
    *("eval", "mode", "coding", "mode-line-format", "header-line-format", "unibyte"),
)
_PROPERTIES = ("display", "face", "keymap", "help-echo", "composition", "modification-hooks", "point-entered")
_ODD = [
    *"#()[]'`,;?\\\".@ \t|&%$~^*+-<>:=!/{}",
    "ö",
    "😀",
    "\u2028",
    "#(",
    "#s(",
    "#[",
    "#1=",
    "#1#",
    "#.",
    "#'",
    "#@2",
]
_ODD += ["#b1", "#x1f", "##", "#:x", "?\\C-a", "\\N{BULLET}", "-->", "nil", "t", "quote", "function", "lambda", "1e999"]

_SHOWN = [mark for mark in _ODD if mark.isprintable()]


def hostile(chance: random.Random, depth: int = 0) -> str:
    """Some text in the place of a value; most of it is Lisp that means more than a value may."""
    inner: Callable[[], str] = (lambda: hostile(chance, depth + 1)) if depth < 3 else (lambda: "x")
    kinds: list[Callable[[], str]] = [
        lambda: f'#("xyz" 0 {chance.randint(1, 3)} ({chance.choice(_PROPERTIES)} (when {CANARY} . "y")))',
        lambda: f'#("xyz" 0 3 (display ((when {CANARY} . {inner()})) keymap {inner()}))',
        lambda: f"#s(hash-table data ({inner()} {inner()}))",
        lambda: f'#[0 "\\300\\207" [{CANARY}] 1]',
        lambda: f"#{chance.randint(0, 3)}=({inner()} #{chance.randint(0, 3)}#)",
        lambda: f"#.{CANARY}",
        lambda: f"`(,{CANARY} {inner()})",
        lambda: f"(lambda () {CANARY})",
        lambda: f"'{inner()}",
        lambda: f"[{inner()} {inner()}]",
        lambda: f"({inner()} . {inner()})",
        lambda: f"({inner()} {inner()} {inner()})",
        lambda: f"((response (1 {inner()})) (tool (2 3 {inner()})))",
        lambda: "(" * chance.randint(1, 200) + ")" * chance.randint(0, 200),
        lambda: "9" * chance.randint(1, 400),
        lambda: "".join(chance.choices(_ODD, k=chance.randint(0, 8))),
        lambda: '"' + "".join(chance.choices(_ODD, k=chance.randint(0, 8))) + '"',
        lambda: "".join(chr(chance.randrange(32, 0x250)) for _ in range(chance.randint(0, 12))),
    ]
    return chance.choice(kinds)().replace("\n", " ").replace("\r", " ")


def plain(chance: random.Random, depth: int = 0) -> object:
    """A value that a footer may have."""
    kinds: list[Callable[[], object]] = [
        lambda: chance.randint(-(10**17), 10**17),
        lambda: chance.uniform(-1e6, 1e6),
        lambda: "".join(chance.choices([*_ODD, "\n", "\t", "\f", "\x1b", "Local Variables:"], k=chance.randint(0, 6))),
        lambda: Symbol(f"{chance.choice('a#?;(')}{''.join(chance.choices(_SHOWN, k=chance.randint(0, 5)))}"),
        lambda: chance.choice([None, True]),
    ]
    if depth < 4:
        kinds += [
            lambda: [plain(chance, depth + 1) for _ in range(chance.randint(1, 4))],
            lambda: Pair(plain(chance, depth + 1), Symbol("behind")),
        ]
    return chance.choice(kinds)()
