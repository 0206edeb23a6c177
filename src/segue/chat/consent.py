"""Asking the person at the terminal what an agent may do. Whoever does not answer has not agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from segue.chat.calls import details_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.abilities import Call


class Asks(Protocol):
    """As much of a terminal as this needs."""

    @property
    def is_interactive(self) -> bool: ...

    def answer(self, question: str) -> str | None: ...

    def note(self, text: str) -> None: ...


class Confirms(Asks, Protocol):
    """And as much as a question with a yes or a no needs."""

    def ask(self, question: str, *, default: bool) -> bool: ...


def trusting(terminal: Confirms) -> Callable[[str], bool]:
    """For the `confirm` of a company: a person at a terminal sees what a session asks for; nobody else says yes."""

    def confirm(about: str) -> bool:
        if not terminal.is_interactive:
            return False
        terminal.note(about)
        return terminal.ask("Is that what you want? It is asked once for this session.", default=False)

    return confirm


class Nobody:
    """Nobody is there to be asked: nothing is widened, confirmed or granted."""

    def widen(self, call: Call, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:  # noqa: ARG002
        return "deny"

    def confirm(self, call: Call) -> Literal["no", "yes", "always"]:  # noqa: ARG002 - as the contract has it
        return "no"

    def grant(self, who: str, scope: str) -> bool:  # noqa: ARG002 - as above
        return False


class AtTerminal:
    """See abilities.bench.Person. Lines of a script are no answers, and `yes` confirms what is in scope, no more."""

    def __init__(self, terminal: Asks, *, yes: bool = False) -> None:
        self._terminal = terminal
        self._yes = yes

    def widen(self, call: Call, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        add = ", [a]dd it to the scope" if can_add else ""
        word = self._ask(f"{details_of(call)}\n{why}", f"[d]eny, allow it [o]nce{add}?")
        if word == "o":
            return "once"
        return "add" if can_add and word == "a" else "deny"

    def confirm(self, call: Call) -> Literal["no", "yes", "always"]:
        if self._yes:
            return "yes"
        word = self._ask(details_of(call), f"[y]es, [n]o, [a]lways {call.name} in this conversation?")
        return "yes" if word == "y" else "always" if word == "a" else "no"

    def grant(self, who: str, scope: str) -> bool:
        told = f"{who} comes with this project and asks for this scope:\n{scope}"
        return self._ask(told, "Give it to this session? [y]es, [n]o:") == "y"

    def _ask(self, about: str, question: str) -> str:
        """The first letter of the answer; empty if there is none."""
        if not self._terminal.is_interactive:
            return ""
        self._terminal.note(about)
        return (self._terminal.answer(question) or "").strip().casefold()[:1]
