"""gptel's store: one folder per session, `<root>/<id>/branches/<branch>/session.md`, which users edit in Emacs.

Read `formats.gptel` (what is in the files), then `tree` (the folders), `writer`, then `store`.
"""

from segue.dialects.gptel.store.store import GptelStore

__all__ = ["GptelStore"]
