"""Files with one JSON object per session: our data is under one key, and the last line is a checksum of the rest.

Read `layout` (what is where), then `seal` (how one changed byte is found), then `reader` (which uses both). Each format
adds its own fields.
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
from segue.formats.sealed.seal import is_sealed

__all__ = [
    "EVENTS",
    "FieldPosition",
    "Layout",
    "SealedFields",
    "is_sealed",
    "read_sealed",
    "read_sealed_head",
    "render_fields",
    "render_file",
    "render_list",
    "render_value",
]
