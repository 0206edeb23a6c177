"""Segue as the session store of the Claude Agent SDK."""

from segue.errors import MissingExtraError

try:
    from segue.bridges.claude_agent_sdk.store import SegueSessionStore
except ImportError as error:
    if (error.name or "").partition(".")[0] not in {"anyio", "claude_agent_sdk"}:
        raise
    raise MissingExtraError("claude-agent-sdk", "claude-agent-sdk") from error

__all__ = ["SegueSessionStore"]
