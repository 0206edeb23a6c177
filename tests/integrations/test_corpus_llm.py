"""Sessions that the real llm wrote: what the user typed, and the files and images that were added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import outgoing_messages
from tests.support import integration_homes
from tests.support.corpus_events import read_corpus
from tests.support.integration_homes import PLACES, later, read

if TYPE_CHECKING:
    from pathlib import Path


def test_fragments_are_files_and_not_what_the_user_typed(tmp_path: Path) -> None:
    by_title = {session.active[-1].content: session.active for session in read_corpus("llm", tmp_path)}
    active = by_title["You said: PIPED words\n #P4# with stdin"]
    assert [turn.content for turn in active if turn.role == "user"] == [
        "#P1# what is in it",
        "#P2# and this",
        "#P3# piped",
        "PIPED words\n #P4# with stdin",
    ]
    assert list(active[0].parts) == [
        {"type": "file", "path": "/home/people/p/proj/note.txt", "content": "SECRETWORD alpha\n"}
    ]
    for turn in (active[2], active[4]):
        (image,) = turn.parts
        assert (image["type"], image["media_type"]) == ("image", "image/png")
        assert str(image["data"]).startswith("iVBORw0KGgo")
    said = [message.text for message in outgoing_messages(active, now=later()) if message.role == "user"]
    assert not any("SECRETWORD" in text for text in said)
    assert active[1].extra["usage"] == {"input_tokens": 11, "output_tokens": 7}
    system, asked, _ = by_title["You said: SECRETWORD alpha\n\n#P5# sys"]
    assert (system.role, system.content) == ("system", "SECRETWORD alpha\n\nbe brief")
    assert (asked.content, asked.parts[0]["content"]) == ("#P5# sys", "SECRETWORD alpha\n")


def test_failed_calls_and_images_that_are_elsewhere_are_what_they_are(tmp_path: Path) -> None:
    turns = [turn for session in read_corpus("llm", tmp_path) for turn in session.active]
    assert [part["content"] for turn in turns for part in turn.parts if part.get("is_error")] == [
        'Error: tool "no_such_tool" does not exist'
    ]
    (asked,) = (turn for turn in turns if turn.content == "#P4# image")
    assert list(asked.parts) == [{"type": "image", "media_type": "image/png"}]


def test_an_older_database_has_fragments_and_attachments_of_prompts(tmp_path: Path) -> None:
    place = tmp_path / PLACES["llm"]
    place.parent.mkdir(parents=True)
    script = """
        CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
        CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
            conversation_id TEXT, datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT);
        CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, source TEXT);
        CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
        CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
        CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
        CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
        INSERT INTO conversations VALUES ('c', 'Login', 'm');
        INSERT INTO responses VALUES ('r', 'm', 'Why?', 'Be brief.', 'So.', 'c', '2024-05-01T10:00:00', 9, 3,
            '{"prompt_tokens_details": {"cached_tokens": 4}}');
        INSERT INTO fragments VALUES (1, 'h1', 'second', 'b.txt'), (2, 'h2', 'first', ''), (3, 'h3', 'Rules.', '');
        INSERT INTO prompt_fragments VALUES ('r', 1, 1), ('r', 2, 0);
        INSERT INTO system_fragments VALUES ('r', 3, 0);
        INSERT INTO attachments VALUES ('a', 'image/png', NULL, NULL, x'6869');
        INSERT INTO attachments VALUES ('b', 'audio/wav', '/a.wav', NULL, NULL);
        INSERT INTO prompt_attachments VALUES ('r', 'a', 0), ('r', 'b', 1);
    """
    integration_homes.database(place, script)
    _, (system, asked, answered) = read("llm", tmp_path)
    assert system.turn.content == "Rules.\nBe brief."
    assert asked.turn.content == "Why?"
    assert list(asked.turn.parts) == [
        {"type": "file", "path": "h2", "content": "first"},
        {"type": "file", "path": "b.txt", "content": "second"},
        {"type": "image", "media_type": "image/png", "data": "aGk="},
        {"type": "file", "path": "/a.wav"},
    ]
    usage = {"input_tokens": 9, "cached_tokens": 4, "output_tokens": 3}
    assert answered.turn.extra["usage"] == usage
    assert "$" not in str([entry.turn.native for entry in (system, asked, answered)])
