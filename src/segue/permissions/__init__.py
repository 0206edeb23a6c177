"""What the tools of an agent may touch: scopes, and whether one allows a path or a command.

Read `pattern` (what a pattern means), `shell`, `wrapper` and `command` (what a line of shell runs), `protected` (what
no scope allows), `guard` (yes or no, and why), then `profile` (which scope holds), `grant` (allowed once) and
`permission` (all of it, for a session of any store).
"""

from __future__ import annotations

from segue.permissions.guard import ACTIONS, Action, Guard, Verdict
from segue.permissions.permissions import Permissions
from segue.permissions.profiles import DENY_ALL, Resolved, load_profile, own_scope, read_scope_file, resolve_scope
from segue.permissions.protected import Protected

__all__ = [
    "ACTIONS",
    "DENY_ALL",
    "Action",
    "Guard",
    "Permissions",
    "Protected",
    "Resolved",
    "Verdict",
    "load_profile",
    "own_scope",
    "read_scope_file",
    "resolve_scope",
]
