"""Cortext's two files of a conversation: `session.json` says how it stands, `messages.jsonl` what was said.

Read `names` (where a conversation is), `lines` (turns), `document` (everything else), then `reader` and `others` (both
files together, and what other programs wrote in them). `stub` is the document that people write in.
"""

from segue.dialects.cortext.format.document import LAYOUT_VERSION, CortextDocument, begin, piece_of, restore, size_in
from segue.dialects.cortext.format.lines import decode_line, decode_plain, encode_turns, is_ours
from segue.dialects.cortext.format.names import OTHER, id_of, is_day, next_folder, place_of, type_of
from segue.dialects.cortext.format.reader import HIDDEN, MESSAGES, SESSION, ParsedConversation, look_up, read
from segue.dialects.cortext.format.stub import conversation_type, document_name, stub

__all__ = [
    "HIDDEN",
    "LAYOUT_VERSION",
    "MESSAGES",
    "OTHER",
    "SESSION",
    "CortextDocument",
    "ParsedConversation",
    "begin",
    "conversation_type",
    "decode_line",
    "decode_plain",
    "document_name",
    "encode_turns",
    "id_of",
    "is_day",
    "is_ours",
    "look_up",
    "next_folder",
    "piece_of",
    "place_of",
    "read",
    "restore",
    "size_in",
    "stub",
    "type_of",
]
