"""The sessions of AI tools, read in place."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import zstandard
from msgspec.structs import replace

from segue.errors import AmbiguousIdError, NotFoundError
from segue.index import Index
from segue.integrations import INTEGRATIONS
from segue.integrations.registry import integration_sources
from segue.integrations.shared import index_source
from segue.integrations.shared.index_source import IntegrationSource
from tests.support import integration_homes
from tests.support.integration_homes import CLAUDE, CODEX, CORPUS, PLACES, SECRET, move_in, read, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from segue.index import IndexedSession, ReadPosition

TOOLS = list(INTEGRATIONS)
CALLING = [tool for tool in PLACES if tool != "aider"]
UNCOUNTED = {"crush", "zed"}
"""They do not record how long an answer is."""
OLD_TITLE = 'You said: "Use a TOOL, please"'
AT = "2026-01-05T09:30:00.000Z"
PADDING = {
    "gemini": b'{"$set":{"lastUpdated":"%s"}}\n',
    "qwen": b'{"type":"system","subtype":"ui_telemetry","y":"%s"}\n',
}
"""Lines without words."""


@pytest.mark.parametrize("tool", CALLING)
def test_a_tool_call_its_result_model_and_tokens_are_read_in_place(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    about, steps = read(tool, tmp_path)
    turns = [step.turn for step in steps][-4:]
    assert about.damages == []
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]
    (call,), (result,) = turns[1].parts, turns[2].parts
    assert (call["type"], result["type"], call["id"]) == ("tool_call", "tool_result", result["id"])
    assert "from-the-shell" in turns[2].content
    assert (turns[3].tokens, bool(turns[3].model)) == (None if tool in UNCOUNTED else 7, True)
    assert all(turn.native for turn in turns)
    assert about.tip == turns[-1].id


def test_every_start_of_aider_is_a_session_with_its_questions_and_answers(tmp_path: Path) -> None:
    move_in(tmp_path, "aider")
    about, steps = read("aider", tmp_path)
    assert len(integration_homes.sessions("aider", tmp_path)) == 2
    asked, answered = (step.turn for step in steps)
    assert (asked.content, answered.content) == ("A second\nline", "You said: A second\nline\n\n[cut]")
    assert (answered.tokens, answered.model, about.cwd) == (198, "openai/m", str(tmp_path))


@pytest.mark.parametrize("tool", TOOLS)
def test_looking_and_reading_change_nothing(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    before = snapshot(tmp_path)
    read(tool, tmp_path)
    assert snapshot(tmp_path) == before


WRITER = """
import sqlite3, sys
made = sqlite3.connect(sys.argv[1])
made.execute("PRAGMA journal_mode = WAL")
made.execute(sys.argv[2])
made.commit()
print("written", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("tool", "change"),
    [("opencode", "UPDATE session SET title = 'Renamed'"), ("llm", "UPDATE threads SET name = 'Renamed'")],
)
def test_a_database_in_use_is_read_up_to_its_last_change_and_left_as_it_is(
    tool: str, change: str, tmp_path: Path
) -> None:
    move_in(tmp_path, tool)
    argv = [sys.executable, "-c", WRITER, str(tmp_path / PLACES[tool]), change]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin
        assert writer.stdout
        assert writer.stdout.readline() == b"written\n"
        before = snapshot(tmp_path)
        about, steps = read(tool, tmp_path)
        assert (about.title, about.damages) == ("Renamed", [])
        assert len(steps) >= 4
        assert snapshot(tmp_path) == before
        writer.stdin.close()


