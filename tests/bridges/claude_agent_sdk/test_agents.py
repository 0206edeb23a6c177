"""Agents with the CLI that the SDK brings, against a model on this machine: killed, and resumed on another host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import anyio
import claude_agent_sdk
import pytest

import segue
from segue.bridges.claude_agent_sdk import SegueSessionStore
from tests.bridges.claude_agent_sdk.conversations import load
from tests.support.loopback.model import SAFE_SECONDS, Model, Use, has_result, last_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_agent_sdk import SessionKey

    from segue.model import Session
    from tests.support.loopback.talk import Said

PROGRAM = Path(__file__).parent / "programs" / "agent.py"
ROOT = Path(__file__).resolve().parents[3]
CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


class Fleet:
    """Hosts with a store in common."""

    def __init__(self, root: Path, model: Model) -> None:
        self.root = root
        self.model = model
        self.url = f"journal:{root}/store"

    def run(self, host: str, session: str, *prompts: str, flush: str = "batched") -> list[str]:
        """The session after each answer."""
        with self.begun(host, session, *prompts, flush=flush) as process:
            out, errors = process.communicate(timeout=10 * SAFE_SECONDS)
        assert process.returncode == 0, errors
        return [line.removeprefix("ack ") for line in out.splitlines()]

    @contextmanager
    def begun(self, host: str, session: str, *prompts: str, flush: str) -> Iterator[subprocess.Popen[str]]:
        """The processes of a host; all of them are killed at the end."""
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(self.root / host), self.url, self.model.url, flush, session, *prompts],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "src", ROOT])),
                "AGENT_BACKEND": "trio" if host == "host-b" else "asyncio",
            },
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def entries(self, session: str) -> list[dict[str, object]]:
        return load(SegueSessionStore(self.url), self.key(session))

    def key(self, session: str) -> SessionKey:
        return {"project_key": "fleet", "session_id": session}

    def shown(self, session: str) -> Session:
        library = segue.open(self.url)
        return library.load(library.resolve(session))

    def segue(self, *args: str, stdin: str = "", **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "segue", "--store", self.url, *args],
            capture_output=True,
            text=True,
            check=False,
            input=stdin,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(self.root), **environ},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Model() as model:
        yield Fleet(tmp_path, model)


def said(session: Session) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in session.turns]


def heard(pieces: list[Said]) -> list[str]:
    return [
        piece.text for piece in pieces if piece.role in {"user", "assistant"} and "<system-reminder>" not in piece.text
    ]


def test_a_host_is_killed_and_another_one_goes_on(fleet: Fleet) -> None:
    first, second = fleet.run("host-a", "-", "TOOL one", "two")
    assert first == second
    acknowledged = fleet.entries(first)
    (file,) = (fleet.root / "host-a" / "config" / "projects").rglob(f"{first}.jsonl")
    written = [json.loads(line) for line in file.read_text().splitlines()]
    messages = [entry for entry in written if "uuid" in entry]  # of the first answer: later ones go to a copy
    assert [entry for entry in acknowledged if "uuid" in entry][: len(messages)] == messages
    assert messages[-1]["message"]["content"] == [{"type": "text", "text": "You said: TOOL one"}]

    with fleet.begun("host-a", first, "three, and HOLD", flush="eager"):
        assert fleet.model.is_holding.wait(SAFE_SECONDS)
    assert fleet.entries(first)[: len(acknowledged)] == acknowledged

    assert fleet.run("host-b", first, "four") == [first]
    before = heard(fleet.model.heard("four"))
    assert [text for text in before if text in {"TOOL one", "two", "four"}] == ["TOOL one", "two", "four"]
    uuids = [entry["uuid"] for entry in fleet.entries(first) if "uuid" in entry]
    assert len(uuids) == len(set(uuids))
    session = fleet.shown(first)
    assert said(session)[:6] == [
        ("user", "TOOL one"),
        ("assistant", ""),
        ("tool", "from-the-shell"),
        ("assistant", "You said: TOOL one"),
        ("user", "two"),
        ("assistant", "You said: two"),
    ]
    assert said(session)[-2:] == [("user", "four"), ("assistant", "You said: four")]
    assert session.turns[1].parts[0]["name"] == "Bash"
    assert (session.turns[3].model, session.turns[3].tokens) == ("loopback-anthropic", 7)

    assert "You said: four" in fleet.segue("show", first)
    assert first in fleet.segue("search", '"from the shell"')
    (listed,) = json.loads(fleet.segue("list", "--json"))
    assert (listed["tool"], listed["title"]) == ("claude-agent-sdk", "TOOL one")


@pytest.mark.long
def test_hosts_that_are_killed_at_any_moment_lose_no_answer_and_double_none(fleet: Fleet) -> None:
    chance = Random(5)
    (session,) = fleet.run("host-0", "-", "begin")
    numbers = count(1)
    answered: list[str] = []
    for host in range(1, 21):
        prompts = [f"prompt-{next(numbers)}." for _ in range(5)]
        with fleet.begun(f"host-{host}", session, *prompts, flush=chance.choice(["eager", "batched"])) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(1, 6))
            os.killpg(process.pid, signal.SIGKILL)
            assert process.stdout is not None
            answered += prompts[: process.stdout.read().count("ack ")]
    assert answered
    assert fleet.run("host-21", session, "end") == [session]
    words = [text for text in heard(fleet.model.heard("end")) if text.startswith("prompt-")]
    assert [text for text in words if text in answered] == answered
    uuids = [entry["uuid"] for entry in fleet.entries(session) if "uuid" in entry]
    assert len(uuids) == len(set(uuids))


def test_the_session_of_an_agent_goes_on_in_claude_code_with_all_of_it(fleet: Fleet) -> None:
    (session,) = fleet.run("host-a", "-", "Why does login fail?")
    bins = fleet.root / "bin"
    bins.mkdir()
    (bins / "claude").symlink_to(CLI)
    fleet.segue(
        *("resume", session, "--with", "claude"),
        stdin="And now?",
        PATH=f"{bins}:{os.environ['PATH']}",
        ANTHROPIC_API_KEY="none",
        ANTHROPIC_BASE_URL=fleet.model.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )
    assert heard(fleet.model.heard("And now?"))[:2] == ["Why does login fail?", "You said: Why does login fail?"]


def test_a_subagent_is_a_session_below_its_own_and_comes_with_it_to_another_host(fleet: Fleet) -> None:
    def act(pieces: list[Said]) -> Use | None:
        if "SEND" not in last_words(pieces) or has_result(pieces):
            return None
        return Use("Task", {"description": "look around", "prompt": "Look.", "subagent_type": "general-purpose"})

    fleet.model.act = act
    (session,) = fleet.run("host-a", "-", "SEND somebody")
    store = SegueSessionStore(fleet.url, project="fleet")
    (subagent,) = anyio.run(store.list_subkeys, fleet.key(session))
    assert subagent.startswith("subagents/agent-")
    library = segue.open(fleet.url)
    main = fleet.shown(session)
    (head,) = library.list(tag=main.id)
    assert said(library.load(head.id)) == [("user", "Look."), ("assistant", "You said: Look.")]
    assert fleet.segue("tree", session).splitlines()[-1].split() == [head.id, "2", "turns", "look", "around"]
    mine = fleet.entries(session)
    assert fleet.run("host-b", session, "Thanks") == [session]
    assert fleet.entries(session)[: len(mine)] == mine
    assert anyio.run(store.list_subkeys, fleet.key(session)) == [subagent]
    anyio.run(store.delete, fleet.key(session))
    assert library.list() == []
