"""Sessions of Strands agents in a Segue store.

from segue.bridges.strands import SegueRepository

manager = RepositorySessionManager("support-7", SegueRepository("journal:~/agents"))
agent = Agent(session_manager=manager)
"""

try:
    import strands as _strands  # noqa: F401 - whether it is there
except ImportError:
    from segue.errors import MissingExtraError

    raise MissingExtraError("strands-agents", "strands") from None

from segue.bridges.strands.repository import SegueRepository

__all__ = ["SegueRepository"]