def test_a_database_is_read_with_its_log_although_the_index_of_the_log_is_missing(tmp_path: Path) -> None:
    """As after copying the files without it; what was written but not committed, or torn, is not there."""
    move_in(tmp_path, "opencode")
    path = tmp_path / PLACES["opencode"]
    argv = [sys.executable, "-c", WRITER, str(path), "UPDATE session SET title = 'Renamed'"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin
        assert writer.stdout
        assert writer.stdout.readline() == b"written\n"
        files = {suffix: path.with_name(path.name + suffix).read_bytes() for suffix in ("", "-wal")}
        writer.stdin.close()
    copy = tmp_path / "copy" / PLACES["opencode"]
    copy.parent.mkdir(parents=True)
    for end, title in ((None, "Renamed"), (-1, OLD_TITLE), (-4000, OLD_TITLE)):
        for suffix, data in files.items():
            copy.with_name(copy.name + suffix).write_bytes(data if not suffix else data[:end])
        before = snapshot(copy.parent)
        about, steps = read("opencode", tmp_path / "copy")
        assert (about.title, about.damages) == (title, [])
        assert len(steps) >= 4
        assert snapshot(copy.parent) == before


def test_credentials_beside_sessions_are_never_read(tmp_path: Path) -> None:
    move_in(tmp_path, "opencode")
    _, steps = read("opencode", tmp_path)
    assert SECRET not in repr(steps)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_session_is_found_by_the_beginning_of_its_id(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    *others, last = integration_homes.sessions(tool, tmp_path)
    beginning = last.id if others else last.id[:8]
    assert INTEGRATIONS[tool].find_session(beginning, tmp_path, {}) == last
    with pytest.raises(NotFoundError, match=f"{tool} has no session 'nothing'"):
        INTEGRATIONS[tool].find_session("nothing", tmp_path, {})


def test_a_beginning_that_two_sessions_share_names_them(tmp_path: Path) -> None:
    move_in(tmp_path, "llm")
    with pytest.raises(AmbiguousIdError):
        INTEGRATIONS["llm"].find_session("01m7f", tmp_path, {})


def test_a_home_without_tools_has_no_sessions(tmp_path: Path) -> None:
    assert [kept for tool in TOOLS for kept in integration_homes.sessions(tool, tmp_path)] == []
    assert integration_sources(tmp_path, {}) == []


def test_the_catalog_lists_and_finds_sessions_where_they_are(tmp_path: Path) -> None:
    move_in(tmp_path)
    sources = integration_sources(tmp_path, {})
    count = sum(len(integration_homes.sessions(tool, tmp_path)) for tool in TOOLS)
    with Index(None) as catalog:
        assert catalog.refresh(sources).read == count
        assert catalog.refresh(sources).read == 0
        entries = {entry.tool: entry for entry in catalog.entries()}
        assert sorted(entries) == sorted(TOOLS)
        assert (entries["claude"].title, entries["claude"].turn_count) == ("Use a TOOL, please", 4)
        assert entries["claude"].folder == "/tmp/corpus/project"
        assert len(catalog.search("from-the-shell")) >= len(CALLING)


def long_history(tool: str, home: Path, *middle: bytes) -> Path:
    """The session of the corpus with a megabyte that says nothing before its last line, and this in the midst of it."""
    move_in(home, tool)
    place = home / PLACES[tool]
    *first, last = place.read_bytes().splitlines(keepends=True)
    padding = [PADDING.get(tool, b'{"type":"x","y":"%s"}\n') % (b"x" * 1_000)] * 500
    place.write_bytes(b"".join([*first, *padding, *middle, *padding, last]))
    return place


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "qwen"])
def test_a_listing_reads_only_the_ends_of_a_large_session(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    with Index(None) as catalog:
        catalog.refresh(integration_sources(tmp_path, {}))
        (small,) = catalog.entries()
    long_history(tool, tmp_path, b"{broken\n")
    sources = integration_sources(tmp_path, {})
    with Index(None) as catalog:
        assert catalog.refresh(sources, with_text=False).read == 1
        assert catalog.refresh(sources, with_text=False).read == 0
        (entry,) = catalog.entries()
        assert replace(entry, turn_count=small.turn_count, usage=small.usage) == small
        assert (entry.turn_count, entry.usage) == (None, None)  # they are not known before all of it is read
        assert entry.turn_count is None
        assert catalog.refresh(sources).read == 1
        (entry,) = catalog.entries()
        assert (entry.turn_count, entry.damage != "") == (small.turn_count, True)
        assert catalog.search("from-the-shell")


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "qwen"])
def test_a_small_session_is_listed_with_all_its_turns_at_once(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    with Index(None) as catalog:
        catalog.refresh(integration_sources(tmp_path, {}), with_text=False)
        assert [entry.turn_count for entry in catalog.entries()] == [4]


def test_a_damage_at_the_end_of_a_large_session_is_told_without_a_line_that_nobody_counted(tmp_path: Path) -> None:
    place = long_history("claude", tmp_path)
    with place.open("ab") as file:
        file.write(b'{"type":"us')
    with Index(None) as catalog:
        catalog.refresh(integration_sources(tmp_path, {}), with_text=False)
        assert [entry.damage for entry in catalog.entries()] == [f"{place}: it is truncated"]


def test_a_session_that_cannot_be_read_is_listed_with_its_damage(tmp_path: Path) -> None:
    move_in(tmp_path, "claude")
    with (tmp_path / PLACES["claude"]).open("ab") as file:
        file.write(b'{"type":"us')
    source = IntegrationSource(INTEGRATIONS["claude"], tmp_path, {})
    record = source.read(CLAUDE)
    assert (record.head.turn_count, record.head.damage.partition(": ")[2]) == (4, "it is truncated")


def test_a_compressed_rollout_is_read_like_a_plain_one(tmp_path: Path) -> None:
    move_in(tmp_path, "codex")
    plain = read("codex", tmp_path)[1]
    place = tmp_path / PLACES["codex"]
    packed = zstandard.ZstdCompressor().compress(place.read_bytes())
    place.with_name(f"{place.name}.zst").write_bytes(packed)
    place.unlink()
    assert read("codex", tmp_path)[1] == plain
    place.with_name(f"{place.name}.zst").write_bytes(packed[:-100] + b"\xff" * 100)
    about, steps = read("codex", tmp_path)
    assert about.damages
    assert [step.turn.id for step in steps] == [step.turn.id for step in plain][: len(steps)]


def test_a_rollout_that_unpacks_to_more_than_is_read_costs_only_itself(tmp_path: Path) -> None:
    move_in(tmp_path, "codex")
    sound = tmp_path / PLACES["codex"]
    bomb = sound.with_name(f"rollout-2026-11-15T12-34-48-{'0' * 36}.jsonl.zst")
    packer = zstandard.ZstdCompressor().compressobj()
    bomb.write_bytes(
        b"".join([*(packer.compress(b'{"a":"%s"}\n' % (b"x" * 1000) * 1024) for _ in range(40)), packer.flush()])
    )
    with Index(None) as catalog:
        catalog.refresh(integration_sources(tmp_path, {}))
        damages = {entry.id: entry.damage for entry in catalog.entries()}
    assert damages[CODEX] == ""
    assert "decompresses to more than 16 MB" in damages["0" * 36]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ALTER TABLE part ADD COLUMN more TEXT GENERATED ALWAYS AS ('x') VIRTUAL", "part is not a plain table"),
        ("ALTER TABLE part RENAME TO p; CREATE VIEW part AS SELECT * FROM p", "part is not a plain table"),
    ],
)
def test_what_a_database_would_compute_is_not_read(change: str, reason: str, tmp_path: Path) -> None:
    move_in(tmp_path, "opencode")
    with closing(sqlite3.connect(tmp_path / PLACES["opencode"])) as database:
        database.executescript(change)
    about, _ = read("opencode", tmp_path)
    assert [damage.reason for damage in about.damages if reason in damage.reason]


