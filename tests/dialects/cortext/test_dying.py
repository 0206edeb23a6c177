"""kill -9 at any moment of a stop: nothing that was said is lost, and stopping again completes it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import segue
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.workspace import make_workspace
from tests.support import cortext_crashes

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library

SAID = ["REST or GraphQL?", "REST is simpler."]


def opened(root: Path) -> tuple[Library, Conversations]:
    workspace = make_workspace(root)
    library = segue.open(workspace.url)
    return library, Conversations(workspace, library)


def test_a_stop_that_is_killed_loses_nothing_and_can_be_done_again(tmp_path: Path) -> None:
    library, conversations = opened(tmp_path / "source")
    session = conversations.start("brainstorm", "API design")
    for role, content in zip(("user", "assistant"), SAID, strict=True):
        session.add(role, content)
    document = conversations.document_of(session.overview).relative_to(tmp_path / "source")
    session.release()
    before = (tmp_path / "source" / document).read_bytes()
    subprocess.run(
        [sys.executable, cortext_crashes.__file__, tmp_path / "source", tmp_path / "copies"], check=True, timeout=120
    )
    copies = sorted((tmp_path / "copies").iterdir())
    after = (copies[-1] / document).read_bytes()
    assert SAID[0].encode() in after
    for root in copies:
        library, conversations = opened(root)
        assert [turn.content for turn in library.load(session.id).turns] == SAID
        assert conversations.entries()[0].status == "paused"
        assert (root / document).read_bytes() in {before, after}
        with library.open(session.id) as again:
            assert conversations.stop(again, summary=cortext_crashes.SUMMARY).notes == ()
        assert (root / document).read_bytes() == after
        assert library.overview(session.id).summary == cortext_crashes.SUMMARY
    assert len(copies) > 10
