"""Files of one JSON object a session, with all that is ours under one key, and a last line that vouches for the rest.

Read `layout` (what stands where), then `seal` (how one changed byte is found), then `opening` (what a reader makes of
both). Which fields a file has besides is a matter of each format.
"""

from segue.formats.sealed.layout import (
    EVENTS,
    FieldPosition,
    Layout,
    render_fields,
    render_file,
    render_list,
    render_value,
)
from segue.formats.sealed.reader import SealedFields, read_sealed, read_sealed_head

__all__ = [
    "EVENTS",
    "FieldPosition",
    "Layout",
    "SealedFields",
    "read_sealed",
    "read_sealed_head",
    "render_fields",
    "render_file",
    "render_list",
    "render_value",
]
