"""A transcript is untrusted text: no control character of it reaches a terminal."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

import segue
from segue.cli.app import VERBS

if TYPE_CHECKING:
    from tests.support.cli import Segue

ATTACKS = (
    "\x1b]52;c;cm0gLXJmIH4=\x07 clipboard",
    "\x1b]0;title\x07 title",
    "\x1b[2J\x1b[1;1H cleared",
    "\x9b31m c1 \x90 dcs \x9c",
    "harmless\rrm -rf",
    "back\b\b\bspace \x7f",
    "abc \u202egnp.exe \u2066 isolate \u200f",
    "two\u2028lines\u2029here",
    "lone \ud800 surrogate",
    "tags \U000e0041",
)
ALL = " ".join(ATTACKS)
BIDI = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200e", "\u200f", "\u2028", "\u2029"}

CALLS: dict[str, list[tuple[str, ...]]] = {
    "chat": [("chat", "--agent", ATTACKS[0]), ("chat", "--preset", ATTACKS[6]), ("chat", "--id", ATTACKS[1])],
    "resume": [("resume", f"no {ATTACKS[0]}"), ("resume", "broken"), ("resume", "evil", "--agent", ATTACKS[2])],
    "ask": [("ask", "why", "--session", ATTACKS[0]), ("ask", "why", "--agent", ATTACKS[1]),
            ("ask", ATTACKS[3], "--agent", "command:cat", "--json")],
    "new": [("new", "--title", ATTACKS[1], "--agent", ATTACKS[2], "--id", "fresh"),
            ("new", "--json", "--title", ATTACKS[6])],
    "add": [("add", "evil", ATTACKS[0]), ("add", "evil", "--json", ATTACKS[6])],
    "list": [("list",), ("list", "--json"), ("list", "--agent", ATTACKS[0])],
    "search": [("search", "clipboard"), ("search", "title", "--json"), ("search", ATTACKS[6], "--branch", ATTACKS[0])],
    "show": [("show", "evil"), ("show", "evil", "--markdown"), ("show", "evil", "--json"),
             ("show", "evil", "-n", "3"), ("show", ATTACKS[0]), ("show", "broken"),
             ("show", "evil", "--branch", ATTACKS[6])],
    "tail": [("tail", "evil"), ("tail", "evil", "--json")],
    "tools": [("tools",), ("tools", "--json")],
    "export": [("export", "evil"), ("export", "evil", "--format", "json"), ("export", "evil", "--format", "jsonl"),
               ("export", "evil", "-o", f"no/{ATTACKS[1]}")],
    "fork": [("fork", "evil"), ("fork", "evil", "--name", ATTACKS[0])],
    "branches": [("branches", "evil"), ("branches", "evil", "--json")],
    "tree": [("tree", "evil"), ("tree", "evil", "--json"), ("tree", ATTACKS[0])],
    "diff": [("diff", "evil", "main", "main"), ("diff", "evil", "main", ATTACKS[1]),
             ("diff", "broken", "main", "main")],
    "switch": [("switch", "evil", ATTACKS[0])],
    "rename": [("rename", "evil", ATTACKS[1]), ("rename", "evil", ATTACKS[6], "--json")],
    "tag": [("tag", "evil"), ("tag", "evil", "--json"), ("tag", "evil", f"+{ATTACKS[6]}"),
            ("tag", "evil", f"--{ATTACKS[0]}")],
    "pause": [("pause", "evil"), ("pause", "evil", "--json")],
    "complete": [("complete", "evil"), ("complete", "evil", "--json")],
    "reopen": [("reopen", "evil")],
    "delete": [("delete", ATTACKS[0]), ("delete", "evil", "--yes")],
    "clean": [("clean", "--older-than", "1s", "--dry-run"), ("clean", "--older-than", ATTACKS[0])],
    "trash": [("trash", "list"), ("trash", "list", "--json"), ("trash", "restore", ATTACKS[0]), ("trash", ATTACKS[1])],
    "trust": [("trust", "evil"), ("trust", "evil", "--yes"), ("trust", ATTACKS[0])],
    "scope": [("scope", "check", "evil", "--read", ATTACKS[0]), ("scope", "allow", "evil", "--read", ATTACKS[6]),
              ("scope", "check", "evil", "--shell", ATTACKS[3], "--json"), ("scope", "show", "evil"),
              ("scope", ATTACKS[1]), ("scope", "set", "evil", ATTACKS[2]), ("scope", "hook", ATTACKS[0])],
    "convert": [("convert", "evil", "--to", "journal:copies"), ("convert", "--all", "--to", "soleur:copies", "--json"),
                ("convert", ATTACKS[0], "--to", ATTACKS[1])],
    "import": [("import", ATTACKS[0]), ("import", "claude", ATTACKS[1]), ("import", "claude", "--all", "--json")],
    "watch": [("watch", ATTACKS[0])],
    "relink": [("relink", ATTACKS[0], "."), ("relink", ".", ATTACKS[1])],
    "gptel": [("gptel", "new", ATTACKS[0], "--store", "gptel:tree"), ("gptel", "open", ATTACKS[1]),
              ("gptel", "branches", ATTACKS[2], "--json"), ("gptel", ATTACKS[3])],
    "verify": [("verify",), ("verify", "broken"), ("verify", "--json")],
    "recover": [("recover", "broken", "--yes"), ("recover", "evil", "--yes")],
    "store": [("store", "info"), ("store", "info", "--json"), ("store", "add-space", ATTACKS[0], "--role", ATTACKS[1]),
              ("store", "create", "--grant-read", ATTACKS[2]), ("store", ATTACKS[0])],
    "setup": [("setup", ATTACKS[0]), ("setup", ATTACKS[1], "--json")],
    "completion": [("completion", "bash"), ("completion", ATTACKS[0])],
}  # fmt: skip
EVERYTHING = [call for calls in CALLS.values() for call in calls]
ELSEWHERE = [("--store", ATTACKS[0]), (ATTACKS[1],), ("list", "--store", f"journal:/dev/null/{ATTACKS[2]}")]


@pytest.fixture
def evil(cli: Segue) -> Segue:
    with cli.library.create(agent=ALL, title=ALL, tags=[ALL], id="evil") as live:
        for attack in ATTACKS:
            live.add("user", attack, parts=[{"type": attack}])
        live.decide(ALL)
    odd = b'{"type":"turn","role":"\\u001b]0;x\\u0007","content":"\\u009b","timestamp":"\\u001b[2J","seq":3'
    (cli.root / "broken.jsonl").write_bytes(
        b'{"type":"metadata","session_id":"broken","agent":"\\u001b[31m","created_at":"2026-01-01T00:00:00Z","status":"active"}\n'
        b'{"type":"\\u001b[5m","status":"\\u001b[5m"}\n' + b'%b,"sum":"%08x"}\n' % (odd, crc32(odd))
    )
    return cli


def obeyed(shown: bytes) -> list[str]:
    """What a terminal would obey, apart from our own colours and progress."""
    text = shown.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r\x1b[K", "")
    text = re.sub(r"\x1b\[\d+m", "", text)
    return [
        character
        for character in text
        if (unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\t") or character in BIDI
    ]


def test_every_verb_is_tried() -> None:
    assert set(CALLS) == set(VERBS)


@pytest.mark.parametrize("call", EVERYTHING + ELSEWHERE, ids=lambda call: ascii(" ".join(call))[:50])
def test_at_a_terminal_no_control_character_gets_through(evil: Segue, call: tuple[str, ...]) -> None:
    result = evil.at_terminal(*call).end()
    assert obeyed(result.out) == []
    assert b"Traceback" not in result.out


@pytest.mark.parametrize(
    "call",
    [call for call in EVERYTHING if call[0] != "export" or "--format" in call],
    ids=lambda call: ascii(" ".join(call))[:50],
)
def test_piped_none_gets_through_either(evil: Segue, call: tuple[str, ...]) -> None:
    result = evil.run(*call)
    assert obeyed(result.out + result.err) == []
    assert b"Traceback" not in result.err


def test_without_colour_a_terminal_gets_no_escape_at_all(evil: Segue) -> None:
    for call in (("list",), ("show", "evil"), ("show", "nobody")):
        assert b"\x1b" not in evil.at_terminal(*call, NO_COLOR="1").end().out


def test_the_attacks_are_shown_and_nothing_is_dropped(evil: Segue) -> None:
    shown = evil.ok("show", "evil")
    assert "\\x1b]52;c;cm0gLXJmIH4=\\x07 clipboard" in shown
    assert "harmless\\rrm -rf" in shown
    assert "\\u202egnp.exe" in shown
    assert "lone \\ud800 surrogate" in shown
    assert segue.open(evil.store).load("evil").turns[0].content == ATTACKS[0]
