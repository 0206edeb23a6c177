"""langgraph: a graph of messages; `update_state` puts a checkpoint with one message more, `get_state` gets the last."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.langgraph import SegueSaver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.library import Library

_THREAD: Any = {"configurable": {"thread_id": "s"}}


class Langgraph(Side):
    def __init__(self, saver: Any, close: Callable[[], object]) -> None:  # noqa: ANN401 - any checkpointer
        builder = StateGraph(MessagesState)
        builder.add_node("say", _say_nothing)
        builder.add_edge(START, "say")
        builder.add_edge("say", END)
        self._graph: Any = builder.compile(checkpointer=saver)
        self._close = close

    async def fill(self, count: int) -> None:
        """One checkpoint with all of them: written turn by turn, each would be in every later checkpoint of theirs."""
        if count:
            await self.put(*range(count))

    async def put(self, *numbers: int) -> None:
        messages = [_message(number) for number in numbers]
        self._graph.update_state(_THREAD, {"messages": messages}, as_node="say")

    async def get(self) -> int:
        return len(self._graph.get_state(_THREAD).values.get("messages", ()))

    async def close(self) -> None:
        self._close()


def ours(library: Library) -> Side:
    return Langgraph(SegueSaver(library), library.close)


def sqlite(folder: Path) -> Side:
    opened = ExitStack()
    return Langgraph(
        opened.enter_context(SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite"))), opened.close
    )


def postgres(url: str) -> Side:
    opened = ExitStack()
    saver = opened.enter_context(PostgresSaver.from_conn_string(url))
    saver.setup()
    return Langgraph(saver, opened.close)


def _say_nothing(_state: dict[str, object]) -> dict[str, list[object]]:
    return {"messages": []}


def _message(number: int) -> dict[str, str]:
    return {"role": role(number), "content": text(number)}
