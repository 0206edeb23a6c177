"""A disk that is full, or broken, in the middle of an exchange."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from segue.clock import utc_now
from segue.errors import DiskFullError, StorageError
from segue.library import Library
from segue.model import Turn
from segue.session import LiveSession
from segue.stores.journal import JournalStore
from segue.testing.failing import FailingKernel, Fault, WatchedKernel
from tests.support.scripted_agent import ScriptedAgent, last, said, talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.model import Event
    from segue.store import Receipt


class FillingKernel(WatchedKernel):
    """Writes nothing while the disk is full."""

    is_full = False

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        if self.is_full and name == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args)


class Disk:
    """A journal on a disk that can be full."""

    def __init__(self, root: Path) -> None:
        self.kernel = FillingKernel()
        self.library = Library(JournalStore(str(root), kernel=self.kernel))
        self.session = self.library.create(id="talk")


def test_a_full_disk_loses_no_answer_that_has_come(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    partner = ScriptedAgent(("The token ", "expires."), ("second",))
    conversation = talk(disk.session, partner)
    answer = conversation.ask("Why?")
    next(answer)
    disk.kernel.is_full = True
    with pytest.raises(DiskFullError):
        list(answer)
    disk.kernel.is_full = False
    assert conversation.unsaved == "The token expires."
    assert conversation.pending is None
    list(conversation.ask("And now?"))
    assert said(disk.library) == [
        ("user", "Why?"),
        ("assistant", "The token expires."),
        ("user", "And now?"),
        ("assistant", "second"),
    ]
    assert conversation.unsaved == ""


def test_retry_after_a_full_disk_saves_the_answer_and_does_not_ask_again(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    partner = ScriptedAgent(("The token ", "expires."))
    conversation = talk(disk.session, partner)
    answer = conversation.ask("Why?")
    next(answer)
    disk.kernel.is_full = True
    with pytest.raises(DiskFullError):
        answer.close()
    with pytest.raises(DiskFullError):
        conversation.retry()
    disk.kernel.is_full = False
    assert list(conversation.retry()) == []
    assert (last(disk.library).content, last(disk.library).partial) == ("The token ", True)
    assert len(partner.requests) == 1


def test_a_question_that_does_not_fit_on_the_disk_is_not_asked(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    partner = ScriptedAgent()
    conversation = talk(disk.session, partner)
    assert conversation.pending is None
    disk.kernel.is_full = True
    with pytest.raises(DiskFullError):
        conversation.ask("Why?")
    disk.kernel.is_full = False
    assert (partner.requests, said(disk.library)) == ([], [])
    list(conversation.ask("Why?"))
    assert said(disk.library) == [("user", "Why?"), ("assistant", "yes")]


def test_after_an_input_output_error_the_answer_is_still_there_for_the_caller(tmp_path: Path) -> None:
    kernel = FailingKernel()
    session = Library(JournalStore(str(tmp_path), kernel=kernel)).create(id="talk")
    conversation = talk(session, ScriptedAgent(("The token expires.",)))
    answer = conversation.ask("Why?")
    next(answer)
    kernel.arm(Fault(at=1, error=errno.EIO, for_good=True))
    with pytest.raises(StorageError):
        list(answer)
    assert conversation.unsaved == "The token expires."


class InterruptedSession(LiveSession):
    """Is interrupted once, right after an answer has been recorded."""

    is_armed = True

    def _append(self, *events: Event, ids_are_new: bool) -> Receipt:
        receipt = super()._append(*events, ids_are_new=ids_are_new)
        if self.is_armed and any(isinstance(event, Turn) and event.role == "assistant" for event in events):
            self.is_armed = False
            raise KeyboardInterrupt
        return receipt


def test_an_interrupt_behind_the_record_of_an_answer_does_not_record_it_twice(tmp_path: Path) -> None:
    library = Library(JournalStore(str(tmp_path)))
    library.create(id="talk").close()
    session = InterruptedSession(library.store, library.store.open("talk"), utc_now)
    conversation = talk(session, ScriptedAgent())
    with pytest.raises(KeyboardInterrupt):
        list(conversation.ask("one"))
    assert conversation.pending is None
    assert conversation.unsaved == ""
    list(conversation.ask("two"))
    assert said(library) == [("user", "one"), ("assistant", "yes"), ("user", "two"), ("assistant", "yes")]


def test_an_unsaved_answer_is_not_recorded_on_another_branch(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    conversation = talk(disk.session, ScriptedAgent(("first",), ("second",)))
    answer = conversation.ask("one")
    next(answer)
    disk.kernel.is_full = True
    with pytest.raises(DiskFullError):
        list(answer)
    disk.kernel.is_full = False
    disk.session.fork(at=0, name="other")
    list(conversation.ask("two"))
    assert said(disk.library) == [("user", "two"), ("assistant", "second")]
