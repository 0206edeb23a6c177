"""Graphs as users write them, with the commands of Segue on their threads."""

from __future__ import annotations

import asyncio
import operator
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.base import BaseStore  # noqa: TC002 - the framework reads the types of a node
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt

from segue.bridges.langgraph import SegueSaver
from tests.bridges.pages import check_page
from tests.docs.pages import ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

    from segue.model import Session

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


class Numbers(TypedDict):
    numbers: list[int]
    squares: Annotated[list[int], operator.add]


class Segue:
    """The command, with a store of its own."""

    def __init__(self, home: Path) -> None:
        self.store = f"journal:{home}/agents"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SEGUE_STORE": self.store,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def ok(self, *args: str) -> str:
        """What it prints if it succeeds without a message."""
        return self.run("-m", "segue", *args)

    def run(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, *args], capture_output=True, text=True, check=False, env=self._environment
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def segue(tmp_path: Path) -> Segue:
    return Segue(tmp_path)


@pytest.fixture
def saver(segue: Segue) -> Iterator[SegueSaver]:
    with SegueSaver(segue.store) as saver:
        yield saver


def session_of(saver: SegueSaver, thread: str = "t") -> Session:
    return saver._sessions.store.load(saver._sessions.id_of(thread))


def said(session: Session, branch: str | None = None) -> list[str]:
    return [turn.content for turn in session.path(branch or session.branch)]


def echo(saver: SegueSaver, **options: Any) -> Any:  # noqa: ANN401
    """It repeats what was said."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{state['messages'][-1].content}!")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver, **options)


def test_time_travel_is_a_branch(saver: SegueSaver, segue: Segue) -> None:
    graph = echo(saver)
    graph.invoke({"messages": [HumanMessage("one")]}, CONFIG)
    graph.invoke({"messages": [HumanMessage("two")]}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    assert [len(state.values.get("messages", ())) for state in history] == [4, 3, 2, 2, 1, 0]
    graph.invoke({"messages": [HumanMessage("other")]}, history[2].config)
    session = session_of(saver)
    assert said(session) == ["one", "one!", "other", "other!"]
    assert said(session, "main") == ["one", "one!", "two", "two!"]
    assert graph.get_state(history[0].config).values["messages"][-1].content == "two!"
    replayed = graph.update_state(history[3].config, {"messages": [HumanMessage("edited")]})
    assert graph.get_state(replayed).values["messages"][-1].content == "edited"
    tree = segue.ok("tree", session.id)
    assert all(name in tree for name in session_of(saver).branches)


def test_messages_that_a_graph_changes_or_removes_are_on_a_branch(saver: SegueSaver) -> None:
    graph = echo(saver)
    graph.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)
    graph.update_state(CONFIG, {"messages": [HumanMessage("ONE", id="1")]})
    assert said(session_of(saver)) == ["ONE", "one!"]
    last = graph.get_state(CONFIG).values["messages"][-1].id
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=last)]})
    assert said(session_of(saver)) == ["ONE"]
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    graph.invoke({"messages": [HumanMessage("new")]}, CONFIG)
    session = session_of(saver)
    assert said(session) == ["new", "new!"]
    assert said(session, "main") == ["one", "one!"]


@pytest.mark.parametrize("is_cold", [False, True])
def test_a_person_answers_a_subgraph(saver: SegueSaver, segue: Segue, *, is_cold: bool) -> None:
    def build(saver: SegueSaver) -> Any:  # noqa: ANN401
        inner = StateGraph(Notes)
        inner.add_node("before", lambda _state: {"notes": ["before"]})
        inner.add_node("ask", lambda _state: {"notes": [interrupt("right?")]})
        inner.add_edge(START, "before")
        inner.add_edge("before", "ask")
        outer = StateGraph(Notes)
        outer.add_node("inner", inner.compile())
        outer.add_node("after", lambda _state: {"notes": ["after"]})
        outer.add_edge(START, "inner")
        outer.add_edge("inner", "after")
        return outer.compile(checkpointer=saver)

    graph = build(saver)
    result = graph.invoke({"notes": []}, CONFIG)
    assert result["__interrupt__"][0].value == "right?"
    if is_cold:
        graph = build(SegueSaver(segue.store))
    (task,) = graph.get_state(CONFIG, subgraphs=True).tasks
    assert task.state.values == {"notes": ["before"]}
    assert graph.invoke(Command(resume="yes"), CONFIG) == {"notes": ["before", "yes", "after"]}


def test_many_tasks_at_once_and_a_store_beside_it(saver: SegueSaver) -> None:
    def spread(state: Numbers) -> list[Send]:
        return [Send("square", {"number": number}) for number in state["numbers"]]

    def square(state: dict[str, int], *, store: BaseStore) -> dict[str, Any]:
        store.put(("squares",), str(state["number"]), {"square": state["number"] ** 2})
        return {"squares": [state["number"] ** 2]}

    builder = StateGraph(Numbers)
    builder.add_node("square", square)
    builder.add_conditional_edges(START, spread, ["square"])
    builder.add_edge("square", END)
    store = InMemoryStore()
    graph = builder.compile(checkpointer=saver, store=store)
    numbers = list(range(50))
    assert graph.invoke({"numbers": numbers, "squares": []}, CONFIG)["squares"] == [number**2 for number in numbers]
    assert len(store.search(("squares",), limit=100)) == 50
    assert graph.get_state(CONFIG).values["squares"] == [number**2 for number in numbers]


def test_asynchronous_streams_in_many_threads(saver: SegueSaver) -> None:
    graph = echo(saver)

    async def run(number: int) -> list[str]:
        config: RunnableConfig = {"configurable": {"thread_id": f"thread-{number}"}}
        return [
            message.content
            async for message, _ in graph.astream(
                {"messages": [HumanMessage(str(number))]}, config, stream_mode="messages"
            )
        ]

    async def run_all() -> list[list[str]]:
        return await asyncio.gather(*map(run, range(12)))

    assert asyncio.run(run_all()) == [[f"{number}!"] for number in range(12)]
    assert said(session_of(saver, "thread-7")) == ["7", "7!"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_gives_the_same_turns(saver: SegueSaver, durability: str) -> None:
    graph = echo(saver)
    for text in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(text)]}, CONFIG, durability=durability)
    session = session_of(saver)
    assert said(session) == ["one", "one!", "two", "two!"]
    assert list(session.branches) == ["main"]


def test_the_page_shows_what_the_commands_print(tmp_path: Path) -> None:
    check_page("langgraph", tmp_path)


def test_the_code_of_the_page_runs() -> None:
    (code,) = (block.text for block in blocks(ROOT / "docs" / "how-to" / "langgraph.md") if block.language == "py")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert isinstance(names["saver"], SegueSaver)
