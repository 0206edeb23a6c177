"""One of many processes on one thread: many.py STORE NAME COUNT."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from segue.bridges.langgraph import SegueSaver

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


def main(store: str, name: str, count: int) -> None:
    saver = SegueSaver(store)
    for number in range(count):
        config: RunnableConfig = {"configurable": {"thread_id": "shared", "checkpoint_ns": ""}}
        latest = saver.get_tuple(config)
        if latest is not None:
            config = latest.config
            saver.put_writes(config, [("messages", f"{name}-{number}")], f"{name}-{number}")
            print(f"ack write {name}-{number}", flush=True)  # noqa: T201 - the test reads it
        before = [] if latest is None else latest.checkpoint["channel_values"]["messages"]
        checkpoint = empty_checkpoint()
        version = saver.get_next_version(None, None)
        checkpoint["channel_values"] = {"messages": [*before, HumanMessage(f"{name}-{number}")]}
        checkpoint["channel_versions"] = {"messages": version}
        put = saver.put(config, checkpoint, {"source": "loop"}, {"messages": version})
        print(f"ack put {put['configurable']['checkpoint_id']}", flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
