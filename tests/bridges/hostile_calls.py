"""Each bridge as the hostile tests see it: a small session that it makes, and every call that reads or writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agent_framework import Content, Message
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic_ai import Conversation
from pydantic_ai.messages import BinaryImage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from segue.bridges.agent_framework import SegueHistoryProvider
from segue.bridges.claude_agent_sdk import SegueSessionStore
from segue.bridges.google_adk import SegueSessionService
from segue.bridges.langgraph import SegueSaver
from segue.bridges.openai_agents import SegueSession
from segue.bridges.pydantic_ai import SegueConversationStore
from segue.bridges.strands import SegueRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from langchain_core.runnables import RunnableConfig
    from pydantic_ai.messages import ModelMessage

Call = tuple[str, "Callable[[str], Coroutine[Any, Any, object]]"]
LARGE = "large " * 20_000


class Bridge(NamedTuple):
    name: str
    package: str
    """Whose errors are the framework's own."""
    begin: Callable[[str], Coroutine[Any, Any, object]]
    calls: list[Call]
    """The last one deletes."""


# ── Pydantic AI ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _begin_pydantic_ai(url: str) -> None:
    store = SegueConversationStore(url)
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(["look", BinaryImage(b"\xff" * 99_000, media_type="image/png")])]),
        ModelResponse(parts=[ToolCallPart("t", {"x": 1}, "1"), TextPart("hm")]),
        ModelRequest(parts=[UserPromptPart("more")]),
    ]
    conversation = Conversation(conversation_id="c", messages=messages)
    entries = await store.save(conversation, scope="ann")
    await store.branch("c", at=1, expected_revision=conversation.revision)
    await store.fork("c", from_entry=entries[1].id, new_conversation_id="f")


async def _save(url: str) -> object:
    store = SegueConversationStore(url)
    conversation = await store.load("c") or Conversation(conversation_id="c")
    conversation.messages.append(ModelRequest(parts=[UserPromptPart("next")]))
    return await store.save(conversation)


async def _branch(url: str) -> object:
    store = SegueConversationStore(url)
    record = await store.read_record("c")
    return record and await store.branch("c", at=0, expected_revision=record.revision)


PYDANTIC_AI = Bridge(
    "pydantic_ai",
    "pydantic_ai",
    _begin_pydantic_ai,
    [
        ("list", lambda url: SegueConversationStore(url).list_conversations()),
        ("load", lambda url: SegueConversationStore(url).load("c")),
        ("load the end", lambda url: SegueConversationStore(url).load("c", limit=1)),
        ("load the fork", lambda url: SegueConversationStore(url).load("f")),
        ("fork", lambda url: SegueConversationStore(url).fork("c", new_conversation_id="g")),
        ("save", _save),
        ("branch", _branch),
        ("save again", _save),
        ("delete", lambda url: SegueConversationStore(url).delete("c")),
    ],
)


# ── OpenAI Agents SDK ────────────────────────────────────────────────────────────────────────────────────────────────

ITEMS: list[Any] = [
    {"role": "user", "content": "hello"},
    {"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": LARGE},
    {"role": "user", "content": [{"type": "input_text", "text": "more"}]},
    {"role": "assistant", "content": "done"},
]


async def _begin_openai_agents(url: str) -> None:
    session = SegueSession("s", url)
    await session.add_items(ITEMS)
    await session.create_branch_from_turn(2, "other")
    await session.add_items(ITEMS[:1])
    await session.pop_item()


OPENAI_AGENTS = Bridge(
    "openai_agents",
    "agents",
    _begin_openai_agents,
    [
        ("get", lambda url: SegueSession("s", url).get_items()),
        ("get the end", lambda url: SegueSession("s", url).get_items(limit=2)),
        ("list", SegueSession.list_sessions),
        ("branches", lambda url: SegueSession("s", url).list_branches()),
        ("turns", lambda url: SegueSession("s", url).get_conversation_turns()),
        ("by turns", lambda url: SegueSession("s", url).get_conversation_by_turns()),
        ("find", lambda url: SegueSession("s", url).find_turns_by_content("hello")),
        ("tools", lambda url: SegueSession("s", url).get_tool_usage()),
        ("usage", lambda url: SegueSession("s", url).get_session_usage()),
        ("usage of turns", lambda url: SegueSession("s", url).get_turn_usage()),
        ("add", lambda url: SegueSession("s", url).add_items(ITEMS[:2])),
        ("pop", lambda url: SegueSession("s", url).pop_item()),
        ("clear", lambda url: SegueSession("s", url).clear_session()),
        ("add again", lambda url: SegueSession("s", url).add_items(ITEMS[:1])),
        ("delete", lambda url: SegueSession("s", url).delete_session()),
    ],
)


