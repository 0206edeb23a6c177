"""Whoever answers: rules that need no network, the models of three providers, any command of this machine.

Read `choose` (who it is), then `offline` and `command`, then a provider with `attempts` and `failures` beside it.
"""

from segue.chat.agents.retry import RetryPolicy
from segue.chat.agents.selection import AgentChoice, AgentSpec, choose_agent, parse_spec

__all__ = ["AgentChoice", "AgentSpec", "RetryPolicy", "choose_agent", "parse_spec"]
