"""Sessions of the OpenAI Agents SDK in a store of Segue."""

from segue.errors import MissingExtraError

try:
    import agents  # noqa: F401 - whether it is there
except ImportError:
    raise MissingExtraError("the OpenAI Agents SDK", "openai-agents") from None

from segue.bridges.openai_agents.session import SegueSession

__all__ = ["SegueSession"]
