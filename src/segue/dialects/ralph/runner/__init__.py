"""Works through a change story by story, without a terminal.

Read `run_options` and `orchestrator` (the loop), then `workers`, `prompt`, `command` and `sandbox` (which agent runs,
with which prompt, and how), `verification` (which command decides whether a story is done), `protected_change` (what an
attempt cannot destroy), `recording` and `commits` (what is saved of its work), and `progress` (what the loop reports).
"""
