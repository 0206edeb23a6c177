"""Asking the person at the terminal what an agent may do. Whoever does not answer has not agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from segue.tools.records import details_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.tools import ToolCall


_ATTEMPTS = 3
"""How often somebody is asked whose answer is none of the words; then it is a no."""


class Asks(Protocol):
    """As much of a terminal as this needs."""

    @property
    def is_interactive(self) -> bool: ...

    def answer(self, question: str) -> str | None: ...

    def note(self, text: str) -> None: ...


class Confirms(Asks, Protocol):
    """And as much as a question with a yes or a no needs."""

    def ask(self, question: str, *, default: bool) -> bool: ...


def trust_prompt(terminal: Confirms) -> Callable[[str], bool]:
    """For the `confirm` of a company: a person at a terminal sees what a session asks for; nobody else says yes."""

    def confirm(about: str) -> bool:
        if not terminal.is_interactive:
            return False
        terminal.note(about)
        return terminal.ask("Is that what you want? It is asked once for this session.", default=False)

    return confirm


class NoApprover:
    """Nobody is there to be asked: nothing is widened, confirmed or granted."""

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:  # noqa: ARG002 - by contract
        return "deny"

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:  # noqa: ARG002 - as above
        return "no"

    def grant(self, why: str, scope: str) -> bool:  # noqa: ARG002 - as above
        return False


class TerminalApprover:
    """See abilities.bench.Person. Lines of a script are no answers, and `yes` confirms what is in scope, no more."""

    def __init__(self, terminal: Asks, *, yes: bool = False) -> None:
        self._terminal = terminal
        self._yes = yes

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        words = ("once", "add", "no") if can_add else ("once", "no")
        word = self._ask(f"{details_of(call)}\n{why}", f"Allow it all the same? {_meanings(words, call)}", words)
        return "once" if word == "once" else "add" if word == "add" else "deny"

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:
        if self._yes:
            return "once"
        words = ("once", "always", "no")
        about = "\n".join(filter(None, (details_of(call), warning)))
        word = self._ask(about, f"Do it? {_meanings(words, call)}", words)
        return "once" if word == "once" else "always" if word == "always" else "no"

    def grant(self, why: str, scope: str) -> bool:
        return self._ask(f"{why}:\n{scope}", "Give it to this session? (yes, no)", ("yes", "no")) == "yes"

    def _ask(self, about: str, question: str, words: tuple[str, ...]) -> str:
        """One of the words, typed whole; the last of them, which is no, for Enter and for whoever does not answer."""
        if not self._terminal.is_interactive:
            return words[-1]
        self._terminal.note(about)
        for _ in range(_ATTEMPTS):
            answer = (self._terminal.answer(question) or "").strip().casefold()
            if answer in words:
                return answer
            if not answer:
                break
            self._terminal.note(f"That is no answer to it: type {', '.join(words[:-1])} or {words[-1]}.")
        return words[-1]


def _meanings(words: tuple[str, ...], call: ToolCall) -> str:
    """Each word means one thing, whatever the question."""
    meanings = {
        "once": "once",
        "add": "add (to the scope)",
        "always": f"always ({call.name}, in this conversation)",
        "no": "no",
    }
    return f"({', '.join(meanings[word] for word in words)})"
