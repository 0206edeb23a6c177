"""Half an answer, and what a crash leaves of it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import segue
from segue.chat.agent import AgentError
from segue.chat.context.tokens import Estimate
from segue.chat.conversation import Conversation
from segue.chat.drafts import KEPT_SECONDS, Drafts
from tests.support.chat_terminal import CTRL_C, CTRL_D, ENTER, ChatTerminal
from tests.support.scripted_agent import ScriptedAgent

if TYPE_CHECKING:
    from pathlib import Path

BEGINNING = "The beginning of"


def crash(folder: Path) -> None:
    with ChatTerminal(folder) as at:
        at.wait_for_prompt()
        at.type(f"hang{ENTER}")
        at.wait_for(BEGINNING)
        at.process.kill()
        at.end()
    assert at.said == [("user", "hang")]


def files(folder: Path) -> list[Path]:
    return list((folder / "drafts").iterdir())


def test_what_was_seen_before_kill_9_can_be_kept(tmp_path: Path) -> None:
    crash(tmp_path)
    assert [stat.S_IMODE(file.stat().st_mode) for file in files(tmp_path)] == [0o600]
    with ChatTerminal(tmp_path) as at:
        at.wait_for("your last message was not answered: “hang”")
        at.wait_for(f"16 characters of an answer had arrived: “{BEGINNING}”")
        at.wait_for("Ask again? [Y/n]")
        at.type(f"n{ENTER}")
        at.wait_for("Save this part, marked as cut off? [Y/n]")
        at.type(ENTER)
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "hang"), ("assistant", BEGINNING)]
    assert at.session.turns[-1].partial
    assert files(tmp_path) == []


def test_whoever_asks_again_gets_the_new_answer_alone(tmp_path: Path) -> None:
    crash(tmp_path)
    with ChatTerminal(tmp_path) as at:
        at.wait_for("Ask again? [Y/n]")
        at.type(ENTER)
        at.wait_for(BEGINNING)
        at.type(CTRL_C)
        at.wait_for("the partial answer is saved, marked as cut off")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "hang"), ("assistant", BEGINNING)]
    assert files(tmp_path) == []


def test_whoever_keeps_nothing_now_can_keep_it_later(tmp_path: Path) -> None:
    crash(tmp_path)
    with ChatTerminal(tmp_path) as at:
        at.wait_for("Ask again? [Y/n]")
        at.type(f"n{ENTER}")
        at.wait_for("Save this part")
        at.type(f"n{ENTER}")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "hang")]
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("script", [("All ", "of it."), ("Half of", AgentError("cut")), (AgentError("no credit"),)])
def test_an_answer_that_is_over_leaves_no_draft(tmp_path: Path, script: tuple[str | BaseException, ...]) -> None:
    library = segue.open(f"journal:{tmp_path / 'sessions'}")
    seen: list[list[str]] = []
    with library.create(id="talk") as session:
        conversation = Conversation(
            session, ScriptedAgent(script), counter=Estimate(), drafts=Drafts(tmp_path / "drafts")
        )
        with suppress(AgentError):
            seen.extend([file.read_text() for file in files(tmp_path)] for _ in conversation.ask("Why?"))
    assert files(tmp_path) == []
    assert seen in ([["All "], ["All of it."]], [["Half of"]], [])


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "drafts").touch()
    library = segue.open(f"journal:{tmp_path / 'sessions'}")
    with library.create(id="talk") as session:
        conversation = Conversation(
            session, ScriptedAgent(("Yes.",)), counter=Estimate(), drafts=Drafts(tmp_path / "drafts")
        )
        assert list(conversation.ask("Why?")) == ["Yes."]
        assert conversation.draft == ""


def test_a_character_that_was_cut_in_half_is_left_out_and_what_nobody_wants_goes_after_a_month(tmp_path: Path) -> None:
    with segue.open(f"journal:{tmp_path / 'sessions'}").create(id="talk") as session:
        drafts = Drafts(tmp_path / "drafts")
        drafts.begin(session.overview).close()
        (file,) = files(tmp_path)
        file.write_bytes("Straß".encode()[:-1])
        assert drafts.find(session.overview) == "Stra"
        old = file.stat().st_mtime - KEPT_SECONDS - 1
        os.utime(file, (old, old))
        session.add("user", "And now?")
        Drafts(tmp_path / "drafts").begin(session.overview).close()
        assert file not in files(tmp_path)
