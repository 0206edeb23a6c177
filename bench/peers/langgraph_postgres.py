"""langgraph: a graph of messages whose checkpoints PostgresSaver keeps; `update_state` adds one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from bench.workload import role, text

_THREAD = {"configurable": {"thread_id": "s"}}


class Peer:
    list = None
    """It lists checkpoints, not threads."""

    def __init__(self, url: str) -> None:
        self._open = ExitStack()
        self._saver = self._open.enter_context(PostgresSaver.from_conn_string(url.replace("+psycopg", "")))
        self._saver.setup()
        builder = StateGraph(MessagesState)
        builder.add_node("say", _say_nothing)
        builder.add_edge(START, "say")
        builder.add_edge("say", END)
        self._graph: Any = builder.compile(checkpointer=self._saver)

    def fill(self, count: int) -> None:
        """One checkpoint with all of them. Written turn by turn, each would be kept again in every later checkpoint."""
        if count:
            messages = [_message(number) for number in range(count)]
            self._graph.update_state(_THREAD, {"messages": messages}, as_node="say")

    def append(self, number: int) -> None:
        self._graph.update_state(_THREAD, {"messages": [_message(number)]}, as_node="say")

    def load(self) -> int:
        return len(self._graph.get_state(_THREAD).values["messages"])

    def tail(self, count: int) -> int:
        """It has no way to read a part."""
        return min(count, self.load())

    def close(self) -> None:
        self._open.close()


def _say_nothing(_state: dict[str, object]) -> dict[str, list[object]]:
    return {"messages": []}


def _message(number: int) -> dict[str, str]:
    return {"role": role(number), "content": text(number)}