def test_a_fork_of_codex_that_begins_with_itself_is_read_once(tmp_path: Path) -> None:
    move_in(tmp_path, "codex")
    path = tmp_path / PLACES["codex"]
    text = path.read_text(encoding="utf-8")
    again = json.dumps({"type": "session_meta", "payload": {"history_base": {"thread_id": CODEX}}})
    path.write_text(f"{again}\n" * 50 + text, encoding="utf-8")
    about, steps = read("codex", tmp_path)
    assert len(steps) == len({step.turn.id for step in steps})
    assert "refers back to this one" in about.damages[0].reason


def test_names_of_codex_threads_are_titles_and_the_last_one_counts(tmp_path: Path) -> None:
    move_in(tmp_path, "codex")
    before = integration_homes.sessions("codex", tmp_path)[0].revision
    names = [{"id": CODEX, "thread_name": name} for name in ("First", "Login bug")]
    (tmp_path / ".codex/session_index.jsonl").write_text("".join(json.dumps(name) + "\n" for name in names))
    assert read("codex", tmp_path)[0].title == "Login bug"
    assert integration_homes.sessions("codex", tmp_path)[0].revision != before


def test_a_fork_of_codex_begins_with_what_it_shares(tmp_path: Path) -> None:
    move_in(tmp_path, "codex")
    whole = read("codex", tmp_path)[1]
    data = (tmp_path / PLACES["codex"]).read_bytes()
    end = data.index(b'"function_call_output"')
    base = {"thread_id": CODEX, "end_byte_offset": data.rindex(b"\n", 0, end) + 1}
    own = CODEX.replace("8416", "9999")
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Another way"}]}
    lines = [
        {"timestamp": AT, "type": "session_meta", "payload": {"id": own, "cwd": "/x", "history_base": base}},
        {"timestamp": AT, "type": "response_item", "payload": message},
    ]
    place = tmp_path / PLACES["codex"].replace(CODEX, own)
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, steps = read("codex", tmp_path)
    assert [step.turn.id for step in steps[:2]] == [step.turn.id for step in whole[:2]]
    assert (steps[2].turn.content, steps[2].after) == ("Another way", whole[1].turn.id)
    (tmp_path / PLACES["codex"]).unlink()
    about, steps = read("codex", tmp_path)
    assert (len(steps), "it starts with session" in about.damages[0].reason) == (1, True)


