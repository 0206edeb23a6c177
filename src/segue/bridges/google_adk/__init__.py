"""Segue as the session service of Google's Agent Development Kit.

A session is a session; an event with content is a turn, any other a record. The state of an app and of a user have
sessions of their own.
"""

from __future__ import annotations

from segue.errors import MissingExtraError

try:
    from segue.bridges.google_adk.service import SegueSessionService
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(("anyio", "google", "pydantic")):
        raise
    raise MissingExtraError("google-adk", "google-adk") from None

__all__ = ["SegueSessionService"]
