"""Ralph's file: one JSON object per session, as ralphtool stores it in the temporary folder, followed by our fields.

Read `document` (what stands where), then `reader` (what others may have done to it). How the file is laid out and how
one changed byte is found and placed is in `formats.sealed`.
"""

from segue.dialects.ralph.format.document import LAYOUT_VERSION, STORY, RalphDocument, new_document
from segue.dialects.ralph.format.reader import ParsedRalphFile, read

__all__ = ["LAYOUT_VERSION", "STORY", "ParsedRalphFile", "RalphDocument", "new_document", "read"]
