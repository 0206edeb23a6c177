"""Segue as the session store of agent frameworks: a module for each of them, on what they share in `sessions`."""

from segue.bridges.sessions import NamedSessions, in_thread, name_of, new_id, new_record, scope_of, session_id_for

__all__ = ["NamedSessions", "in_thread", "name_of", "new_id", "new_record", "scope_of", "session_id_for"]
