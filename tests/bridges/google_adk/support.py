"""Short words for what the tests of this bridge do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

APP, USER, ID = "weather", "ann", "trip"


def an_event(text: str = "", *, delta: dict[str, Any] | None = None, **fields: Any) -> Event:  # noqa: ANN401
    content = types.Content(role="user", parts=[types.Part(text=text)]) if text else None
    return Event(
        **{"author": "user", "invocation_id": "i1", "content": content, **fields},
        actions=EventActions(state_delta=delta or {}),
    )


async def created(service: BaseSessionService, **state: Any) -> Session:  # noqa: ANN401
    return await service.create_session(app_name=APP, user_id=USER, session_id=ID, state=state)


async def got(service: BaseSessionService, id: str = ID) -> Session:
    session = await service.get_session(app_name=APP, user_id=USER, session_id=id)
    assert session is not None
    return session


def texts(session: Session) -> list[str | None]:
    return [event.content.parts[0].text for event in session.events if event.content and event.content.parts]
