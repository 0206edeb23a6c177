"""Lines of shell: what they run, and when nobody can know."""

from __future__ import annotations

import string
import subprocess
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.scope.shell import NotUnderstoodError, Redirection, parse


def words(line: str) -> list[tuple[str | None, ...]]:
    return [part.words for part in parse(line) if part.words]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls -la", [("ls", "-la")]),
        ("a; b && c || d | e |& f & g", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("a\nb\n\n# c\nd # e", [("a",), ("b",), ("d",)]),
        ("a\\\n b 'c d' \"e f\" g\\ h", [("a", "b", "c d", "e f", "g h")]),
        ("a ''", [("a", "")]),
        ('a "b\\"c\\$d\\e"', [("a", 'b"c$d\\e')]),
        ("r''m \"-r\"f", [("rm", "-rf")]),
        ("a#b", [("a#b",)]),
        ("a $(b c) d", [("b", "c"), ("a", None, "d")]),
        ('a `b` "x $(c `d`)"', [("b",), ("d",), ("c", None), ("a", None, None)]),
        ("a $B ${C}x $1 $? 'd$e'", [("a", None, None, None, None, "d$e")]),
        ("a 5$ $", [("a", "5$", "$")]),
        ("(a; b) | { c; }", [("a",), ("b",), ("c",)]),
        ("! a", [("a",)]),
        ("if a; then b; elif c; then d; else e; fi", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("while a; do b; done", [("a",), ("b",)]),
        ("for x in 1 $(a); do b $x; done", [("a",), ("b", None)]),
        ("for x\ndo a; done", [("a",)]),
        ("A=1 B=2 c", [("A=1", "B=2", "c")]),
        ("A=1", [("A=1",)]),
        ("find . -exec rm {} \\;", [("find", ".", "-exec", "rm", "{}", ";")]),
        ("diff <(a) >(b)", [("a",), ("b",), ("diff", None, None)]),
        ("[ -f x ]", [("[", "-f", "x", "]")]),
        ("sh -c 'a; b'", [("sh", "-c", "a; b"), ("a",), ("b",)]),
        ("sudo /bin/bash -lc 'a'", [("sudo", "/bin/bash", "-lc", "a"), ("a",)]),
        ("eval a '; b'", [("eval", "a", "; b"), ("a",), ("b",)]),
    ],
)
def test_every_command_of_a_line_is_found(line: str, commands: list[tuple[str | None, ...]]) -> None:
    assert words(line) == commands


@pytest.mark.parametrize(
    ("line", "redirections"),
    [
        ("a > b", [Redirection(writes=True, path="b")]),
        ("a 2>>'b c'", [Redirection(writes=True, path="b c")]),
        ("a &> b", [Redirection(writes=True, path="b")]),
        ("a >| b", [Redirection(writes=True, path="b")]),
        ("a >& b", [Redirection(writes=True, path="b")]),
        ("a < b", [Redirection(writes=False, path="b")]),
        ("a <> b", [Redirection(writes=True, path="b"), Redirection(writes=False, path="b")]),
        ("a 2>&1 >&2 <&- <<< word", []),
        ("> b", [Redirection(writes=True, path="b")]),
        ("{ a; } > b", [Redirection(writes=True, path="b")]),
        ("(a) > b", [Redirection(writes=True, path="b")]),
        ("cd x && a > /b", [Redirection(writes=True, path="/b")]),
    ],
)
def test_files_that_the_shell_opens_itself_are_found(line: str, redirections: list[Redirection]) -> None:
    assert [each for part in parse(line) for each in part.redirections] == redirections


@pytest.mark.parametrize(
    "line",
    [
        *("$A b", "$(a) b", "`a`", "/bin/r? x", "A=$(b) c", "*", '"$A"'),
        *("a 'b", 'a "b', "a `b", "a $(b", "a )", "(a", "a \\"),
        *("{a,b}", "a {b,c}", "a x{1..3}", "a $((1))", "a $[1]", "a ${B:-c}", "a $'b'", 'a $"b"'),
        *("a <<EOF\nb\nEOF", "a <<-EOF", "f() { a; }", "function f { a; }", "case a in b) c;; esac", "[[ -f a ]]"),
        *("((a))", "for ((;;)); do a; done", "coproc a", "a=(b c)", "(a) b", "select x in a; do b; done"),
        *("a > $B", "a > *.txt", "a >", "a > ;", "cd x && a > b", "a\x1b", "a\rb", "a\0b", "a" * 30_000),
        *("for x do a; done", "a > ~b/c", "a > '~/c'", "a > ~+", "command cd x && a > b"),
        *("eval $A", "sh -c $A", "sh $A", "sh -c 'a `'", "alias a=b", "trap 'a' EXIT", "$(" * 50),
    ],
)
def test_what_cannot_be_understood_is_refused(line: str) -> None:
    with pytest.raises(NotUnderstoodError):
        parse(line)


@given(st.text(st.sampled_from(" \n;&|()<>{}[]$`'\"\\#!~*?=ab12-./"), max_size=30))
def test_whatever_a_line_holds_it_is_understood_or_refused(line: str) -> None:
    with suppress(NotUnderstoodError):
        parse(line)


@given(st.lists(st.text(string.ascii_letters + " '\"\\$`;&|<>(){}#*?!\t", max_size=8), min_size=1, max_size=4))
def test_a_real_shell_sees_the_same_words(given_words: list[str]) -> None:
    import shlex

    line = shlex.join(["printf", "%s\\0", *given_words])
    shown = subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout.decode()
    assert words(line) == [("printf", "%s\\0", *shown.split("\0")[:-1])]


@given(st.text(st.sampled_from(" ;&|'\"\\#ab"), max_size=16))
def test_of_what_is_understood_a_real_shell_runs_the_same_commands(tail: str) -> None:
    line = f"p x{tail}"
    try:
        commands = words(line)
    except NotUnderstoodError:
        return
    # Every name that can come up is a function that tells its words, and `false` lets both sides of && and || be seen.
    functions = 'p() { printf "p"; printf " <%s>" "$@"; echo; }; '
    done = subprocess.run(["sh", "-c", f"{functions}{line}"], capture_output=True, check=False, timeout=20)
    told = ["p" + "".join(f" <{word}>" for word in command[1:]) for command in commands if command[0] == "p"]
    assert all(one in told for one in done.stdout.decode().splitlines() if one.startswith("p "))
