"""Lines of shell as people, agents and attackers write them: mostly plain, with something odd now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

HEADS = ("ls", "cat", "say", "git status", "git log", "ls", "say")
WORDS = (
    *("a", "b", "-l", "-la", "app", "x=1", "notes", "HEAD", "--all", "5", "a.b", "a:b", "a,b", "@", "%s", "+x", "]"),
    *("'a b'", '"a b"', "a\\ b", "'$X'", "'`'", "'a\nb'", '"a\nb"', '"$X"', "$X", "${X}", '"${X}"', "$?", '"$"', "$"),
    *("*", "?", "[ab]", "*.pem", "'*'", "\\*", "{}", "-I{}", "~", "~/a", "HEAD~1", "HEAD^", "a#b", "'#'", "\\#"),
    *("=ls", '""', "''", "'a''b'", "r''m", "\"a\"b'c'", '"\\$X"', '"\\`"', '"\\""', '"a\\b"', "\\\\", "\\'", '\\"'),
    *("\\;", "\\|", "é", "日本", "'é à'", '"wow!"', '"wow! "', "'!'", "\\!", "a=b=c", "a==b", "a=~/b", "'~/a'", "\\~"),
    *("é=1", "2", "12", "'a[$(touch X)]'", '"a;b"', "'a|b'", '"(a)"', "'{a,b}'", "\\{a", "\\(a\\)", "\\&", "\\<a"),
    *("\\>", "\\ ", "-", "--", "''=ls", '""~/a', "''#", "''*"),
    # Characters whose bytes have a meaning inside of dash and zsh.
    *("ÁÂÃÄÅÆÇÈ", "'ÁÂÃÄ'", '"ÅÆÇÈ"', "\\Á", "â\u0443", "Ă=1"),
)
REDIRECTIONS = (
    *("> app/out", ">app/out", ">> app/out", "2>/dev/null", "2> /dev/null", "2>&1", ">&2", "1>&2", "< notes"),
    *("<notes", "1> app/one", "> 'app/a b'", "> app/x", "2>>app/log", "> app/../new", "> ~/new", "> /dev/null 2>&1"),
    *(">app/é", "> app/ÁÂÃ", "> 'app/ÄÅ'"),
)
CONNECTORS = (" && ", "&&", " || ", "||", "; ", ";", " | ", "|", "\n", "\n\n", " & ", "&", " &&\n", " |\n ", " ;\n")
FRAGMENTS = (
    *("$(touch X)", "`touch X`", '"$(touch X)"', '"`touch X`"', '"$\\\n(touch X)"', "$\\\n(touch X)", "\\\n"),
    *("<(touch X)", "<(ls)#x; touch X", ">(touch X)", "=(touch X)", "#x; touch X", "#", " # "),
    *("{ ls } always { touch X }", "{", "}", "for HOME in /tmp; do git status; done", "> app/$\\\nx", "> app/$X"),
    *("{a,b}", "{1..3}", "${X:-$(touch X)}", "$'a'", '$"a"', "$((1))", "$[1]", "((1))", "<<E\ntouch X\nE\n", "<<<a"),
    *("&> app/o", "&>> app/o", ">& app/o", ">! app/o", ">| app/o", ">>| app/o", "|& touch X", "&|", "&!", ";;", ";&"),
    *(";|", "<1-5>", "<->", "3x<1-5>y", "12> app/o", "3>a", "'2'>a", "2\\>a", "{fd}>app/o", "<&-", "<> notes"),
    *("> notes", "< .env", "*(e:touch X:)", "*(N)", "**/*", "^a", "a~b", "=touch", "~+", "~root", "~-/a", "!!"),
    *("!ls", "! ls", "^a^b", "time ls", "noglob ls *", "- ls", "repeat 2 ls", "nocorrect touch X"),
    *("if ls; then touch X; fi", "while ls; do touch X; done", "case a in a) touch X;; esac", "f() { touch X; }"),
    *("function ls { touch X; }", "alias ls=touch", "eval touch X", ". ./a", "HOME=/tmp ls", "A=1 ls", "A=1"),
    *("PATH=/tmp:$PATH", "A+=b ls", "a[1]=2 ls", "ls() touch X", "coproc touch X", "[[ a ]]", "[ a ]", "test a"),
    *("\xa0", "\u2028", "\u3000", "\x0b", "\r", "\x1b", "\x7f", "\\\r\n", "\ufeff", "\u200b", "''", '""', "\\", "'"),
    *('"', "$X[1]", "$X[$(touch X)]", '"$X[\\$(touch X)]"', "$X:h", '"$X:s/a/b/"', "${(e)X}", "${X}", "$$", "$!"),
    *("$#", "$@", "printf %d 'path[$(touch X)]'", "test -v 'a[$(touch X)]'", "exit 'path[$(touch X)]'"),
    *("[ 'a[$(touch X)]' -eq 0 ]", "&& touch X", "; touch X", "| touch X", "\ntouch X", "& touch X", "|| touch X"),
    *("touch X", "rm a", "> X", "<X >X", "foreach a (1) touch X; end", "select a in b; do touch X; done", "()"),
    *("( touch X )", "(touch X)", "always", "in a", "ls\\\n", "l\\\ns", "'\\\n'", '"\\\n"', "$\\X", "\\$(touch X)"),
    *("$'\\x24(touch X)'", '"\\$(touch X)"', "\\`touch X\\`"),
)
ALPHABET = "\\\n$`'\"(){}[]<>|&;#!~^=*?: \t012aX/-.,@%+éÁÃ"


def make_line(rng: random.Random) -> str:
    """A few commands, and in about every second line something that does not belong there."""
    line = _command(rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        line += rng.choice(CONNECTORS) + _command(rng)
    if rng.random() < 0.35:
        at = rng.randrange(len(line) + 1)
        fragment = rng.choice(FRAGMENTS)
        line = f"{line[:at]}{rng.choice(('', ' ', '; '))}{fragment}{rng.choice(('', '', ' '))}{line[at:]}"
    for _ in range(rng.choice((0, 0, 0, 1, 2, 3))):
        line = _changed(rng, line)
    return line


def _command(rng: random.Random) -> str:
    pieces = [rng.choice(HEADS)]
    pieces += [rng.choice(WORDS) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    if rng.random() < 0.3:
        pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(REDIRECTIONS))
    return rng.choice((" ", " ", " ", "\t", "  ")).join(pieces)


def _changed(rng: random.Random, line: str) -> str:
    """One character more, less, or another."""
    at = rng.randrange(len(line) + 1)
    match rng.randrange(5):
        case 0 | 1:
            return line[:at] + rng.choice(ALPHABET) + line[at:]
        case 2:
            return line[:at] + line[at + 1 :]
        case 3:
            return line[:at] + rng.choice(ALPHABET) + line[at + 1 :]
        case _:
            return line[:at] + line[at : at + 2][::-1] + line[at + 2 :]
