"""Ralph's file: one JSON object a session, as ralphtool keeps it in the temporary folder, with all that is ours below.

Read `document` (what stands where), then `reader` (what others may have done to it). How the file is laid out and how
one changed byte is found and placed is in `formats.sealed`.
"""

from segue.formats.ralph.document import LAYOUT_VERSION, STORY, Document, begin
from segue.formats.ralph.reader import Reading, read

__all__ = ["LAYOUT_VERSION", "STORY", "Document", "Reading", "begin", "read"]
