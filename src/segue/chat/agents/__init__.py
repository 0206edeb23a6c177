"""Whoever answers: rules that need no network, the models of three providers, any command of this machine.

Read `choose` (who it is), then `offline` and `command`, then a provider with `attempts` and `failures` beside it.
"""

from segue.chat.agents.attempts import Patience
from segue.chat.agents.choose import Choice, Spec, choose_agent, parse_spec

__all__ = ["Choice", "Patience", "Spec", "choose_agent", "parse_spec"]
