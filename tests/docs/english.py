"""Finds words that Segue no longer uses in what users read: help texts, messages, hints and the prose of the pages.

`.venv/bin/python -m tests.docs.english` prints every finding with a better word.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from segue.dialects.ralph.arguments import find_help
from tests.docs.pages import PAGES, ROOT, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOURCE = ROOT / "src" / "segue"
LONGEST_SUMMARY = 60

TICS = {
    "is no X": (r"(?<!there\s)(?<!where\s)\bis no (?!longer|more|one|such|better|worse|less)\w+", "is not a X"),
    "say": (r"\b(?:say|says|said|saying|told)\b", "print, show, set, use, name, report"),
    "whoever": (r"\b(?:whoever|nobody|somebody|whatever|anybody)\b", "the user, another process, no one, any"),
    "stand": (r"\bstands? (?:in|at|on|so|there|before|above|below|first|alone|beside|behind)\b", "is in, appears"),
    "behind": (r"\bbehind\b", "after"),
    "go on": (r"\b(?:go|goes|going|went|gone) on\b", "continue, resume"),
    "one X a Y": (
        r"\b(?:one|a|an|each) \w+ an? (?:session|line|turn|second|call|story|message|row|verb|file)\b",
        "one X per Y",
    ),
    "come back": (r"\b(?:come|comes|came|coming) back\b", "resume, return"),
    "anew": (r"\banew\b", "again, rebuilt"),
    "beside": (r"\bbeside\b", "next to, in addition to"),
    "at hand": (r"\bat hand\b", "current, selected"),
    "is kept": (r"\b(?:is|are|was|were|be) kept\b", "is stored, is saved"),
    "people": (r"\b(?:a person|persons|people)\b", "the user, users"),
    "stranger": (r"\bstrangers?\b", "untrusted, someone else"),
    "hold": (r"\b(?:hold|holds|held|holding) (?:a|the|this|that|its) conversation", "chat, start a conversation"),
    "let go": (r"\blets? (?:it |them )?go\b", "release"),
    "odd": (r"\bodd\b", "unexpected, invalid, malformed"),
    "so many": (r"\b(?:so many|as much as)\b", "N, up to N"),
    "would not": (r"\b(?:would|will) not\b", "cannot, failed to"),
    "a look": (r"\b(?:a|the|another|first|second|one) (?:look|glance)\b", "check, read"),
    "to the letter": (r"\bto the letter\b", "exactly"),
    "contraction": (r"\b(?:\w+n't|it's|that's|there's|you're|you'll|we're|I'm)\b", "the words in full"),
}
_PATTERNS = {
    name: (re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), better) for name, (pattern, better) in TICS.items()
}

_SPEAKING = {
    *("warn", "note", "error", "line", "progress", "confirm", "prompt", "prompt_after_flush", "notify", "write_stderr"),
    *("storage_error", "Damage", "fail", "option", "argument", "print_change"),
}
"""Functions whose text arguments reach the user, in addition to every class whose name ends in Error."""
_SPOKEN = {"hint", "help", "message", "reason"}
"""Keyword arguments and variables that hold text for the user."""


class Text(NamedTuple):
    place: str
    line: int
    text: str


class Finding(NamedTuple):
    place: str
    line: int
    tic: str
    message: str


def tics_in(texts: Iterable[Text]) -> Iterator[Finding]:
    for place, line, text in texts:
        for tic, (pattern, better) in _PATTERNS.items():
            for match in pattern.finditer(text):
                at = line + text.count("\n", 0, match.start())
                around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
                yield Finding(place, at, tic, f"{place}:{at}: {match[0]!r} in …{around}…; better: {better}")


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def prose(text: str) -> str:
    """The text of a page without code blocks, code spans and link targets; line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = re.sub(r"^( *)```.*?^\1```", blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", blank, text, flags=re.DOTALL)
    return re.sub(r"\]\([^)\s]*\)", "]", text)


def pages() -> Iterator[Text]:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        yield Text(name_of(page), 1, prose(page.read_text(encoding="utf-8")))


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def messages() -> Iterator[Text]:
    for file in sorted(SOURCE.rglob("*.py")):
        for line, text in spoken(ast.parse(file.read_bytes())):
            yield Text(name_of(file), line, text)


def spoken(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The string literals that reach the user, by what they are passed to."""
    seen: set[int] = set()
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            if _name(node.func) in _SPEAKING or _name(node.func).endswith("Error"):
                values += node.args
            values += [keyword.value for keyword in node.keywords if keyword.arg in _SPOKEN]
        elif isinstance(node, ast.Assign) and any(_name(target) in _SPOKEN for target in node.targets):
            values.append(node.value)
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in seen:
                    seen.add(id(part))
                    yield part.lineno, part.value


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


# ── Help ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand of `segue` and the dialects, with its full name."""
    yield from _below("segue", importlib.import_module("segue.cli.app").app)
    for name, dialect in {"aur": "aurora", "cortext": "cortext", "soleur": "soleur"}.items():
        app = getattr(importlib.import_module(f"segue.dialects.{dialect}.cli"), "app", None)
        if app is not None:
            yield from _below(name, app)


def _below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for sub in command.list_commands(context):
            if (found := command.get_command(context, sub)) is not None:
                yield from _below(f"{name} {sub}", found)


def plain_help() -> Iterator[tuple[str, str]]:
    """The help of `ralphtool`, which is not a click command, with the name of the command."""
    yield "ralphtool", find_help(["--help"]) or ""
    yield "ralphtool run", find_help(["run", "--help"]) or ""


def help_texts() -> Iterator[Text]:
    yield from (Text(name, 0, text) for name, text in plain_help())
    for name, command in commands():
        yield Text(name, 0, command.help or "")
        for option in command.params:
            if isinstance(option, click.Option):
                yield Text(name, 0, option.help or "")


def summary_of(command: click.Command) -> str:
    return (command.help or "").partition("\n\n")[0].replace("\n", " ").strip()


def long_summaries() -> Iterator[Finding]:
    for name, command in commands():
        summary = summary_of(command)
        if " " in name and not 0 < len(summary) <= LONGEST_SUMMARY:
            yield Finding(name, 0, "summary", f"{name} --help: {summary!r} has {len(summary)} characters")
    for _, text in plain_help():
        for name, summary in re.findall(r"^  (ralphtool(?: [\w-]+)*)  +(\S.*)$", text, re.MULTILINE):
            if len(summary) > LONGEST_SUMMARY:
                yield Finding(name, 0, "summary", f"{name} --help: {summary!r} has {len(summary)} characters")


def findings() -> list[Finding]:
    return [*tics_in(pages()), *tics_in(messages()), *tics_in(help_texts()), *long_summaries()]


if __name__ == "__main__":
    found = findings()
    sys.stdout.write("".join(f"{one.message}\n" for one in found) + f"{len(found)} findings\n")
