"""Sessions of agent frameworks: the program of the user continues them, and Segue never starts it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from segue.console import options
from segue.errors import DamagedError, UsageError
from segue.frameworks import FRAMEWORKS, FrameworkSessionError, framework_of

if TYPE_CHECKING:
    from segue.library import Library


def check_not_framework(*names: str) -> None:
    """UsageError if a name that the user gave is that of a framework, whose command line is another program."""
    for name in names:
        if name in FRAMEWORKS:
            raise UsageError(f"{name} is a framework for programs, and not an AI tool that can be started")


def check_no_program(library: Library, id: str) -> None:
    """FrameworkSessionError with what the user can do instead, if a program continues this session."""
    try:
        title = framework_of(library.overview(id))
    except DamagedError:
        return  # it is reported when it is opened
    if title:
        error = FrameworkSessionError(id, title)
        handover, copy = (
            command_for(library, "resume", id, "--with", "claude"),
            command_for(library, "fork", id, "--new"),
        )
        error.hint = f"in an AI tool: {handover}; in a chat, as a copy: {copy}"
        raise error


def command_for(library: Library, *arguments: str) -> str:
    """A command of ours, with the store if this call names one."""
    store = ("--store", library.store.url) if options.is_store_option_given() else ()
    return shlex.join(["segue", *arguments, *store])
