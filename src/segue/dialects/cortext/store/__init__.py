"""Cortext's store: a folder a conversation, in a workspace that people keep in git.

Read `formats.cortext` (what is in the files), then `conversation` (reading both), `writer`, `recovery`, then `store`.
"""

from segue.dialects.cortext.store.store import CortextStore

__all__ = ["CortextStore"]
