"""The agents: rules that need no network, the models of three providers, any command of this machine.

Read `resolver` and `selection` (which agent it is), then `offline` and `command`, then a provider with
`retry` and `provider_errors`.
"""

from segue.chat.agents.retry import RetryPolicy
from segue.chat.agents.selection import AgentChoice, AgentSpec, choose_agent, parse_spec

__all__ = ["AgentChoice", "AgentSpec", "RetryPolicy", "choose_agent", "parse_spec"]
