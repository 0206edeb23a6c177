"""What our slash commands do in an AI tool is not the conversation, and is dropped when it is read back."""

from __future__ import annotations

import json
import tomllib
import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.cortext.command_files import TOOLS, command_files
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.workspace import make_workspace
from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.integrations.shared.own_calls import COMMAND_OPENINGS, without_own_calls
from segue.presets import Preset
from segue.presets.frontmatter import parse_front_matter
from segue.transfer.handover import import_replies
from tests.support.integration_machine import turn

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject

CONTEXT = "/w/.workspace/context/2026-01-05-001-plan-api.md"


def call(arguments: object, id: str = "1") -> JsonObject:
    return {"type": "tool_call", "id": id, "name": "Bash", "arguments": arguments}


def result(content: str, id: str = "1") -> JsonObject:
    return {"type": "tool_result", "id": id, "content": content}


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": 'cortext resume "API" --tool claude --json', "description": "Resume"},
        {"command": 'cd /w && cortext stop --summary "REST; not & GraphQL" --json 2>&1'},
        {"command": 'cortext stop --summary "$(cat <<\'EOF\'\nIt\'s "done"\nEOF\n)" --json'},
        {"command": "cortext resume --list --json | jq . | head -50"},
        {"command": "/opt/bin/cortext new plan 'API' --json"},
        {"command": "# Resume it\nLANG=C cortext resume API --json"},
        {"command": ["bash", "-lc", "cortext resume API --json"]},
        {"command": "bash -c 'cortext resume API --json'"},
        {"command": f"sed -n 1,200p {CONTEXT}; cat {CONTEXT} | tail"},
        {"file_path": CONTEXT},
        '{"cmd": "cortext resume API --json"}',
    ],
)
def test_a_call_of_our_commands_goes_with_its_result(arguments: object) -> None:
    told = turn("tool", "what was said before", result("what was said before"))
    said = turn("assistant", "Let me resume it.", call(arguments))
    assert without_own_calls([turn("assistant", "", call(arguments)), told]) == ()
    (left,) = without_own_calls([said, told])
    assert (left.content, left.parts, left.native) == ("Let me resume it.", (), None)


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "ls"},
        {"command": "cortext stop --json && ls"},
        {"command": "grep -rn 'cortext resume' docs"},
        {"command": "pip install cortext"},
        {"command": "ls", "description": "cortext resume API"},
        {"file_path": "/w/.workspace/config.toml"},
        {"pattern": "cortext resume"},
        None,
        [],
    ],
)
def test_every_other_call_stays(arguments: object) -> None:
    turns = (turn("assistant", "", call(arguments)), turn("tool", "cortext", result("cortext")))
    assert without_own_calls(turns) == turns


def test_of_a_turn_with_other_calls_these_stay_and_reasoning_alone_does_not() -> None:
    reasoning: JsonObject = {"type": "reasoning", "text": "The user wants to resume."}
    own, other = call({"command": "cortext resume API --json"}), call({"command": "ls"}, "2")
    turns = [
        turn("assistant", "", reasoning, own),
        turn("tool", "all of it", result("all of it")),
        turn("assistant", "", own, other),
        turn("tool", "all of it\n\ntoken.py", result("all of it"), result("token.py", "2")),
    ]
    asked, answered = without_own_calls(turns)
    assert asked.parts == (other,)
    assert (answered.content, answered.parts) == ("token.py", (result("token.py", "2"),))


@pytest.mark.parametrize("tool", TOOLS)
def test_the_texts_of_slash_commands_are_not_messages_of_the_user(tool: str) -> None:
    for text in command_files(tool, [Preset(name="plan")]).values():
        body = str(tomllib.loads(text)["prompt"]) if tool == "gemini" else parse_front_matter(text).body
        assert without_own_calls([turn("user", body)]) == ()


def test_the_confirmation_of_a_stop_goes_with_the_call_and_other_words_stay() -> None:
    stop, saved = call({"command": "cortext stop --json"}), turn("assistant", 'Session saved.\n\nConversation "API" …')
    own = [turn("assistant", "", stop), turn("tool", "{}", result("{}"))]
    assert without_own_calls([*own, saved]) == ()
    assert without_own_calls([saved]) == (saved,)
    asked = turn("user", "And now?")
    assert without_own_calls([*own, asked, saved]) == (asked, saved)


# ── Ten times ────────────────────────────────────────────────────────────────────────────────────────────────────────


def records(file: str, context: str) -> str:
    """What Claude Code writes when it resumes, reads the file, answers, and stops."""
    typed = "<command-name>/cortext.resume</command-name>\n<command-args>API</command-args>"
    messages: list[tuple[str, object]] = [
        ("user", typed),
        ("user", [{"type": "text", "text": f"{COMMAND_OPENINGS[1]}\n\nRun it."}]),
        ("assistant", [{"type": "thinking", "thinking": "I run it."}, use("1", command="cortext resume API --json")]),
        ("user", [answer("1", json.dumps({"context_file": file}))]),
        ("assistant", [use("2", file_path=file)]),
        ("user", [answer("2", context)]),
        ("assistant", [{"type": "text", "text": "Welcome back."}]),
        ("assistant", [use("3", command="cortext stop --json")]),
        ("user", [answer("3", "{}")]),
        ("assistant", [{"type": "text", "text": "Session saved."}]),
    ]
    lines, parent, moment = [], None, datetime.now(UTC)
    for number, (role, content) in enumerate(messages):
        own = str(uuid.uuid4())
        at = moment + timedelta(seconds=number)
        line = record(role, content, uuid=own, parentUuid=parent, timestamp=at.isoformat(), isMeta=number == 1)
        lines.append(line)
        parent = own
    synthetic = [{"type": "text", "text": "No response requested."}]
    lines.append(record("assistant", synthetic, model="<synthetic>", uuid="end", parentUuid=parent))
    return "".join(lines)


def use(id: str, **given: str) -> JsonObject:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": given}


def answer(id: str, content: str) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def record(role: str, content: object, *, model: str = "m", **fields: object) -> str:
    message = {"role": role, "content": content, "id": f"msg_{fields['uuid']}", "model": model}
    return f"{json.dumps({'type': role, 'message': message, **fields})}\n"


def test_ten_resumes_later_the_conversation_is_as_long_as_what_was_said(tmp_path: Path) -> None:
    library = segue.open(make_workspace(tmp_path / "notes").url)
    conversations = Conversations(make_workspace(tmp_path / "notes"), library)
    projects = tmp_path / ".claude" / "projects" / "notes"
    projects.mkdir(parents=True)
    options = LaunchOptions(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    sizes, documents = [], []
    with conversations.start("plan", "API") as session:
        session.add("user", "REST or GraphQL?")
        document = conversations.document_of(session.overview)
        for number in range(10):
            file = conversations.write_context(session)
            context = file.read_text(encoding="utf-8")
            native_id = f"0000000{number}-0000-4000-8000-000000000000"
            (projects / f"{native_id}.jsonl").write_text(records(str(file), context), encoding="utf-8")
            import_replies(library, session, INTEGRATIONS["claude"], native_id, options)
            conversations.stop(session, summary="We talked.")
            session.resume()
            assert not file.exists()
            sizes.append(len(context))
            documents.append(document.stat().st_size)
        assert [one.content for one in session.turns] == ["REST or GraphQL?", *["Welcome back."] * 10]
    longest_turn = 100
    assert all(later - earlier < longest_turn for earlier, later in pairwise(sizes[1:]))
    assert all(later - earlier < longest_turn for earlier, later in pairwise(documents))
    assert documents[-1] < 2_000
