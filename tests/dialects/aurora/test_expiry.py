from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from segue.dialects.aurora.expiry import BackgroundExpiry
from segue.errors import StorageError
from segue.library_results import Cleaned

if TYPE_CHECKING:
    from datetime import timedelta

    import pytest

    from tests.support.machine import Machine

EXPIRY = '{"spawner": {"interactive": {"session_expiry_days": 30}}}'


def test_whoever_talks_does_not_wait_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    may_end, has_ended = Event(), Event()

    def clean(_url: str, _older_than: timedelta) -> Cleaned:
        may_end.wait()
        has_ended.set()
        return Cleaned(removed=(), kept=())

    with BackgroundExpiry("memory:", 30, clean=clean):
        assert not has_ended.is_set()  # the conversation is held here
        may_end.set()
    assert has_ended.is_set()
    assert capsys.readouterr().err == ""


def test_without_a_number_of_days_nothing_is_cleaned() -> None:
    def clean(_url: str, _older_than: timedelta) -> Cleaned:
        raise AssertionError

    with BackgroundExpiry("memory:", None, clean=clean):
        pass


def test_a_failure_is_told_and_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def clean(_url: str, _older_than: timedelta) -> Cleaned:
        raise StorageError("the disk is gone")

    with BackgroundExpiry("memory:", 30, clean=clean):
        pass
    assert "expired sessions could not be cleaned: the disk is gone" in capsys.readouterr().err


def test_the_session_that_is_come_back_to_stays_however_old_it_is(machine: Machine) -> None:
    machine.journal("old", ("user", "Hello"))
    machine.journal("older", ("user", "Hello"))
    (machine.home / ".aurora" / "config.json").write_text(EXPIRY, encoding="utf-8")
    machine.run("aur spawn --resume old", "n", "/exit")
    assert [head.id for head in machine.aurora.list()] == ["old"]


def test_a_session_in_use_and_a_damaged_one_stay(machine: Machine) -> None:
    machine.journal("damaged").write_bytes(b"{\n{\n")
    machine.journal("old", ("user", "Hello"))
    with machine.live("aur spawn --resume old") as talk:
        talk.say("n")
        (machine.home / ".aurora" / "config.json").write_text(EXPIRY, encoding="utf-8")
        machine.run("aur spawn --list-sessions")
        assert {head.id for head in machine.aurora.list()} == {"damaged", "old"}


def test_a_listing_shows_first_and_cleans_then(machine: Machine) -> None:
    machine.journal("old")
    (machine.home / ".aurora" / "config.json").write_text(EXPIRY, encoding="utf-8")
    shown = machine.run("aur spawn --list-sessions")
    assert "old" in shown.text
    assert "deleted 1 session without activity for 30 days" in shown.complaint
    assert machine.aurora.list() == []


def test_a_dry_run_of_cleaning_deletes_nothing_whatever_the_settings_say(machine: Machine) -> None:
    machine.journal("old")
    (machine.home / ".aurora" / "config.json").write_text(EXPIRY, encoding="utf-8")
    assert machine.run("aur spawn --clean-sessions 400 --dry-run").text.splitlines() == [
        "Would delete session old",
        "Would delete 1 session older than 400 days",
    ]
    assert [head.id for head in machine.aurora.list()] == ["old"]
