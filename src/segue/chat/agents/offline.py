"""The offline agent: a few rules that read a message closely and ask the next question.

It needs no network and no key, gives the same answer to the same request, and says that it is not a model. The texts
are in `offline_rules`. This module finds the rule that a message matches, how often it matched before, and what the
user has said, decided or attached on the same subject.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from segue.chat.agent import TextDelta
from segue.chat.agents.offline_rules import AMOUNT, INTRODUCTION, PLAINLY, RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from segue.chat.agent import Piece, Request

RECAP_EVERY = 6
"""After this many messages of the user, the answer lists them."""
REMEMBERED = 60
"""The number of messages of the user that are read."""
SHARED_WORDS = 2
"""Two texts with this many words in common are taken to be about the same subject."""
QUOTED_CHARS = 140
READ_CHARS = 4000
"""Of the beginning and of the end of a long text, such as a pasted log."""
AMOUNTS_HEEDED = 8

_COMMON = """
about above after again also although always another anything around because been before being below between
both could course does doing done down each either else even every everything from further going good have
having here into itself just know like look made make many maybe might mine more most much must need needs never
next nothing only other ours over perhaps please rather really right said same says should since some something
still such sure take than thank thanks that their theirs them then there these they thing things think this
those though through tell told under until upon used very want wants well were what when where whether which
while will with within without would your yours yourself yes
"""
COMMON_WORDS = frozenset(_COMMON.split())
"""Words that two texts may share without having the same subject."""

_CLOSED_TWICE = re.compile(r"([?!…]”)\.")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ERROR_LINE = re.compile(r"^.*(?:Error|Exception|Panic)\b.*$", re.MULTILINE)
_ABBREVIATED = re.compile(r"\b(vs|etc|e\.g|i\.e)\.(?=\s)", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!]+(?![\s.?!]|$)[^.?!\n]+)*[?!]?")
_BOLD_QUESTION = re.compile(r"\*\*([^*]+\?[^*]*)\*\*")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
_LEFT_OUT = re.compile(r"\[[\d,]+ earlier turns? .*\]")
# As `segue.chat.context.system_prompt` writes them.
_DECISIONS = re.compile(r"^# Decisions so far\n\n((?:- .*\n?)+)", re.MULTILINE)
_ATTACHED = re.compile(
    r"^# Attached file: (?P<path>.+?)(?P<note> \((?:only the first|none of the|the file has) .*\))?\n\n"
    r"(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class OfflineContext(NamedTuple):
    """The decisions and attachments in the system prompt."""

    decisions: list[str]
    attached: dict[str, str]
    """The texts of files, by file name."""


class ParsedMessage(NamedTuple):
    """The rule that a message of the user matches, and the values of its slots."""

    rule: Rule
    slots: dict[str, str]


class OfflineAgent:
    """Answers with a remark and a question that quote the user."""

    @property
    def name(self) -> str:
        return "offline"

    def answer(self, request: Request) -> Iterator[Piece]:
        for word in re.findall(r"\S+\s*", compose(request)):
            yield TextDelta(word)


def compose(request: Request) -> str:
    """The whole answer: paragraphs of Markdown, the question last."""
    messages = [
        message.content
        for message in request.messages
        if message.role == "user" and not _LEFT_OUT.fullmatch(message.content)
    ]
    answers = [message.content for message in request.messages if message.role == "assistant"]
    *earlier, last = messages[-REMEMBERED:] or [""]
    context = read_context(request.system)
    parsed = parse_message(last, earlier, asked=_last_question(answers[-1:]), decisions=context.decisions)
    times = sum(
        parse_message(text, earlier[:place]).rule.name == parsed.rule.name for place, text in enumerate(earlier)
    )
    reply = parsed.rule.replies[times % len(parsed.rule.replies)]
    paragraphs = [_CLOSED_TWICE.sub(r"\1", reply.remark.format_map(parsed.slots))]
    if not any(PLAINLY in text for text in (*answers, *paragraphs)):
        named = f" I have read {' and '.join(context.attached)}." if context.attached else ""
        paragraphs.insert(0, INTRODUCTION + named)
    if parsed.rule.has_subject:
        if len(messages) % RECAP_EVERY == 0:
            paragraphs.append(_recap([*earlier, last], context.decisions))
        else:
            links = _links(last, earlier[:-1], context)
            paragraphs += [link for link in links if not any(link in text for text in answers[-2:])]
    return "\n\n".join([*(paragraph.strip() for paragraph in paragraphs), f"**{reply.question}**"])


def parse_message(
    message: str, earlier: Sequence[str], *, asked: str = "…", decisions: Sequence[str] = ()
) -> ParsedMessage:
    """The first rule of the table whose sign is in the message."""
    sentences = _sentences(message) or ("…",)
    known = {"asked": asked, "recap": _recap(earlier, decisions), "before": _earlier_amount(message, earlier)}
    for rule in RULES:
        if rule.needs and not known[rule.needs]:
            continue
        for sentence in sentences:
            if (match := rule.sign.search(sentence)) is not None:
                named = {name: _trimmed(text) for name, text in match.groupdict("").items()}
                quotes = {"quote": _quoted(sentence), "say": "ask" if sentence.endswith("?") else "say"}
                return ParsedMessage(rule, known | named | quotes)
    raise AssertionError("the last rule of the table applies to anything")


def read_context(system: str) -> OfflineContext:
    """The decisions and the attached files in the system prompt."""
    attached = {
        f"`{PurePath(match['path']).name}`{match['note'] or ''}": match["text"] for match in _ATTACHED.finditer(system)
    }
    lists = _DECISIONS.findall(_ATTACHED.sub("", system))
    return OfflineContext([line.removeprefix("- ") for text in lists for line in text.splitlines()], attached)


def _links(message: str, earlier: Sequence[str], context: OfflineContext) -> list[str]:
    """Quotes on the same subject: from decisions and attachments or, without these, from earlier messages."""
    words = _words(message)
    links: list[str] = []
    if found := _nearest(words, context.decisions):
        links.append(f"You have recorded {_quoted(found)}. Check whether this still fits.")
    for name, text in context.attached.items():
        is_named = PurePath(name.split("`")[1]).stem.lower() in message.lower()
        lines = (line.strip(" #*->|\t") for line in text.splitlines())
        if found := _nearest(words, lines, 1 if is_named else SHARED_WORDS):
            links.append(f"{name} has a line on this: {_quoted(found)}.")
    if not links and (found := _nearest(words, (sentence for text in earlier for sentence in _sentences(text)))):
        links.append(f"Compare it with what you said earlier: {_quoted(found)}.")
    return links


def _nearest(words: frozenset[str], texts: Iterable[str], enough: int = SHARED_WORDS) -> str:
    """The text that shares most of the words; empty when none shares enough."""
    best, found = enough - 1, ""
    for text in texts:
        if (shared := len(words & _words(text))) > best:
            best, found = shared, text
    return found


def _recap(messages: Sequence[str], decisions: Sequence[str]) -> str:
    remarks = [sentences for text in messages if (sentences := _sentences(text)) and not _is_aside(sentences[0])]
    lines = [f"- {_quoted(max(sentences, key=len))}" for sentences in remarks[-RECAP_EVERY:]]
    if not lines:
        return ""
    recorded = [f"- decided: {_quoted(decision)}" for decision in decisions[-RECAP_EVERY:]]
    return "\n".join(["So far you have said:", "", *lines, *recorded])


def _is_aside(sentence: str) -> bool:
    """Whether it is a greeting, a yes, or a question about the agent itself."""
    return any(rule.sign.search(sentence) for rule in RULES if not rule.has_subject)


class _Amount(NamedTuple):
    text: str
    unit: str
    words: frozenset[str]
    """The other words of the sentence."""


def _earlier_amount(message: str, earlier: Sequence[str]) -> str:
    """Another amount of the same unit, given before in a sentence on the same subject."""
    for now in _amounts(message):
        for text in reversed(earlier):
            for before in _amounts(text):
                if before.unit == now.unit and before.text != now.text and before.words & now.words:
                    return before.text
    return ""


@lru_cache(maxsize=2 * REMEMBERED)
def _amounts(message: str) -> tuple[_Amount, ...]:
    return tuple(
        _Amount(amount, re.sub(r"[\d.,\s]", "", amount).lower().rstrip("s"), _words(sentence.replace(amount, "")))
        for sentence in _sentences(message)
        for amount in (match[0].strip() for match in AMOUNT.finditer(sentence))
    )[:AMOUNTS_HEEDED]


def _last_question(answers: Sequence[str]) -> str:
    for answer in answers:
        questions = _BOLD_QUESTION.findall(answer) or [text for text in _sentences(answer) if text.endswith("?")]
        if questions:
            return str(questions[-1])
    return ""


@lru_cache(maxsize=2 * REMEMBERED)
def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of the prose, then the lines of the code that tell of an error; of a long text both ends."""
    if len(text) > 2 * READ_CHARS:
        text = f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"
    prose = _SENTENCE.findall(_ABBREVIATED.sub(r"\1", _CODE.sub("\n", text)))
    errors = [line for code in _CODE.findall(text) for line in _ERROR_LINE.findall(code)]
    return tuple(found for line in (*prose, *errors) if (found := line.strip(" \t\r-*>#")))


def _words(text: str) -> frozenset[str]:
    """The words that tell what a text is about, plurals and singulars alike."""
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(word.removesuffix("s") for word in words if word not in COMMON_WORDS)


def _quoted(text: str) -> str:
    return f"“{_trimmed(text)}”"


def _trimmed(text: str) -> str:
    line = " ".join(text.split()).strip(" ,;:.")
    return line if len(line) <= QUOTED_CHARS else f"{line[: QUOTED_CHARS - 1].rsplit(' ', 1)[0]}…"
