"""Files of one JSON object a session, with all that is ours under one key, and a last line that vouches for the rest.

Read `layout` (what stands where), then `seal` (how one changed byte is found), then `opening` (what a reader makes of
both). Which fields a file has besides is a matter of each format.
"""

from segue.formats.sealed.layout import EVENTS, Layout, Spot, lay_fields, lay_list, lay_out, lay_value
from segue.formats.sealed.opening import OpenedSeal, glance, open_file

__all__ = [
    "EVENTS",
    "Layout",
    "OpenedSeal",
    "Spot",
    "glance",
    "lay_fields",
    "lay_list",
    "lay_out",
    "lay_value",
    "open_file",
]
