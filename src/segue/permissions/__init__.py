"""Scopes: what the tools of an agent may read, write and run.

Read `scope` (the value and its YAML), `path_patterns`, `shell_parser`, `wrapper_commands` and `command_patterns` (what
a pattern matches), `protected` (what no scope allows), `guard` (checks one path or command), then `profiles` (which
scope applies), `grants` (one-time permissions) and `permissions` (all of it, for one session).
"""

from __future__ import annotations

from segue.permissions.guard import ACTIONS, Action, Guard, Verdict
from segue.permissions.permissions import Permissions
from segue.permissions.profiles import (
    DENY_ALL,
    ResolvedScope,
    load_profile,
    preset_scope,
    read_scope_file,
    resolve_scope,
)
from segue.permissions.protected import ProtectedPaths

__all__ = [
    "ACTIONS",
    "DENY_ALL",
    "Action",
    "Guard",
    "Permissions",
    "ProtectedPaths",
    "ResolvedScope",
    "Verdict",
    "load_profile",
    "preset_scope",
    "read_scope_file",
    "resolve_scope",
]