# ── Claude Agent SDK ─────────────────────────────────────────────────────────────────────────────────────────────────

KEY: Any = {"project_key": "p", "session_id": "s"}
SUBKEY: Any = {**KEY, "subpath": "subagents/agent-1"}


def _entries(*numbers: int) -> list[Any]:
    return [
        {
            "type": "user" if number % 2 else "assistant",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "sessionId": "s",
            "timestamp": f"2026-01-02T03:04:0{number}Z",
            "message": {"role": "user" if number % 2 else "assistant", "content": [{"type": "text", "text": "hi"}]},
        }
        for number in numbers
    ]


async def _begin_claude(url: str) -> None:
    store = SegueSessionStore(url)
    summary: Any = {"type": "summary", "summary": LARGE, "leafUuid": "u3"}
    await store.append(KEY, [*_entries(1, 2, 3), summary])
    await store.append(SUBKEY, _entries(1, 2))


CLAUDE = Bridge(
    "claude_agent_sdk",
    "claude_agent_sdk",
    _begin_claude,
    [
        ("load", lambda url: SegueSessionStore(url).load(KEY)),
        ("load a subagent", lambda url: SegueSessionStore(url).load(SUBKEY)),
        ("list", lambda url: SegueSessionStore(url).list_sessions("p")),
        ("summaries", lambda url: SegueSessionStore(url).list_session_summaries("p")),
        ("subkeys", lambda url: SegueSessionStore(url).list_subkeys(KEY)),
        ("append", lambda url: SegueSessionStore(url).append(KEY, _entries(2, 4))),
        ("append to a subagent", lambda url: SegueSessionStore(url).append(SUBKEY, _entries(3))),
        ("delete", lambda url: SegueSessionStore(url).delete(KEY)),
    ],
)


# ── Google ADK ───────────────────────────────────────────────────────────────────────────────────────────────────────

WHO: Any = {"app_name": "app", "user_id": "ann"}


def _event(text: str, **delta: object) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(author="user", invocation_id="i", content=content, actions=EventActions(state_delta=delta))


async def _begin_google_adk(url: str) -> None:
    service = SegueSessionService(url)
    session = await service.create_session(**WHO, session_id="s", state={"a": 1, "user:u": 2, "app:p": 3})
    await service.append_event(session, _event("one", b=2))
    await service.append_event(session, _event(LARGE, **{"user:v": "x"}))


async def _append_event(url: str) -> object:
    service = SegueSessionService(url)
    session = await service.get_session(**WHO, session_id="s")
    return session and await service.append_event(session, _event("next", **{"c": 1, "app:q": 1}))


GOOGLE_ADK = Bridge(
    "google_adk",
    "google",
    _begin_google_adk,
    [
        ("get", lambda url: SegueSessionService(url).get_session(**WHO, session_id="s")),
        ("list", lambda url: SegueSessionService(url).list_sessions(**WHO)),
        ("list all", lambda url: SegueSessionService(url).list_sessions(app_name="app")),
        ("state", lambda url: SegueSessionService(url).get_user_state(**WHO)),
        ("append", _append_event),
        ("create", lambda url: SegueSessionService(url).create_session(**WHO, session_id="t", state={"user:w": 1})),
        ("delete", lambda url: SegueSessionService(url).delete_session(**WHO, session_id="s")),
    ],
)


# ── LangGraph ────────────────────────────────────────────────────────────────────────────────────────────────────────


class GraphState(MessagesState):
    data: Any


def _graph(url: str) -> Any:  # noqa: ANN401 - the types of a compiled graph are many
    def answer(state: GraphState) -> dict[str, object]:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")], "data": {"bytes": b"\xff", "set": {1}}}

    builder = StateGraph(GraphState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=SegueSaver(url))


THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


async def _invoke(url: str) -> object:
    return _graph(url).invoke({"messages": [HumanMessage("hello"), HumanMessage(LARGE)]}, THREAD)


async def _history(url: str) -> object:
    return list(_graph(url).get_state_history(THREAD))


async def _state(url: str) -> object:
    return _graph(url).get_state(THREAD)


async def _begin_langgraph(url: str) -> None:
    await _invoke(url)
    await _invoke(url)


async def _list_all(url: str) -> object:
    return list(SegueSaver(url).list(None))


async def _writes(url: str) -> None:
    saver = SegueSaver(url)
    if (found := saver.get_tuple(THREAD)) is not None:
        saver.put_writes(found.config, [("messages", "x")], "task")


LANGGRAPH = Bridge(
    "langgraph",
    "langgraph",
    _begin_langgraph,
    [
        ("state", _state),
        ("history", _history),
        ("list", _list_all),
        ("writes", _writes),
        ("copy", lambda url: SegueSaver(url).acopy_thread("t", "u")),
        ("prune", lambda url: SegueSaver(url).aprune(["t"])),
        ("invoke", _invoke),
        ("runs", lambda url: SegueSaver(url).adelete_for_runs(["r"])),
        ("delete", lambda url: SegueSaver(url).adelete_thread("t")),
    ],
)


# ── Strands ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _agent(id: str) -> SessionAgent:
    return SessionAgent(agent_id=id, state={"n": 1}, conversation_manager_state={})


def _message(number: int, text: str = "hello") -> SessionMessage:
    return SessionMessage.from_message({"role": "user", "content": [{"text": text}]}, number)


async def _begin_strands(url: str) -> None:
    repository = SegueRepository(url)
    repository.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    for id in ("a", "b"):
        repository.create_agent("s", _agent(id))
        repository.create_message("s", id, _message(0))
        repository.create_message("s", id, _message(1, LARGE))


def _of(call: Callable[[SegueRepository], object]) -> Callable[[str], Coroutine[Any, Any, object]]:
    async def run(url: str) -> object:
        return call(SegueRepository(url))

    return run


STRANDS = Bridge(
    "strands",
    "strands",
    _begin_strands,
    [
        ("session", _of(lambda one: one.read_session("s"))),
        ("agent", _of(lambda one: one.read_agent("s", "a"))),
        ("message", _of(lambda one: one.read_message("s", "a", 1))),
        ("messages", _of(lambda one: one.list_messages("s", "a"))),
        ("last messages", _of(lambda one: one.list_messages("s", "b", limit=1, offset=1))),
        ("multi", _of(lambda one: one.read_multi_agent("s", "m"))),
        ("add", _of(lambda one: one.create_message("s", "a", _message(2)))),
        ("change", _of(lambda one: one.update_message("s", "a", _message(1, "other")))),
        ("update", _of(lambda one: one.update_agent("s", _agent("a")))),
        ("create", _of(lambda one: one.create_agent("s", _agent("c")))),
        ("delete", _of(lambda one: one.delete_session("s"))),
    ],
)


# ── Microsoft Agent Framework ────────────────────────────────────────────────────────────────────────────────────────


async def _begin_agent_framework(url: str) -> None:
    history = SegueHistoryProvider(url)
    picture = Content.from_data(b"\xff" * 99_000, "image/png")
    await history.save_messages("s", [Message("user", ["see", picture]), Message("assistant", ["I see"])])
    await history.save_messages("s", [Message("user", [LARGE])])


AGENT_FRAMEWORK = Bridge(
    "agent_framework",
    "agent_framework",
    _begin_agent_framework,
    [
        ("get", lambda url: SegueHistoryProvider(url).get_messages("s")),
        ("save", lambda url: SegueHistoryProvider(url).save_messages("s", [Message("user", ["next"])])),
        ("get again", lambda url: SegueHistoryProvider(url).get_messages("s")),
    ],
)

BRIDGES = [PYDANTIC_AI, OPENAI_AGENTS, CLAUDE, GOOGLE_ADK, LANGGRAPH, STRANDS, AGENT_FRAMEWORK]
