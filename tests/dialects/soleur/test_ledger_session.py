from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.dialects.soleur.ledger import Ledger
from segue.dialects.soleur.ledger_session import LedgerLibrary
from segue.library import open as open_library

if TYPE_CHECKING:
    from pathlib import Path


class Desk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.ledger = Ledger(root / "decisions")
        self.complaints: list[str] = []

    def library(self, project: str = "login") -> LedgerLibrary:
        store = open_library(f"soleur:{self.root / 'sessions'}").store
        return LedgerLibrary(store, self.ledger, project=project, report=self.complaints.append)

    def decided(self, project: str = "login") -> list[str]:
        return [one["content"] for one in self.ledger.entries(project)]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_decision_is_in_the_session_and_in_the_ledger(desk: Desk) -> None:
    with desk.library().create(agent="sparring-partner") as session:
        session.decide("Refresh early")
        assert desk.decided() == ["Refresh early"]
        assert [one.content for one in session.overview.decisions] == ["Refresh early"]


def test_a_session_keeps_its_project_wherever_it_is_resumed(desk: Desk) -> None:
    with desk.library("login").create() as session:
        id = session.id
    with desk.library("elsewhere").resume(id) as session:
        session.decide("Refresh early")
    assert (desk.decided("login"), desk.decided("elsewhere")) == (["Refresh early"], [])


def test_what_a_crash_kept_from_the_ledger_is_made_up_for(desk: Desk) -> None:
    plain = open_library(f"soleur:{desk.root / 'sessions'}")
    session = desk.library().create()
    session.release()
    with_crash = plain.open(session.id)
    with_crash.decide("Refresh early")  # in the session, and not in the ledger
    with_crash.resume()
    with_crash.release()
    assert plain.overview(session.id).status == "interrupted"
    assert desk.decided() == []
    desk.library().resume(session.id).close()
    assert desk.decided() == ["Refresh early"]


def test_what_a_person_took_out_of_the_ledger_stays_out(desk: Desk) -> None:
    with desk.library().create() as session:
        session.decide("Refresh early")
    path = desk.root / "decisions" / "login.md"
    path.write_text("# Decisions: login\n", encoding="utf-8")
    with desk.library().resume(session.id) as again:
        again.decide("No cookies")
    assert desk.decided() == ["No cookies"]


def test_a_ledger_that_cannot_be_written_costs_no_decision(desk: Desk) -> None:
    in_the_way = desk.root / "decisions"
    in_the_way.write_text("", encoding="utf-8")
    with desk.library().create() as session:
        session.decide("Refresh early")
        assert "the decision is saved in the session, but not in the ledger" in desk.complaints[0]
        in_the_way.unlink()
        session.decide("No cookies")
        assert [one.content for one in session.overview.decisions] == ["Refresh early", "No cookies"]
    assert desk.decided() == ["Refresh early", "No cookies"]
    assert len(desk.complaints) == 1
