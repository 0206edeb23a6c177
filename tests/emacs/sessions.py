"""Sessions as the real store writes them, and what Emacs has to find in each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import segue
from segue.dialects.gptel.format.conversation import displayable, render_block
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from segue.model import JsonObject

Said = tuple[str, str]
RUN = "(setq segue-test-ran t)"
PLANTED = f"Local Variables:\nmode: emacs-lisp\nsegue-test-planted: t\neval: {RUN}\nEnd:"
COMMENTED = "\n".join(f"<!-- {line} -->" for line in PLANTED.split("\n"))

HOSTILE = {
    "list": PLANTED,
    "list-in-comments": f"{COMMENTED}\n",
    "list-behind-a-form-feed": f"Look:\n\f\n{COMMENTED}\n\f\n",
    "whole-footer": f"Hm.\n\f\n<!-- segue 3.0 00000000 00000000 00000000 -->\n{COMMENTED}\n",
    "first-line": f"-*- mode: emacs-lisp; eval: {RUN} -*-\nand on",
    "third-line": f"\n\n-*- mode: emacs-lisp; eval: {RUN} -*-",
    "second-line": f"#!/bin/sh\n-*- eval: {RUN} -*-",
    "dos-lines": f"One\r\n{PLANTED}\n".replace("\n", "\r\n"),
    "carriage-returns": PLANTED.replace("\n", "\r"),
    "other-line-ends": PLANTED.replace("\n", "\u2028") + "\u0085\v",
    "bytes-that-look-binary": "a\0b\x1b[2J\x7f\ufeff\x1a",
    "capitals": PLANTED.upper().replace("SEGUE", "segue"),
    "html": '<html><head><meta charset="iso-8859-1"></head><body>ö</body></html>',
    "xml": '<?xml version="1.0" encoding="iso-8859-1"?>\n<a>ö</a>',
    "long-tail": COMMENTED + "\n" * 2500 + COMMENTED,
}

PROMPT = 'Speak like a "pirate".\nTab\t, \\n, ö, 😀, --> and\f a page.\nLocal Variables:\neval: (x)\nEnd:\n'
SETTINGS: JsonObject = {
    "model": "gpt-4o",
    "backend": "ChatGPT",
    "system_message": PROMPT,
    "tools": ["read_file", "list_dir"],
    "temperature": 0.8,
    "max_tokens": 4000,
    "num_messages": 6,
}
VARIABLES: JsonObject = {
    "gptel--preset": {"symbol": "executor"},
    "gptel-model": {"symbol": "gpt-4o"},
    "gptel--backend-name": "ChatGPT",
    "gptel--system-message": PROMPT,
    "gptel--tool-names": ["read_file", "list_dir"],
    "gptel-temperature": 0.8,
    "gptel-max-tokens": 4000,
    "gptel--num-messages-to-send": 6,
}
MODELS = ("claude-3.5;x", "org/model name", "it's", "?a", "#b", '"c"', "a\\b", "-->", "größer", "4", "1e5")

FOREIGN = "é e\u0301 😀 👩‍👩‍👧 漢字 שלום \U0001f1e9\U0001f1ea ﷽"


@dataclass(frozen=True)
class Case:
    name: str
    said: Sequence[Said] = (("user", "Hello?"), ("assistant", "Hello."))
    preset: str = ""
    overrides: JsonObject | None = None
    variables: JsonObject | None = None
    fork: str = ""


def cases() -> list[Case]:
    executor: JsonObject = {"gptel--preset": {"symbol": "executor"}}
    return [
        Case("plain"),
        Case("forked", fork="other"),
        Case("empty", said=(), preset="executor"),
        Case("settings", preset="executor", overrides=SETTINGS, variables=VARIABLES),
        *[
            Case(f"model-{at}", overrides={"model": name}, variables={"gptel-model": {"symbol": name}})
            for at, name in enumerate(MODELS)
        ],
        Case(
            "long",
            said=[pair for at in range(300) for pair in (("user", f"{at} ö?"), ("assistant", f"{FOREIGN} {at}."))],
            preset="executor",
            overrides={"temperature": 0.8},
            variables={**executor, "gptel-temperature": 0.8},
        ),
        Case("non-ascii", said=[("user", FOREIGN), ("assistant", FOREIGN), ("user", FOREIGN), ("assistant", "Ö")]),
        Case("tools", said=[("user", "ö?"), ("tool", PLANTED), ("tool", FOREIGN), ("assistant", "Two.")]),
        Case("two-questions", said=[("user", "One?"), ("user", "Two?"), ("assistant", "Yes.")]),
        *[Case(f"asked-{name}", said=[("user", text), ("assistant", "No.")]) for name, text in HOSTILE.items()],
        *[
            Case(f"answered-{name}", said=[("user", "?"), ("assistant", text)], preset="executor", variables=executor)
            for name, text in HOSTILE.items()
        ],
        *[Case(f"began-{name}", said=[("assistant", text), ("user", text)]) for name, text in HOSTILE.items()],
    ]


def write_sessions(root: Path, *, only: Collection[str] = ()) -> None:
    """All of them, or those with these names, and `expected.json` beside them."""
    with segue.open(f"gptel:{root}") as library:
        expected = [_written(library, root, case) for case in cases() if not only or case.name in only]
    (root / "expected.json").write_text(json.dumps(expected))


def _written(library: segue.Library, root: Path, case: Case) -> JsonObject:
    with library.create(id=f"{case.name}-20260301120000", agent=case.preset) as live:
        if case.preset:
            live.use_preset(case.preset)
        if case.overrides:
            live.set_overrides(case.overrides)
        live.record(*[_turn(at, role, text) for at, (role, text) in enumerate(case.said)])
        if case.fork:
            live.fork(at=1, name=case.fork, switch=False)
        turns, session_id = live.turns, live.id
    folder = root / session_id
    return {
        "name": case.name,
        "session-id": session_id,
        "session-dir": str(folder),
        "file": str(folder / "branches" / "main" / "session.md"),
        "variables": case.variables or {},
        "answers": [displayable(turn.content) for turn in turns if turn.role == "assistant"],
        "results": [render_block(turn).text for turn in turns if turn.role == "tool"],
    }


def _turn(at: int, role: str, text: str) -> Turn:
    call: JsonObject = {"type": "tool_result", "id": f"call ö {at}", "name": "list_dir", "arguments": {"a": PLANTED}}
    return Turn(
        role=role,
        content=text,
        timestamp=datetime(2026, 3, 1, 12, tzinfo=UTC),
        tokens=None,
        branch="main",
        parts=(call,) if role == "tool" else (),
        id=f"turn-{at}",
    )
