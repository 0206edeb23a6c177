"""langgraph: a graph of messages whose checkpoints SqliteSaver keeps; `update_state` adds one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from bench.workload import role, text

if TYPE_CHECKING:
    from pathlib import Path

_THREAD = {"configurable": {"thread_id": "s"}}


class Peer:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "checkpoints.sqlite"
        self._open = ExitStack()
        self._graph = _graph(self._open, self._path)

    def fill(self, count: int) -> None:
        """One checkpoint with all of them. Written turn by turn, each would be kept again in every later checkpoint."""
        if count:
            self._graph.update_state(
                _THREAD, {"messages": [_message(number) for number in range(count)]}, as_node="say"
            )

    def append(self, number: int) -> None:
        self._graph.update_state(_THREAD, {"messages": [_message(number)]}, as_node="say")

    def load(self) -> int:
        with ExitStack() as opened:
            return len(_graph(opened, self._path).get_state(_THREAD).values["messages"])

    def close(self) -> None:
        self._open.close()


def _graph(opened: ExitStack, path: Path) -> Any:  # noqa: ANN401 - its type needs the library
    saver = opened.enter_context(SqliteSaver.from_conn_string(str(path)))
    builder = StateGraph(MessagesState)
    builder.add_node("say", _say_nothing)
    builder.add_edge(START, "say")
    builder.add_edge("say", END)
    return builder.compile(checkpointer=saver)


def _say_nothing(_state: dict[str, object]) -> dict[str, list[object]]:
    return {"messages": []}


def _message(number: int) -> dict[str, str]:
    return {"role": role(number), "content": text(number)}
