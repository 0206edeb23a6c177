"""Works through a change story by story, without a terminal.

Read `orchestrator` (the loop), then `workers`, `prompt`, `command` and `sandbox` (which agent runs, with which prompt,
and how), `recording` and `commits` (what is saved of its work), and `progress` (what the loop reports).
"""
