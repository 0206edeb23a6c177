"""A graph of LangGraph whose threads are sessions of Segue: agent.py STORE QUESTION…

It needs no network: a small class takes the place of the model. Call it again, and it continues the same thread. A
question that begins with "instead:" takes the place of the last one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from segue.bridges.langgraph import SegueSaver

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


CONFIG: RunnableConfig = {"configurable": {"thread_id": "trip"}}
INSTEAD = "instead: "


class ScriptedModel(BaseChatModel):
    """It asks for the weather, and then repeats what the tool returned."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - as the framework has it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_options: Any,  # noqa: ANN401
    ) -> ChatResult:
        last = messages[-1]
        answer = AIMessage(
            content=str(last.content) if isinstance(last, ToolMessage) else "",
            response_metadata={"model_name": "scripted-1"},
            usage_metadata={"input_tokens": 20, "output_tokens": 8, "total_tokens": 28},
        )
        if not isinstance(last, ToolMessage):
            city = str(last.content).rstrip("?").split()[-1]
            answer.tool_calls = [{"name": "get_weather", "args": {"city": city}, "id": f"call-{len(messages)}"}]
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"In {city} it is sunny."


def build(saver: SegueSaver) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = ScriptedModel()
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def find_previous(graph: CompiledStateGraph[Any, Any, Any, Any]) -> RunnableConfig:
    """The checkpoint before the last question: where the run before it had ended."""
    ends = [state.config for state in graph.get_state_history(CONFIG) if not state.next]
    return ends[1]


def main(store: str, *questions: str) -> None:
    with SegueSaver(store) as saver:
        graph = build(saver)
        for question in questions:
            config = find_previous(graph) if question.startswith(INSTEAD) else CONFIG
            asked = HumanMessage(question.removeprefix(INSTEAD))
            print(graph.invoke({"messages": [asked]}, config)["messages"][-1].content)
        print("checkpoints so far:", len(list(graph.get_state_history(CONFIG))))


if __name__ == "__main__":
    main(*sys.argv[1:])
