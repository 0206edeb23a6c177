"""Who approves tool calls: the user at the terminal, or no one. No answer means no."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from segue.tools.recorded_calls import format_call_details

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.surface import Terminal
    from segue.tools import ToolCall


_ATTEMPTS = 3
"""How often a question is repeated after an invalid answer; then the answer is no."""


class Approver(Protocol):
    """Answers questions about tool calls. Everything about a call that matters for the decision is shown."""

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        """Decide about a call that the scope does not allow."""

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:
        """Confirm a call that the scope allows. `always` covers this tool for the rest of the conversation."""

    def grant(self, why: str, scope: str) -> bool:
        """Decide whether the session gets a scope from an untrusted source; `why` names the source and the reason."""


class QuestionTerminal(Protocol):
    """The part of a terminal that is needed for a question."""

    @property
    def is_interactive(self) -> bool: ...

    def answer(self, question: str) -> str | None: ...

    def note(self, text: str) -> None: ...


def trust_prompt(terminal: Terminal) -> Callable[[str], bool]:
    """Return the `confirm` callback of a Surface: it asks at an interactive terminal, and else answers no."""

    def confirm(requests: str) -> bool:
        if not terminal.is_interactive:
            return False
        terminal.note(requests)
        return terminal.ask("Allow this? You are asked once for this session.", default=False)

    return confirm


class NoApprover:
    """Declines everything, where no user can be asked."""

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:  # noqa: ARG002 - by contract
        return "deny"

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:  # noqa: ARG002 - as above
        return "no"

    def grant(self, why: str, scope: str) -> bool:  # noqa: ARG002 - as above
        return False


class TerminalApprover:
    """Asks the user at the terminal. Lines of a script are not answers; `yes` confirms calls within the scope only."""

    def __init__(self, terminal: QuestionTerminal, *, yes: bool = False) -> None:
        self._terminal = terminal
        self._yes = yes

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        answers = ("once", "add", "no") if can_add else ("once", "no")
        answer = self._ask(
            f"{format_call_details(call)}\n{why}", f"Allow it anyway? {_choices(answers, call)}", answers
        )
        return "once" if answer == "once" else "add" if answer == "add" else "deny"

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:
        if self._yes:
            return "once"
        answers = ("once", "always", "no")
        details = "\n".join(filter(None, (format_call_details(call), warning)))
        answer = self._ask(details, f"Run it? {_choices(answers, call)}", answers)
        return "once" if answer == "once" else "always" if answer == "always" else "no"

    def grant(self, why: str, scope: str) -> bool:
        return self._ask(f"{why}:\n{scope}", "Give this scope to the session? (yes, no)", ("yes", "no")) == "yes"

    def _ask(self, details: str, question: str, answers: tuple[str, ...]) -> str:
        """Return one of the answers, typed in full. Enter, and no answer, count as the last one, which is no."""
        if not self._terminal.is_interactive:
            return answers[-1]
        self._terminal.note(details)
        for _ in range(_ATTEMPTS):
            answer = (self._terminal.answer(question) or "").strip().casefold()
            if answer in answers:
                return answer
            if not answer:
                break
            self._terminal.note(f"Please type {', '.join(answers[:-1])} or {answers[-1]}.")
        return answers[-1]


def _choices(answers: tuple[str, ...], call: ToolCall) -> str:
    """Each word means the same in every question."""
    meanings = {
        "once": "once",
        "add": "add (to the scope)",
        "always": f"always ({call.name}, in this conversation)",
        "no": "no",
    }
    return f"({', '.join(meanings[answer] for answer in answers)})"
