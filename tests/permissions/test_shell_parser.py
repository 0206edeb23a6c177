"""Lines of shell: what they run, and what is refused since shells may read it otherwise."""

from __future__ import annotations

import string
import subprocess
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.permissions.shell_parser import LENGTH, Redirection, UnsupportedShellError, parse_shell


def words(line: str) -> list[tuple[str | None, ...]]:
    return [part.words for part in parse_shell(line)]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls -la", [("ls", "-la")]),
        ("a; b && c || d | e & f", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]),
        ("a&&b||c|d;e&", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("a\nb\n\n\tc &&\n\n d |\ne\n", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("a 'b c' \"d e\" f\\ g", [("a", "b c", "d e", "f g")]),
        ("a ''", [("a", "")]),
        ("a 'b\nc' \"d\ne\"", [("a", "b\nc", "d\ne")]),
        ('a "b\\"c\\$d\\e\\\\\\`"', [("a", 'b"c$d\\e\\`')]),
        ("r''m \"-r\"f", [("rm", "-rf")]),
        ("a $B ${C}x $? 'd$e' \"$F\"", [("a", None, None, None, "d$e", None)]),
        ('a 5$ $ "5$" "$ "', [("a", "5$", "$", "5$", "$ ")]),
        ("a *.b b? [c] ^d e^ f~1 g#h =i j==k l=~/m", [("a", *[None] * 10)]),
        ("a '*' \\* \\# '#' \\~ '~' '=b'", [("a", "*", "*", "#", "#", None, None, "=b")]),
        ("a ~ ~/b ~/'c d' b/~", [("a", "~", "~/b", "~/c d", None)]),
        ("a 'b''c'", [("a", None)]),
        ("a ''=b \"\"=b 'c'=d", [("a", None, None, "c=d")]),
        ("A=1 B='2 3' c", [("A=1", "B=2 3", "c")]),
        ("A=1", [("A=1",)]),
        ("a B=1 --c=d", [("a", "B=1", "--c=d")]),
        ("find . -exec rm {} \\;", [("find", ".", "-exec", "rm", "{}", ";")]),
        ("[ -f x ]", [("[", "-f", "x", "]")]),
        ("sh -c 'a; b'", [("sh", "-c", "a; b"), ("a",), ("b",)]),
        ("sudo /bin/bash -lc 'a'", [("sudo", "/bin/bash", "-lc", "a"), ("a",)]),
        ("sh -c 'sh -c \"a\"'", [("sh", "-c", 'sh -c "a"'), ("sh", "-c", "a"), ("a",)]),
        ("env sh -ec -x -- 'a' b", [("env", "sh", "-ec", "-x", "--", "a", "b"), ("a",)]),
        ("sh -o a -c 'b' c", [("sh", "-o", "a", "-c", "b", "c"), ("b",), ("c",)]),
        ("bash -c -o a 'b'", [("bash", "-c", "-o", "a", "b"), ("a",), ("b",)]),
        ("bash -eco a 'b'", [("bash", "-eco", "a", "b"), ("a",), ("b",)]),
        ("bash --norc -c 'a' b", [("bash", "--norc", "-c", "a", "b"), ("a",)]),
        ("fish x", [("fish", "x")]),
        ("a é 日本 'à é'", [("a", "é", "日本", "à é")]),
        ('a "wow!" "wow! b" \'!c\' \\!', [("a", "wow!", "wow! b", "!c", "!")]),
    ],
)
def test_every_command_of_a_line_is_found(line: str, commands: list[tuple[str | None, ...]]) -> None:
    assert words(line) == commands


@pytest.mark.parametrize(
    ("line", "redirections"),
    [
        ("a > b", [Redirection(writes=True, path="b")]),
        ("a>b", [Redirection(writes=True, path="b")]),
        ("a 2>>'b c'", [Redirection(writes=True, path="b c")]),
        ("a < b", [Redirection(writes=False, path="b")]),
        ("a > ~/b", [Redirection(writes=True, path="~/b")]),
        ("> b a", [Redirection(writes=True, path="b")]),
        ("a 2>&1 >&2 1>&2", []),
        ("a >/dev/null 2>&1", [Redirection(writes=True, path="/dev/null")]),
        ("cd x && a > /b", [Redirection(writes=True, path="/b")]),
    ],
)
def test_files_that_the_shell_opens_itself_are_found(line: str, redirections: list[Redirection]) -> None:
    assert [each for part in parse_shell(line) for each in part.redirections] == redirections


