"""gptel's store: a folder a session, `<root>/<id>/branches/<branch>/session.md`, that a person edits in Emacs.

Read `formats.gptel` (what is in the files), then `tree` (the folders), `writer`, then `store`.
"""

from segue.dialects.gptel.store.store import GptelStore

__all__ = ["GptelStore"]
