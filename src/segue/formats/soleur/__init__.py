"""Soleur's file: one JSON object a session, as a person would write it, with all that is ours under one key.

Read `document` (what stands where), then `reader`, `assembly` and `edits` (what others may have done to it), then
`seal` and `layout` (how one changed byte is found and placed).
"""

from segue.formats.soleur.assembly import CONTEXT_PATH
from segue.formats.soleur.document import LAYOUT_VERSION, Document, begin
from segue.formats.soleur.reader import Reading, glance, read

__all__ = ["CONTEXT_PATH", "LAYOUT_VERSION", "Document", "Reading", "begin", "glance", "read"]
