"""strands-agents: `create_message`, which every message of its agent ends in, and `list_messages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.strands import SegueRepository

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class Strands(Side):
    def __init__(self, repository: Any) -> None:  # noqa: ANN401 - any repository
        self._repository = repository
        if repository.read_session("s") is None:
            repository.create_session(Session(session_id="s", session_type=SessionType.AGENT))
        try:
            found = repository.read_agent("s", "a")
        except SessionException:
            found = None
        if found is None:
            repository.create_agent("s", SessionAgent(agent_id="a", state={}, conversation_manager_state={}))

    async def put(self, *numbers: int) -> None:
        for number in numbers:
            message: Any = {"role": role(number), "content": [{"text": text(number)}]}
            self._repository.create_message("s", "a", SessionMessage.from_message(message, number))

    async def get(self) -> int:
        return len([stored.to_message() for stored in self._repository.list_messages("s", "a")])


def ours(library: Library) -> Side:
    return Strands(SegueRepository(library))


def files(folder: Path) -> Side:
    return Strands(FileSessionManager("s", storage_dir=str(folder / "sessions")))
