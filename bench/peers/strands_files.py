"""strands-agents: FileSessionManager, a JSON file a message, through the calls that its agent makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.session.file_session_manager import FileSessionManager
from strands.types.session import SessionAgent, SessionMessage

from bench.workload import role, text

if TYPE_CHECKING:
    from pathlib import Path


class Peer:
    def __init__(self, folder: Path) -> None:
        self._root = str(folder / "sessions")
        self._manager = FileSessionManager("s", storage_dir=self._root)
        self._manager.create_agent("s", SessionAgent(agent_id="a", state={}, conversation_manager_state={}))

    def fill(self, count: int) -> None:
        for number in range(count):
            self.append(number)

    def append(self, number: int) -> None:
        message = SessionMessage.from_message(_message(number), number)
        self._manager.create_message("s", "a", message)

    def load(self) -> int:
        manager = FileSessionManager("s", storage_dir=self._root)
        return len([stored.to_message() for stored in manager.list_messages("s", "a")])

    def close(self) -> None:
        """It holds nothing open."""


def _message(number: int) -> Any:  # noqa: ANN401 - its type needs the library
    return {"role": role(number), "content": [{"text": text(number)}]}