def test_an_older_document_of_gemini_is_read_and_of_several_files_the_longest(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini/tmp/0123/chats"
    folder.mkdir(parents=True)
    (folder.parent / ".project_root").write_text("/home/person/project\n")
    messages = [{"id": "1", "type": "user", "content": "Hello", "timestamp": AT}]
    document = {"sessionId": "g-1", "projectHash": "0", "messages": messages, "summary": "Greeting"}
    (folder / "session-1.json").write_text(json.dumps({**document, "messages": []}, indent=2))
    (folder / "session-2.json").write_text(json.dumps(document, indent=2))
    (folder / "session-3.json").write_text(json.dumps({**document, "sessionId": "g-0"}) + "\n")
    assert [step.turn.content for step in read("gemini", tmp_path)[1]] == ["Hello"]
    about, steps = read("gemini", tmp_path, 0)
    assert [step.turn.content for step in steps] == ["Hello"]
    assert (about.native_id, about.title, about.cwd) == ("g-1", "Greeting", "/home/person/project")


def test_an_older_database_of_llm_is_read(tmp_path: Path) -> None:
    place = tmp_path / PLACES["llm"]
    place.parent.mkdir(parents=True)
    script = """
        CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
        CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
            conversation_id TEXT, datetime_utc TEXT, output_tokens INTEGER);
        CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT,
            tool_call_id TEXT);
        INSERT INTO conversations VALUES ('c', 'Login', 'm');
        INSERT INTO responses VALUES ('r1', 'm', 'Why?', 'Be brief.', '', 'c', '2024-05-01T10:00:00', 3);
        INSERT INTO responses VALUES ('r2', 'm', '', 'Be brief.', 'It expires.', 'c', '2024-05-01T10:00:01', 7);
        INSERT INTO tool_calls VALUES (1, 'r1', 'grep', '{"words": "token"}', 't1');
    """
    integration_homes.database(place, script)
    about, steps = read("llm", tmp_path)
    assert (about.title, about.damages) == ("Login", [])
    assert [(step.turn.role, step.turn.content) for step in steps] == [
        ("system", "Be brief."),
        ("user", "Why?"),
        ("assistant", ""),
        ("assistant", "It expires."),
    ]
    assert steps[2].turn.parts[0]["arguments"] == {"words": "token"}


def test_the_corpus_holds_no_path_of_a_real_machine() -> None:
    for path in CORPUS.rglob("*"):
        if path.is_file():
            assert b"/root/" not in path.read_bytes(), path


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "pi"])
def test_the_texts_of_a_large_session_are_read_while_they_are_stored(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_in(tmp_path, tool)
    sources = integration_sources(tmp_path, {})
    (ref,) = sources[0].scan()
    small = sources[0].read(ref.id)
    monkeypatch.setattr(index_source, "_LARGE_BYTES", 1)
    large = sources[0].read(ref.id)
    assert not isinstance(large.texts, tuple)
    assert tuple(large.texts) == small.texts
    assert replace(large, texts=()) == replace(small, texts=())
    with Index(None) as catalog:
        catalog.refresh(sources)
        assert [hit.entry.turn_count for hit in catalog.search("from-the-shell")] == [small.head.turn_count]


def test_a_large_session_that_is_gone_while_its_texts_are_stored_affects_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_in(tmp_path, "claude", "codex")
    monkeypatch.setattr(index_source, "_LARGE_BYTES", 1)
    sources = integration_sources(tmp_path, {})
    original = sources[0].read

    def read(id: str, *, known: ReadPosition | None = None) -> IndexedSession:
        found = original(id, known=known)
        (tmp_path / PLACES["claude"]).unlink()
        return found

    monkeypatch.setattr(sources[0], "read", read)
    with Index(None) as catalog:
        catalog.refresh(sources)
        assert len(catalog.search("from-the-shell")) == 1
