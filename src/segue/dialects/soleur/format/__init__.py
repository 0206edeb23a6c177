"""Soleur's file: one readable JSON object per session, with all our data under one key.

Read `document` (what stands where), then `reader`, `assembly` and `edits` (what others may have done to it). How the
file is laid out and how one changed byte is found and placed is in `formats.sealed`.
"""

from segue.dialects.soleur.format.assembly import CONTEXT_PATH
from segue.dialects.soleur.format.document import LAYOUT_VERSION, SoleurDocument, new_document
from segue.dialects.soleur.format.reader import ParsedSoleurFile, read, read_last_message

__all__ = [
    "CONTEXT_PATH",
    "LAYOUT_VERSION",
    "ParsedSoleurFile",
    "SoleurDocument",
    "new_document",
    "read",
    "read_last_message",
]
