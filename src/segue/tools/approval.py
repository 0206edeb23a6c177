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
_KEYS = {"y": "once", "a": "always", "s": "add", "n": "no"}
"""What each key means, in every question."""
_WORDS = {"yes": "once", "once": "once", "always": "always", "scope": "add", "add": "add", "no": "no"}
"""The same in words."""


class Approver(Protocol):
    """Answers questions about tool calls. Everything about a call that matters for the decision is shown."""

    @property
    def shown(self) -> ToolCall | None:
        """The last call that a question has shown to the user."""

    def widen(self, call: ToolCall, why: str, *, can_add: bool, preview: str = "") -> Literal["deny", "once", "add"]:
        """Decide about a call that the scope does not allow; `preview` is a diff of the file that it changes."""

    def confirm(self, call: ToolCall, warning: str, *, preview: str = "") -> Literal["no", "once", "always"]:
        """Confirm a call that the scope allows. `always` covers this tool for the rest of the conversation."""

    def grant(self, why: str, scope: str) -> bool:
        """Decide whether the session gets a scope from an untrusted source; `why` names the source and the reason."""


class QuestionTerminal(Protocol):
    """The part of a terminal that is needed for a question."""

    @property
    def is_interactive(self) -> bool: ...

    def answer(self, question: str) -> str | None: ...

    def note(self, text: str) -> None: ...

    def diff(self, text: str) -> None: ...


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

    shown = None

    def widen(self, call: ToolCall, why: str, *, can_add: bool, preview: str = "") -> Literal["deny", "once", "add"]:  # noqa: ARG002 - by contract
        return "deny"

    def confirm(self, call: ToolCall, warning: str, *, preview: str = "") -> Literal["no", "once", "always"]:  # noqa: ARG002 - as above
        return "no"

    def grant(self, why: str, scope: str) -> bool:  # noqa: ARG002 - as above
        return False


class TerminalApprover:
    """Asks the user at the terminal. Lines of a script are not answers; `yes` confirms calls within the scope only."""

    def __init__(self, terminal: QuestionTerminal, *, yes: bool = False) -> None:
        self._terminal = terminal
        self._yes = yes
        self.shown: ToolCall | None = None

    def widen(self, call: ToolCall, why: str, *, can_add: bool, preview: str = "") -> Literal["deny", "once", "add"]:
        question = f"Allow it anyway? [y]es{', [s]cope (add it to the scope)' if can_add else ''}, [N]o"
        answer = self._ask_about(call, preview, why, question, ("once", "add", "no") if can_add else ("once", "no"))
        return "once" if answer == "once" else "add" if answer == "add" else "deny"

    def confirm(self, call: ToolCall, warning: str, *, preview: str = "") -> Literal["no", "once", "always"]:
        if self._yes:
            return "once"
        question = f"Run it? [y]es, [a]lways ({call.name}, in this conversation), [N]o"
        answer = self._ask_about(call, preview, warning, question, ("once", "always", "no"))
        return "once" if answer == "once" else "always" if answer == "always" else "no"

    def grant(self, why: str, scope: str) -> bool:
        if not self._terminal.is_interactive:
            return False
        self._terminal.note(f"{why}:\n{scope}")
        return self._ask("Give this scope to the session? [y]es, [N]o", ("once", "no")) == "once"

    def _ask_about(self, call: ToolCall, preview: str, why: str, question: str, answers: tuple[str, ...]) -> str:
        if not self._terminal.is_interactive:
            return answers[-1]
        self._terminal.note(format_call_details(call, only=("path",) if preview else None))
        if preview:
            self._terminal.diff(preview)
        if why:
            self._terminal.note(why)
        self.shown = call
        return self._ask(question, answers)

    def _ask(self, question: str, answers: tuple[str, ...]) -> str:
        """Return one of the answers. Enter, and no answer, count as the last one, which is no."""
        keys = [key for key, meaning in _KEYS.items() if meaning in answers]
        for _ in range(_ATTEMPTS):
            typed = (self._terminal.answer(question) or "").strip().casefold()
            if not typed:
                break
            meaning = _KEYS.get(typed) or _WORDS.get(typed)
            if meaning in answers:
                return meaning
            self._terminal.note(f"Please type {', '.join(keys[:-1])} or {keys[-1]}.")
        return answers[-1]
