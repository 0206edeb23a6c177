"""Sessions that Codex 0.166 wrote, and what must come out of them; and the same after Codex has moved its files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import zstandard

from segue.index import Index
from segue.integrations import INTEGRATIONS
from segue.integrations.codex.reader import parse_turns
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import has_part
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.registry import integration_sources
from tests.support.corpus_events import HOMES
from tests.support.integration_homes import sessions

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject, Turn

REWOUND = "01a1dffa-476c-7480-9259-aec7ff7cf350"
SEGMENT = "01a1dffc-5932-78f2-8601-4c042d6dd4cd"
PARENT = "01a1dfde-8b50-7190-81d9-6220496f95d5"
AGENT = "01a1dfde-f1ae-7830-ad46-bb270ab70891"
AT = "2026-11-15T12:00:00Z"


class ReadThread(NamedTuple):
    about: TranscriptBuilder
    entries: list[TranscriptTurn]

    @property
    def active(self) -> list[Turn]:
        by_id = {entry.turn.id: entry for entry in self.entries}
        found, name = [], self.about.tip
        while entry := by_id.get(name):
            found.append(entry.turn)
            name = entry.after
        return found[::-1]


def read(home: Path, id: str = "") -> ReadThread:
    (session,) = (found for found in sessions("codex", home) if not id or found.id == id)
    about, turns = INTEGRATIONS["codex"].read(session)
    return ReadThread(about, list(turns))


def said(turns: list[Turn]) -> list[str]:
    return [turn.content.partition("#")[2].partition("#")[0] or turn.content for turn in turns if turn.role == "user"]


@pytest.fixture
def rewound(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOMES / "codex-rewind-two-rollouts", tmp_path / "rewound"))


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOMES / "codex-codemode-tools-subagent", tmp_path / "agents"))


def rollouts(home: Path) -> list[Path]:
    return sorted((home / ".codex" / "sessions").rglob("rollout-*"))


# ── What the corpus contains ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_rewound_thread_is_one_session_with_a_branch(rewound: Path) -> None:
    thread = read(rewound, REWOUND)
    assert (thread.about.title, thread.about.git_branch) == ("my-codex-name", "trunk")
    assert thread.about.damages == []
    steered = "and please also remember the word STEERING"
    assert said(thread.active) == ["P1", "!echo hello-from-bang", "P3", steered, "P5", "P7", "P8", "P9"]
    names = {turn.id for turn in thread.active}
    assert said([entry.turn for entry in thread.entries if entry.turn.id not in names]) == ["P6"]
    truth = json.loads((HOMES / "truth" / "codex-rewind-two-rollouts.json").read_text(encoding="utf-8"))
    words = "\n".join(turn.content for turn in thread.active)
    assert all(item["t"].rpartition("own analysis:\n")[2] in words for item in truth)
    (summary,) = (turn for turn in thread.active if has_part(turn, "summary"))
    assert (summary.role, "SUMMARY-x1.codex" in summary.content) == ("system", True)
    assert "SUMMARY-x1.codex" not in "".join(turn.content for turn in thread.active if turn is not summary)
    assert (summary.tokens, summary.model) == (55, "gpt-6.1-sol")


def test_what_is_read_of_every_rollout_is_counted_as_it_is_read(rewound: Path) -> None:
    about, turns = INTEGRATIONS["codex"].read(sessions("codex", rewound)[0])
    next(turns)
    started = about.read_bytes
    assert started > 0
    assert len(list(turns)) > 30
    whole = sum(path.stat().st_size for path in rollouts(rewound))
    assert started < 0.9 * whole < about.read_bytes <= whole


def test_a_command_of_the_user_has_its_output_and_an_interrupted_answer_is_partial(rewound: Path) -> None:
    active = read(rewound).active
    (place,) = (at for at, turn in enumerate(active) if turn.content == "!echo hello-from-bang")
    command, result = active[place : place + 2]
    assert command.parts[0]["arguments"] == {"command": "echo hello-from-bang"}
    assert (result.role, result.content) == ("tool", "hello-from-bang\n")
    assert (result.parts[0]["id"], "is_error" in result.parts[0]) == (command.parts[0]["id"], False)
    (interrupted,) = (at for at, turn in enumerate(active) if turn.partial)
    assert "#P5#" in active[interrupted - 1].content
    failed = [turn.content for turn in active for part in turn.parts if part.get("is_error")]
    assert ["before-failing" in text for text in failed] == [True]


def test_a_subagent_is_a_branch_of_its_parent_and_not_listed(agents: Path) -> None:
    assert [session.id for session in sessions("codex", agents)] == [PARENT]
    thread = read(agents)
    assert thread.active[0].content == "#P1# first: edit please [[edit]] [[think]]"
    assert [turn.content for turn in thread.active if turn.role == "assistant" and not turn.content] == []
    (task, answer) = [entry for entry in thread.entries if entry.turn not in thread.active]
    assert (task.side, task.after, task.turn.role) == ("agent-Hume", "", "system")
    assert "#P6sub# sub agent: [[big]]" in task.turn.content
    assert (answer.after, answer.turn.content, answer.turn.extra["effort"]) == (task.turn.id, "A#6: done agent.", "low")
    before = sessions("codex", agents)[0].revision
    with rollouts(agents)[1].open("ab") as file:
        file.write(b"\n")
    assert sessions("codex", agents)[0].revision != before


def test_images_usage_and_results_are_those_of_the_rollout(agents: Path) -> None:
    active = read(agents).active
    (looked,) = (turn for turn in active if "#P10#" in turn.content)
    assert looked.content == "#P10# look at the picture [[readimg]] [[viewimg]]"
    (image,) = looked.parts
    assert (image["media_type"], str(image["data"])[:8]) == ("image/png", "iVBORw0K")
    first = next(turn for turn in active if turn.role == "assistant")
    assert (first.tokens, first.model) == (53, "gpt-6.1-sol")
    assert first.extra["usage"] == {
        "input_tokens": 1043,
        "cached_tokens": 3,
        "cache_written_tokens": 0,
        "output_tokens": 53,
        "reasoning_tokens": 2,
    }
    assert next(turn.content for turn in active if turn.role == "tool") == (
        "Script completed\nWall time 0.2 seconds\nOutput:\n{}"
    )


# ── What Codex does with its files later ─────────────────────────────────────────────────────────────────────────────


def pack(path: Path) -> None:
    path.with_name(f"{path.name}.zst").write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    path.unlink()


def archive(path: Path) -> None:
    folder = path.parents[4] / "archived_sessions"
    folder.mkdir(exist_ok=True)
    path.rename(folder / path.name)


@pytest.mark.parametrize("which", [0, 1, slice(None)])
@pytest.mark.parametrize("change", [pack, archive])
def test_a_rewound_thread_is_the_same_after_its_files_were_moved(
    change: Callable[[Path], None], which: int | slice, rewound: Path
) -> None:
    before = read(rewound)
    found = rollouts(rewound)[which]
    for path in found if isinstance(found, list) else [found]:
        change(path)
    after = read(rewound)
    assert (after.entries, after.about.tip, after.about.damages) == (before.entries, before.about.tip, [])


def test_a_fork_of_a_rewound_thread_starts_with_what_was_not_rewound(rewound: Path) -> None:
    whole = read(rewound)
    first, second = rollouts(rewound)
    id = REWOUND.replace("476c", "9999")
    lines = second.read_bytes().splitlines()
    end = next(json.loads(line)["ordinal"] for line in lines if b"#P8#" in line)
    base = {"thread_id": SEGMENT, "end_ordinal_exclusive": end - 2}
    header = {"id": id, "cwd": "/other", "forked_from_id": REWOUND, "history_mode": "paginated", "history_base": base}
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "#P10# on my own"}]}
    fork = second.with_name(f"rollout-2026-11-16T10-00-00-{id}.jsonl")
    fork.write_text(
        "".join(
            json.dumps({"timestamp": AT, "ordinal": end - 2 + number, "type": kind, "payload": payload}) + "\n"
            for number, (kind, payload) in enumerate([("session_meta", header), ("response_item", words)])
        )
    )
    for change, path in ((None, first), (pack, first), (archive, second)):
        if change is not None:
            change(path)
        thread = read(rewound, id)
        assert thread.about.damages == []
        assert said(thread.active)[-3:] == ["P5", "P7", "P10"]
        names = {turn.id for turn in whole.active}
        assert all(turn.id in names for turn in thread.active[:-1])
        assert thread.about.cwd == "/other"


def test_a_thread_that_was_rewound_to_its_start_has_no_base(rewound: Path) -> None:
    first, second = rollouts(rewound)
    lines = [json.loads(line) for line in second.read_bytes().splitlines()]
    del lines[0]["payload"]["history_base"]
    second.write_text("".join(json.dumps(line) + "\n" for line in lines))
    thread = read(rewound)
    assert said(thread.active) == ["P7", "P8", "P9"]
    assert said([entry.turn for entry in thread.entries])[:1] == ["P1"]
    second.write_text(json.dumps(lines[0]) + "\n")
    assert read(rewound).active == []
    first.unlink()
    assert read(rewound).entries == []


def test_a_rollout_that_continues_a_later_one_or_itself_is_read_once(rewound: Path) -> None:
    first, second = rollouts(rewound)
    lines = [json.loads(line) for line in first.read_bytes().splitlines()]
    lines[0]["payload"]["history_base"] = {"thread_id": SEGMENT, "end_ordinal_exclusive": 90}
    first.write_text("".join(json.dumps(line) + "\n" for line in lines))
    thread = read(rewound)
    assert len(thread.entries) == len({entry.turn.id for entry in thread.entries})
    assert "refers back to this one" in thread.about.damages[0].reason
    assert said(thread.active)[-3:] == ["P7", "P8", "P9"]
    assert second.exists()


@pytest.mark.parametrize("parent", ["missing", "itself"])
def test_a_subagent_without_its_parent_is_listed_by_itself(parent: str, agents: Path) -> None:
    _, own = rollouts(agents)
    if parent == "missing":
        rollouts(agents)[0].unlink()
    else:
        own.write_text(
            own.read_text(encoding="utf-8").replace(f'"parent_thread_id": "{PARENT}"', f'"parent_thread_id": "{AGENT}"')
        )
    thread = read(agents, AGENT)
    assert thread.active[-1].content == "A#6: done agent."
    assert said(thread.active)[0] == "P1"


def test_a_listing_finds_the_first_words_after_what_codex_tells_the_model(agents: Path) -> None:
    """Codex 0.166 writes more than 64 KiB before the first message of the user."""
    place = rollouts(agents)[0]
    header, *rest = place.read_bytes().splitlines(keepends=True)
    told: JsonObject = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "x" * 9000}]}
    line = json.dumps({"timestamp": AT, "type": "response_item", "payload": told}).encode() + b"\n"
    place.write_bytes(b"".join([header, *[line] * 20, *rest[:20], *[line] * 40, *rest[20:]]))
    with Index(None) as catalog:
        catalog.refresh(integration_sources(agents, {}), with_text=False)
        (entry,) = catalog.entries()
    assert entry.title == "#P1# first: edit please [[edit]] [[think]]"
    assert f"{entry.created_at:%H:%M:%S}" == "15:41:06"
    assert f"{entry.updated_at:%H:%M}" == "17:12"
    assert entry.turn_count is None


# ── Records that are not in the corpus ───────────────────────────────────────────────────────────────────────────────


def items(*payloads: JsonObject) -> bytes:
    return b"".join(
        json.dumps({"timestamp": AT, "type": "response_item", "payload": payload}).encode() + b"\n"
        for payload in payloads
    )


def parse(data: bytes) -> ReadThread:
    about = TranscriptBuilder("codex", "file", "s")
    return ReadThread(about, list(parse_turns(lines_of(data), about)))


def message(text: str, *, kind: str = "", role: str = "user") -> JsonObject:
    found: JsonObject = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    if kind:
        found["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": [kind]}
    return found


def answers(*calls: str) -> Iterator[JsonObject]:
    for id in calls:
        yield {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id}


@pytest.mark.parametrize(
    ("text", "kind", "role"),
    [
        ("<environment_context>\n…</environment_context>", "", None),
        ("<environment_context> what is that?", "user.text", "user"),
        ("# AGENTS.md instructions for /x", "", None),
        ("<skill>\n<name>deploy</name>\nFirst, …\n</skill>", "", "system"),
        ("<subagent_notification>\n{}\n</subagent_notification>", "", "system"),
        ("Something of a newer release", "goals.reminder", "system"),
        ("hello", "", "user"),
        ("hello", "user.text", "user"),
    ],
)
def test_only_what_a_person_typed_is_the_users(text: str, kind: str, role: str | None) -> None:
    assert [turn.role for turn in parse(items(message(text, kind=kind))).active] == ([role] if role else [])


def test_what_an_editor_adds_to_a_message_is_a_notice() -> None:
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nRename it\n"
    assert [(turn.role, turn.content) for turn in parse(items(message(text))).active] == [
        ("system", "# Context from my IDE setup:\n\n## Active file: a.py"),
        ("user", "Rename it"),
    ]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nfine", False),
        ("Exit code: 3\nWall time: 0 seconds\nOutput:\nbad", True),
        ("Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\n", True),
        ("Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n", False),
        ("aborted by user after 3.2s", True),
        ({"content": "no such file", "success": False}, True),
        ([{"type": "input_text", "text": "Script failed\n"}, {"type": "input_text", "text": "why"}], True),
        ("it says: Exit code: 3\n", False),
    ],
)
def test_a_call_that_failed_is_marked(output: object, *, failed: bool) -> None:
    data = items(*answers("c"), {"type": "function_call_output", "call_id": "c", "output": output})
    (_, result) = parse(data).active
    assert ("is_error" in result.parts[0]) == failed


def test_calls_that_the_provider_runs_have_what_is_known_of_their_result() -> None:
    thread = parse(
        items(
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "weather"}},
            {
                "type": "image_generation_call",
                "id": "ig",
                "status": "completed",
                "result": "aGk=",
                "revised_prompt": "a cat",
            },
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here."}]},
        )
    )
    assert [turn.role for turn in thread.active] == ["assistant", "tool", "assistant", "tool", "assistant"]
    searched, _, drew, drawn, _ = thread.active
    assert searched.parts[0]["arguments"] == {"query": "weather"}
    assert drew.parts[0]["arguments"] == {"prompt": "a cat"}
    assert drawn.parts[0]["images"] == [{"type": "image", "media_type": "image/png", "data": "aGk="}]
    assert thread.about.damages == []


def test_an_answer_that_was_interrupted_keeps_what_there_is() -> None:
    aborted = json.dumps({"timestamp": AT, "type": "event_msg", "payload": {"type": "turn_aborted"}}).encode() + b"\n"
    half: JsonObject = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I be"}]}
    thread = parse(items(message("Go"), half) + aborted + items(message("Again")) + aborted * 2)
    assert [(turn.role, turn.content, turn.partial) for turn in thread.active] == [
        ("user", "Go", False),
        ("assistant", "I be", True),
        ("user", "Again", False),
        ("assistant", "", True),
    ]


def test_what_is_not_known_is_reported_once_and_affects_only_itself() -> None:
    new = [
        {"timestamp": AT, "type": "dream_record", "payload": {"text": "a dream"}},
        {"timestamp": AT, "type": "response_item", "payload": {"type": "dream", "text": "a dream"}},
        {"timestamp": AT, "type": "event_msg", "payload": {"type": "dreamt", "text": "a dream"}},
        {"timestamp": AT, "type": "response_item", "payload": {"type": "message", "content": [{"type": "audio"}]}},
    ]
    unknown = b"".join(json.dumps(record).encode() + b"\n" for record in new * 3)
    thread = parse(items(message("Go")) + unknown + items(message("On")))
    assert [turn.content for turn in thread.active] == ["Go", "On"]
    assert [damage.reason for damage in thread.about.damages] == [
        "records of the type 'dream_record' are not known, and left out",
        "items of the type 'dream' are not known, and left out",
        "events of the type 'dreamt' are not known, and left out",
        "blocks of the type 'audio' are not known, and left out",
    ]


# ── Files that are not as Codex wrote them ───────────────────────────────────────────────────────────────────────────


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The rollout, changed in one of several ways."""
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 2:
            place = rng.randrange(len(lines))
            return b"".join([*lines[:place], *lines[place + 1 :]])
        case 3:
            place = rng.randrange(1, len(lines))
            return b"".join([*lines[:place], *rng.sample(lines[place:], len(lines) - place)])
        case _:
            record = json.loads(rng.choice(lines))
            record["payload"] = {**record["payload"], "newer": {"field": [1]}, "id": None, "type": "newer"}
            return b"".join([*lines, json.dumps(record).encode(), b"\n"])


def test_a_damaged_thread_is_read_or_reported_and_nothing_is_invented(rewound: Path, rng: random.Random) -> None:
    sound = {path: path.read_bytes() for path in rollouts(rewound)}
    known = {entry.turn.content for entry in read(rewound).entries}
    for _ in range(40):
        changed = rng.choice(list(sound))
        changed.write_bytes(damaged(sound[changed], rng))
        for session in sessions("codex", rewound):
            about, turns = INTEGRATIONS["codex"].read(session)
            entries = list(turns)
            names = [entry.turn.id for entry in entries]
            assert len(set(names)) == len(names)
            assert all(not entry.after or entry.after in names for entry in entries)
            assert about.tip in {"", *names}
            assert about.damages or sum(entry.turn.content not in known for entry in entries) <= 2
        changed.write_bytes(sound[changed])
