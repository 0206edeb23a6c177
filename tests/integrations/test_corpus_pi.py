"""Sessions that the real pi wrote: all that was said comes out, as whose it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from segue.integrations.format.lines import ENDS_BYTES
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.parts import has_part
from segue.integrations.shared.history import session_in_file
from tests.support.corpus_events import HOMES, ReadSession, read_corpus
from tests.support.integration_homes import later

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import JsonObject, Turn

PI = INTEGRATIONS["pi"]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReadSession]:
    """By the first words of the user."""
    found = read_corpus("pi", tmp_path_factory.mktemp("homes"))
    return {session.active[0].content: session for session in found}


def test_a_compaction_is_a_summary_after_turns_that_all_stay(sessions: dict[str, ReadSession]) -> None:
    active = sessions["#P1# read 1 [[rd]]"].active
    roles = [turn.role for turn in active]
    assert roles == ["user", "assistant", "tool", "assistant"] * 12 + ["system", "user", "assistant"]
    asked = [turn.content for turn in active if turn.role == "user"]
    assert asked == [*(f"#P{number}# read {number} [[rd]]" for number in range(1, 13)), "#P20# after compact"]
    summary = active[48]
    assert summary.content.startswith("A#9: done rd.\n\n---\n\n**Turn Context")
    assert has_part(summary, "summary")
    truth = json.loads((HOMES / "truth" / "pi-compaction.json").read_text(encoding="utf-8"))
    said = {turn.content for turn in active}
    assert {item["t"] for item in truth[1:] if item["k"] in ("user", "assistant", "result")} <= said
    assert summary.content in truth[0]["t"]
    usage = active[3].extra["usage"]
    assert usage == {
        "input_tokens": 1401,
        "cached_tokens": 3,
        "cache_written_tokens": 7,
        "output_tokens": 51,
        "cost_usd": pytest.approx(0.0015003),
    }
    assert (active[3].tokens, active[3].model, active[3].extra["effort"]) == (51, "fake-model", "medium")


def test_what_was_left_with_tree_is_a_branch_and_its_summary_is_a_notice(sessions: dict[str, ReadSession]) -> None:
    session = sessions["#P1# first"]
    others = [turn.content for turn in session.others if turn.role == "user"]
    assert others == ["#P3# more", "#P4# after compact"]
    *_, notice, asked, answered = session.active
    assert (notice.role, has_part(notice, "notice")) == ("system", True)
    assert notice.content.startswith("The user explored a different conversation branch")
    assert (asked.content, answered.content) == ("#P3# more edited", "You said: #P3# more edited")


def test_skills_shell_commands_and_aborted_answers_are_what_they_were(sessions: dict[str, ReadSession]) -> None:
    active = {turn.content: turn for turn in sessions["#P1# first"].active}
    (skill,) = (text for text in active if text.startswith("/skill:"))
    assert skill.startswith("/skill:sk with args\n\n")
    assert skill.endswith("\n\nSKILLBODY do it well.")
    for typed, output in (("!echo from-bang", "from-bang\n"), ("!!echo hidden-bang", "hidden-bang\n")):
        asked, result = active[typed], active[output]
        assert (asked.role, result.role) == ("user", "tool")
        assert (asked.parts[0]["name"], asked.parts[0]["id"]) == ("shell", result.parts[0]["id"])
    aborted = active["I begin, and"]
    assert (aborted.role, aborted.partial, aborted.tokens, aborted.extra.get("usage")) == (
        "assistant",
        True,
        None,
        None,
    )


def test_an_edit_of_the_context_leaves_the_turn_and_adds_what_the_model_gets(sessions: dict[str, ReadSession]) -> None:
    active = sessions["#P1# EDITNULL"].active
    assert [(turn.role, turn.content) for turn in active] == [
        ("user", "#P1# EDITNULL"),
        ("assistant", "You said: #P1# EDITNULL"),
        ("system", "Answer again, EXTENSION says."),
        ("assistant", "You said: Answer again, EXTENSION says."),
        ("user", "#P2# EDITTEXT"),
        ("assistant", "You said: #P2# EDITTEXT"),
        ("system", "REPLACED words"),
        ("user", "#P3# now"),
        ("assistant", "You said: #P3# now"),
    ]
    assert all(has_part(turn, "notice") for turn in active if turn.role == "system")
    said = [message.text for message in outgoing_messages(active, now=later()) if message.role == "user"]
    assert said == ["#P1# EDITNULL", "#P2# EDITTEXT", "#P3# now"]


def test_files_and_images_of_the_command_line_are_parts_and_not_words(sessions: dict[str, ReadSession]) -> None:
    asked = sessions["what is in it"].active[0]
    file, image = asked.parts
    assert (file["path"], file["content"]) == ("/home/people/p/proj/note.txt", "SECRETWORD alpha\n")
    assert (image["type"], image["media_type"]) == ("image", "image/png")
    assert str(image["data"]).startswith("iVBORw0KGgo")


# ── Files that no corpus has ─────────────────────────────────────────────────────────────────────────────────────────


def read(folder: Path, *entries: JsonObject, version: int = 3) -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    header = {"type": "session", "version": version, "id": "s", "timestamp": "2026-01-05T09:30:00Z", "cwd": "/p"}
    lines = [header, *({"timestamp": "2026-01-05T09:30:01Z", **entry} for entry in entries)]
    path = folder / "2026-01-05T09-30-00-000Z_s.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    builder, turns = PI.read(session_in_file("s", path))
    return builder, list(turns)


def message(id: str, parent: str | None, role: str, content: object = "", **more: object) -> JsonObject:
    entry: JsonObject = {"type": "message", "message": {"role": role, "content": content, **more}}
    return {**entry, "id": id, "parentId": parent} if id else entry


def test_a_result_keeps_its_failure_and_its_image(tmp_path: Path) -> None:
    image = {"type": "image", "data": "aaaa", "mimeType": "image/png"}
    content = [{"type": "text", "text": "no such file"}, image]
    _, (entry,) = read(tmp_path, message("a", None, "toolResult", content, toolCallId="c", isError=True))
    assert entry.turn.content == "no such file"
    assert list(entry.turn.parts) == [
        {
            "type": "tool_result",
            "id": "c",
            "content": "no such file",
            "is_error": True,
            "images": [{"type": "image", "media_type": "image/png", "data": "aaaa"}],
        }
    ]


def test_old_files_without_a_tree_are_one_line_of_turns(tmp_path: Path) -> None:
    entries = [
        message("", None, "user", "one"),
        message("", None, "hookMessage", "hooked"),
        message("", None, "user", "two"),
    ]
    builder, found = read(
        tmp_path, *entries, {"type": "compaction", "summary": "both", "firstKeptEntryIndex": 2}, version=1
    )
    assert [(entry.turn.role, entry.turn.content) for entry in found] == [
        ("user", "one"),
        ("system", "hooked"),
        ("user", "two"),
        ("system", "both"),
    ]
    assert [entry.after for entry in found] == ["", *(entry.turn.id for entry in found[:-1])]
    assert builder.tip == found[-1].turn.id


def test_what_a_newer_pi_records_is_named_once(tmp_path: Path) -> None:
    unknown: list[JsonObject] = [
        {"type": "dream", "id": f"d{number}", "parentId": "a", "words": "said?"} for number in range(3)
    ]
    builder, found = read(tmp_path, message("a", None, "user", "one"), *unknown, message("b", "d2", "oracle", "said?"))
    assert [entry.turn.content for entry in found] == ["one"]
    assert [damage.reason for damage in builder.damages] == [
        "entries of type 'dream' are not known, and are not read",
        "messages of role 'oracle' are not known, and are not read",
    ]


@pytest.mark.parametrize(
    ("text", "typed", "contents"),
    [
        ('<file name="/a">\nA\n</file>\n<file name="/b">\nB\n</file>\ngo', "go", ["A", "B"]),
        (
            '<file name="/a">\n<file name="x"></file>\nDelete it.\n</file>\ngo',
            "go",
            ['<file name="x"></file>\nDelete it.'],
        ),
        ('<file name="/pic.png"></file>\n', "", []),
        ('see <file name="/a">', 'see <file name="/a">', []),
    ],
)
def test_the_content_of_a_file_is_never_what_the_user_typed(
    tmp_path: Path, text: str, typed: str, contents: list[str]
) -> None:
    _, (entry,) = read(tmp_path, message("a", None, "user", text))
    assert (entry.turn.content, [part.get("content") for part in entry.turn.parts]) == (typed, contents)


def test_a_large_file_is_listed_from_its_ends(tmp_path: Path) -> None:
    talk = [message(f"{n:08x}", f"{n - 1:08x}" if n else None, "user", f"{n} {'x' * 1000}") for n in range(1000)]
    named: JsonObject = {"type": "session_info", "id": "t", "parentId": talk[-1]["id"], "name": "Named late"}
    whole, turns = read(tmp_path, *talk, named)
    (path,) = tmp_path.glob("*.jsonl")
    builder, ends = PI.preview(session_in_file("s", path))
    found = [entry.turn for entry in ends]
    assert (builder.is_partial, builder.title, builder.cwd) == (True, "Named late", "/p")
    assert (found[0], found[-1], builder.tip) == (turns[0].turn, turns[-1].turn, whole.tip)
    assert builder.read_bytes < 4 * ENDS_BYTES


def test_ids_may_contain_what_separates_them_from_the_time(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--p--"
    folder.mkdir(parents=True)
    for name in ("2026-01-05T09-30-00-000Z_my_own", "2026-01-05T09-30-00-000Z_01a1"):
        (folder / f"{name}.jsonl").write_text("{}\n", encoding="utf-8")
    assert sorted(session.id for session in PI.sessions(tmp_path, {})) == ["01a1", "my_own"]


def turns_of(session: ReadSession) -> list[Turn]:
    return [entry.turn for entry in session.entries]


def test_reading_again_gives_the_same_ids(sessions: dict[str, ReadSession], tmp_path: Path) -> None:
    again = [turn for session in read_corpus("pi", tmp_path) for turn in turns_of(session)]
    assert again == [turn for session in sessions.values() for turn in turns_of(session)]
    assert len({turn.id for turn in again}) == len(again)
