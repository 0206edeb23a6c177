"""Sessions of agent frameworks on the command line: listed, found, shown and handed over, and never started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.bridges.sessions import NamedSessions, new_record
from segue.frameworks import FRAMEWORKS
from segue.integrations.registry import MODULES
from segue.testing.events import metadata, turn
from tests.cli.test_handover import ToolHome

if TYPE_CHECKING:
    from tests.support.cli import Segue

BRIDGES = Path(__file__).resolve().parents[2] / "src" / "segue" / "bridges"


def thread(cli: Segue, framework: str = "langgraph", name: str = "customer 7") -> str:
    sessions = NamedSessions(framework, cli.store)
    with sessions.writing(name) as session:
        session.record(new_record("checkpoint", {"step": 1}, name="head"), turn(2, "Why does login fail?"))
        session.record(new_record("checkpoint", {"step": 2}, name="head"), turn(3, "The token expires."))
    return sessions.id_of(name)


@pytest.fixture
def home(cli: Segue) -> ToolHome:
    """With a program of every framework on the PATH: none of them may run."""
    home = ToolHome(cli)
    for name in (*FRAMEWORKS, "made-up"):
        home.install(name, "touch $HOME/it-ran")
    return home


def test_every_bridge_has_a_title_and_no_name_is_that_of_an_ai_tool() -> None:
    modules = {path.stem for path in BRIDGES.iterdir() if path.stem not in {"__init__", "__pycache__"}}
    named = {path.stem for path in BRIDGES.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert {name.replace("_", "-") for name in named} <= FRAMEWORKS.keys()
    assert "sessions" in modules
    assert not FRAMEWORKS.keys() & MODULES.keys()


def test_the_framework_is_the_tool_of_a_listing(cli: Segue) -> None:
    ids = {name: thread(cli, name) for name in FRAMEWORKS}
    cli.ok("new", "--id", "mine")
    for name, id in ids.items():
        (found,) = json.loads(cli.ok("list", "--tool", name, "--json"))
        assert (found["id"], found["tool"], found["agent"]) == (id, name, name)
        assert cli.ok("list", "--tool", name).split("\t")[:3] == [id, name, "customer 7"]
    assert len(json.loads(cli.ok("list", "--json"))) == len(ids) + 1
    shown = cli.at_terminal("list").end().text
    assert all(name[:8] in shown for name in ids)


def test_its_text_is_searched_and_its_turns_are_shown(cli: Segue) -> None:
    id = thread(cli)
    assert cli.ok("search", "token", "--tool", "langgraph").startswith(f"{id}\t")
    assert "2 turns · 2 records" in cli.ok("show", id)
    assert "step" not in cli.ok("show", id)


@pytest.mark.parametrize("framework", ["langgraph", "made-up"])
def test_resuming_it_names_what_is_possible_and_starts_nothing(home: ToolHome, framework: str) -> None:
    id = thread(home.cli, framework)
    before = home.cli.files()
    title = FRAMEWORKS.get(framework, framework)
    for words in (("resume", id), ("resume", "customer"), ("resume", "--last"), ("ask", "-c", "Why?")):
        done = home.cli.run(*words, PATH=home.path)
        assert (done.code, done.text) == (2, ""), words
        assert done.complaint == (
            f"segue: session {id} is continued by your program that uses {title}; in an AI tool: segue resume {id}"
            f" --with claude; in a chat, as a copy: segue fork {id} --new\n"
        )
    assert home.cli.files() == before
    assert not (home.cli.home / "it-ran").exists()


def test_the_store_is_part_of_the_commands_if_it_was_named(cli: Segue) -> None:
    id = thread(cli)
    complaint = cli.refuses(2, "resume", id, "--store", cli.store)
    assert f"segue resume {id} --with claude --store {cli.store};" in complaint


def test_the_name_of_a_framework_is_not_that_of_a_program(home: ToolHome) -> None:
    id = thread(home.cli)
    for words in (("resume", id, "--with"), ("resume", id, "--agent"), ("ask", "Why?", "--agent")):
        done = home.cli.run(*words, "langgraph", stdin=b"hello", PATH=home.path)
        assert done.code == 2
        assert (
            done.complaint == "segue: langgraph is a framework for programs, and not an AI tool that can be started\n"
        )
    assert not (home.cli.home / "it-ran").exists()


def test_it_is_handed_over_to_an_ai_tool_and_the_framework_goes_on(home: ToolHome) -> None:
    id = thread(home.cli)
    done = home.cli.run("resume", id, "--with", "claude", stdin=b"What went wrong?", PATH=home.path)
    assert (done.code, done.text) == (0, "I was told 2 messages. \n"), done
    assert "handed over to claude, nothing lost" in done.complaint
    assert "imported 2 turns from claude" in done.complaint
    sessions = NamedSessions("langgraph", home.cli.store)
    (overview,) = sessions.all()
    assert (overview.id, overview.turn_count, overview.records["head"].data) == (id, 4, {"step": 2})
    with sessions.writing("customer 7") as session:
        session.record(new_record("checkpoint", {"step": 3}, name="head"), turn(9, "Next."))
    assert "2 turns · 3 records" not in home.cli.ok("show", id)
    assert "5 turns · 3 records" in home.cli.ok("show", id)
    assert "your program that uses LangGraph" in home.cli.run("resume", id, PATH=home.path).complaint
    assert home.cli.ok("list", "--tool", "langgraph").startswith(f"{id}\t")


def test_a_copy_is_resumed_in_a_chat(home: ToolHome) -> None:
    id = thread(home.cli)
    home.cli.call("fork", id, "--new", "--id", "copy")
    done = home.cli.run("resume", "copy", "--agent", "offline", stdin=b"hello\n")
    assert done.code == 0, done
    assert len(home.cli.library.load("copy").turns) == 4
    assert len(home.cli.library.load(id).turns) == 2


def test_a_chat_offers_a_copy_of_it(home: ToolHome) -> None:
    id = thread(home.cli)
    done = home.cli.run("chat", "--agent", "offline", stdin=f"/resume {id}\n".encode(), PATH=home.path)
    assert f"session {id} is continued by your program that uses LangGraph" in done.text + done.complaint
    assert home.cli.library.overview(id).status == "paused"
    assert not (home.cli.home / "it-ran").exists()


def test_turns_and_branches_can_be_added_to_it(cli: Segue) -> None:
    id = thread(cli)
    cli.ok("add", id, "A note of mine.")
    assert cli.ok("fork", id, "--at", "1", "--name", "idea") == "idea\n"
    (overview,) = NamedSessions("langgraph", cli.store).all()
    assert (overview.branch, overview.turn_count, overview.branches["main"].turn_count) == ("idea", 1, 3)
    assert overview.records["head"].data == {"step": 2}


@pytest.mark.parametrize("tool", ["langgraph", "\x1b[31m\u202elanggraph", "it" * 5000, ["langgraph"], 7, None])
def test_what_a_file_says_of_its_framework_runs_nothing(home: ToolHome, tool: object) -> None:
    extra = {"tool": tool, "name": "x\x1b[2J", "scope": ["\x1b"]}
    first = metadata("forged")
    store = home.cli.library.store
    agent = tool if isinstance(tool, str) else "langgraph"
    store.create("forged", [replace(first, agent=agent, status="paused", extra=extra), turn(1, "Hi")]).close()
    done = home.cli.run("resume", "forged", stdin=b"n\n", PATH=home.path)
    assert not (home.cli.home / "it-ran").exists()
    assert b"\x1b" not in done.err + done.out
    if isinstance(tool, str):
        assert done.code == 2
        assert len(done.complaint) < 400
