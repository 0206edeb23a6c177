"""A graph of several steps, with a question to a person in each round: agent.py STORE ROUNDS.

After each step it prints all messages that the saver gives it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from segue.bridges.langgraph import SegueSaver

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

CONFIG: RunnableConfig = {"configurable": {"thread_id": "crash"}}


def graph(saver: SegueSaver) -> Any:  # noqa: ANN401
    def plan(state: MessagesState) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(f"plan {number}", id=f"plan-{number}")]}

    def ask(state: MessagesState) -> dict[str, Any]:
        number = len(state["messages"])
        answer = interrupt(f"is plan {number} right?")
        return {"messages": [HumanMessage(answer, id=f"approval-{number}")]}

    def act(state: MessagesState) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(f"done {number}", id=f"done-{number}")]}

    builder = StateGraph(MessagesState)
    for name, node in (("plan", plan), ("ask", ask), ("act", act)):
        builder.add_node(name, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "ask")
    builder.add_edge("ask", "act")
    builder.add_edge("act", END)
    return builder.compile(checkpointer=saver)


def report(messages: list[Any]) -> None:
    print("ack", ",".join(message.content for message in messages), flush=True)  # noqa: T201 - the test reads it


def main(store: str, rounds: int) -> None:
    with SegueSaver(store) as saver:
        app = graph(saver)
        if app.get_state(CONFIG).metadata is not None:
            app.invoke(None, CONFIG, durability="sync")  # what a killed run had begun
        while True:
            state = app.get_state(CONFIG)
            messages = state.values.get("messages", [])
            report(messages)
            if any(task.interrupts for task in state.tasks):
                given: Any = Command(resume=f"yes {len(messages)}")
            elif state.next:
                given = None
            elif len(messages) >= rounds * 4:
                return
            else:
                given = {"messages": [HumanMessage(f"question {len(messages)}", id=f"question-{len(messages)}")]}
            for _ in app.stream(given, CONFIG, durability="sync"):
                report(app.get_state(CONFIG).values["messages"])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