@pytest.mark.parametrize(
    "line",
    [
        # What is only known when it runs, where it must be known.
        *("$A b", "*", "/bin/r? x", '"$A"', "''", "a > $B", "a > *.txt", "a > 'b''c'", "a > '~/c'", "a > ''", "=ls"),
        *("sh -c $A", "sh $A", "env sh -c $A", "command $A", "exec $A", "tcsh -fc a", "fish -c a", "env fish $A"),
        # Substitutions, wherever they hide.
        *("$(a) b", "`a`", "a $(b)", 'a "$(b)"', 'a "`b`"', "A=$(b) c", "a $((1))", "a $[1]", "a ${B:-c}", "a $'b'"),
        *('a $"b"', "a $1", "a $@", "a $B[1]", 'a "$B[\\$(c)]"', "a ${B}[1]", "a $B:h", "a ${(e)B}", "a <(b)"),
        *("a >(b)",),
        # A backslash at the end of a line.
        *('a "$\\\n(b)"', "a > b/$\\\nx", "a \\\n b", "a\\\nb", '"\\\n"', "a \\", "a \\\r\n"),
        # Brackets, loops, functions, and words of a shell.
        *("(a)", "{ a; }", "{a,b}", "a {b,c}", "a x{1..3}", "a }", "a {", "f() { a; }", "function f { a; }", "((a))"),
        *("for HOME in /evil; do git status; done", "while a; do b; done", "until a; do b; done", "if a; then b; fi"),
        *("case a in b) c;; esac", "select x in a; do b; done", "[[ -f a ]]", "coproc a", "! a", "time a", "a=(b c)"),
        *("{ ls } always { touch x }", "repeat 2 a", "noglob a", "nocorrect a", "- a", "foreach a (b) c; end"),
        *("'if' a",),
        # Comments, history, and what zsh and bash read in their own way.
        *("a # b", "# a", "a\n#b\nc", "!a", "!!", "a!", 'a "!b"', 'a "\\!"', "a > ~b/c", "a ~b", "a ~+", "a *(e:b:)"),
        *("a |& b", "a &> b", "a &>> b", "a >& b", "a >| b", "a >! b", "a <> b", "a <&-", "a <<EOF\nb\nEOF", "a <<< b"),
        *("a &! b", "a &| b", "a ;; b", "a ;& b", "a ;| b", "a <1-5>", "a <1-5>b", "a >b>c", "12>a b", "a 12>b"),
        *("3>b a",),
        *("'2'>a b", "{fd}>b a", "> b", "< b", ">&2", "a; >&2", "A=1 > b", "a > /dev/tcp/b/80", "a < /dev/udp/b/80"),
        # What is cut off.
        *("a 'b", 'a "b', "a `b", "a &&", "a |", "a ||\n", "; a", "&& a", "a ; ; b", "a >", "a > ;", "a > &"),
        # What changes what the rest of the line means.
        *("alias a=b", "trap 'a' EXIT", "eval a", ". a", "source a", "export A=b", "set -k", "shopt -s a", "unset a"),
        *("command eval a", "exec -a b eval", "builtin a", "read PATH", "hash -p a b", "A+=b c", "'A=1' b", "a[0]=1 b"),
        *("cd x && a > b", "cd x; ./a", "command cd x && a > b", "a > b; pushd x"),
        # What runs commands while it calculates.
        *("printf %d 'a[$(b)]'", "test -v 'a[`b`]'", "[ 'a[b]' -eq 0 ]", "exit 'a[$(b)]'", "printf %d *", "[ $A ]"),
        *("printf -v PATH b", "command printf %d 'a[$(b)]'", "wait -p 'a[$(b)]'"),
        # What cannot be seen, and what is too much.
        *("a\x1b", "a\rb", "a\0b", "a\u00a0b", "a\u2028b", "a '\u202e'", "a \ud800", "a \ufeff", "a \x7f", "a \x85"),
        *("a" * (LENGTH + 1), "$(" * 6000, "(" * 6000, '"$(' * 3000, "sh -c a; " * 20, "{ " * 5000, "`" * 9000),
    ],
)
def test_what_cannot_be_understood_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedShellError):
        parse_shell(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls $(touch x)", "a substitution at character 4"),
        ("ls (a)", "this ( at character 4"),
        ("for a in b; do c; done", "'for' is not supported"),
        ("ls \\\n a", "a backslash at the end of a line at character 4"),
        ("ls 'a", "a quote without an end at character 4"),
        ("ls # a", "a comment at character 4"),
        ("export A=b", "export is not supported"),
        ("cd x; ls > y", "it changes the folder, so the location of 'y' is not known"),
    ],
)
def test_a_refusal_says_what_was_not_understood(line: str, reason: str) -> None:
    with pytest.raises(UnsupportedShellError) as refused:
        parse_shell(line)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    "line",
    [
        "env " * 4_999 + "ls",
        "sh " * 6_000,
        "a " * 9_999,
        "a;" * 9_999 + "a",
        "'" + "a" * 19_000 + "'",
        "a>b " * 4_000,
        "\\a" * 9_999,
        "$A" * 9_999,
        '"" ' * 6_000,
    ],
    ids=range(9),
)
def test_no_line_takes_long(line: str) -> None:
    # In any other than linear time, some of these would outlast the time limit of the tests by far.
    with suppress(UnsupportedShellError):
        parse_shell(line)


@given(st.text(st.sampled_from(" \n;&|()<>{}[]$`'\"\\#!~*?=ab12-./"), max_size=30))
def test_whatever_a_line_holds_it_is_understood_or_refused(line: str) -> None:
    with suppress(UnsupportedShellError):
        parse_shell(line)


@given(st.lists(st.text(string.ascii_letters + " '\"\\$`;&|<>(){}#*?!\t", max_size=8), min_size=1, max_size=4))
def test_a_real_shell_sees_the_same_words(given_words: list[str]) -> None:
    import shlex

    line = shlex.join(["/usr/bin/printf", "%s\\0", *given_words])
    shown = subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout.decode()
    assert words(line) == [("/usr/bin/printf", "%s\\0", *shown.split("\0")[:-1])]
