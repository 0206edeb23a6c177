"""Pydantic AI: its conversations are sessions, the messages in them turns."""

from segue.errors import MissingExtraError

try:
    import pydantic_ai.conversation_store  # noqa: F401 - the extra is there, or it is not
except ImportError as error:
    raise MissingExtraError("pydantic-ai", "pydantic-ai") from error

from segue.bridges.pydantic_ai.store import SegueConversationStore

__all__ = ["SegueConversationStore"]
