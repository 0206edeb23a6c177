"""Sessions of Microsoft's Agent Framework in a Segue store.

from segue.bridges.agent_framework import SegueHistoryProvider

agent = Agent(client, context_providers=[SegueHistoryProvider("journal:~/agents")])
"""

try:
    import agent_framework as _agent_framework  # noqa: F401 - whether it is there
except ImportError:
    from segue.errors import MissingExtraError

    raise MissingExtraError("agent-framework-core", "agent-framework") from None

from segue.bridges.agent_framework.history import SegueHistoryProvider

__all__ = ["SegueHistoryProvider"]
