"""Cortext's store: one folder per conversation, in a workspace that users have in git.

Read `formats.cortext` (what is in the files), then `conversation` (reading both), `writer`, `recovery`, then `store`.
"""

from segue.dialects.cortext.store.store import CortextStore

__all__ = ["CortextStore"]
