"""The hints of a command line: which of its commands helps after which error.

The library's errors carry facts and name no command. Here the facts become the commands that a user can type.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import (
    DamagedError,
    MissingExtraError,
    NotInTrashError,
    OutdatedStoreError,
    SessionExistsError,
    SessionLockedError,
    SessionNotFoundError,
    TransitionError,
    UntrustedError,
)

if TYPE_CHECKING:
    from segue.errors import SegueError


class ErrorHints(Struct, frozen=True, kw_only=True):
    """The commands that hints name. `{id}` is the session; an empty command is not named."""

    list: str = ""
    resume: str = ""
    damaged: str = "{resume} asks whether to recover or to delete it"
    reopen: str = ""
    copy: str = ""
    trash: str = ""
    upgrade: str = ""

    def hint_for(self, error: SegueError) -> str:
        """What to do after this error."""
        match error:
            case DamagedError() if self.resume:
                return self.damaged.format(id=error.session_id, resume=self.resume.format(id=error.session_id))
            case SessionLockedError() if self.copy:
                return f"wait until it is released, or continue in a copy: {self.copy.format(id=error.session_id)}"
            case SessionExistsError() if self.resume:
                return f"choose another id, or resume it with {self.resume.format(id=error.session_id)}"
            case SessionNotFoundError() if self.list and not error.near:
                return f"{self.list} shows all"
            case NotInTrashError() if self.trash:
                return f"{self.trash} shows what is in it"
            case OutdatedStoreError() if self.upgrade:
                return f"to upgrade its tables: {self.upgrade}"
            case TransitionError(current="completed") if self.reopen:
                return f"{self.reopen.format(id=error.session_id)} makes it paused again"
            case UntrustedError():
                return _trust_hint(error)
            case MissingExtraError() if error.extra:
                return f"run: segue setup {error.extra}"
        return error.hint

    def describe(self, error: SegueError) -> str:
        """The error and its hint on one line."""
        return "; ".join(filter(None, (str(error), self.hint_for(error))))


SEGUE_HINTS = ErrorHints(
    list="segue list",
    resume="segue resume {id}",
    damaged="segue verify {id} shows every place; segue recover {id} salvages the rest",
    reopen="segue reopen {id}",
    copy="segue fork {id} --new",
    trash="segue trash list",
    upgrade="segue store upgrade",
)
PLAIN_HINTS = ErrorHints()
"""For a command line that has none of these commands."""


def _trust_hint(error: UntrustedError) -> str:
    command = shlex.join(["segue", "trust", error.session_id, *(("--store", error.store) if error.store else ())])
    if error.agent:
        return f"use --agent {shlex.quote(error.agent)}, or name another; {command} shows all of it and asks"
    return f"{command} shows it and asks; segue scope set replaces it"
