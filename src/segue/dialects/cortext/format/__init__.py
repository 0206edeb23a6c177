"""Cortext's two files of a conversation: `session.json` has its state, `messages.jsonl` its messages.

Read `names` (where a conversation is), `lines` (turns), `document` (everything else), then `reader` and `others` (both
files together, and what other programs wrote in them). `stub` is the document that people write in.
"""

from segue.dialects.cortext.format.document import (
    LAYOUT_VERSION,
    CortextDocument,
    encode_entry,
    new_document,
    parse_messages_size,
    restore_document,
)
from segue.dialects.cortext.format.lines import are_plain_lines, decode_message, decode_plain_turns, encode_turns
from segue.dialects.cortext.format.names import OTHER, is_day, join_id, next_folder, parse_folder_type, split_id
from segue.dialects.cortext.format.reader import HIDDEN, MESSAGES, SESSION, ParsedConversation, path_in_workspace, read
from segue.dialects.cortext.format.stub import conversation_type, document_name, stub

__all__ = [
    "HIDDEN",
    "LAYOUT_VERSION",
    "MESSAGES",
    "OTHER",
    "SESSION",
    "CortextDocument",
    "ParsedConversation",
    "are_plain_lines",
    "conversation_type",
    "decode_message",
    "decode_plain_turns",
    "document_name",
    "encode_entry",
    "encode_turns",
    "is_day",
    "join_id",
    "new_document",
    "next_folder",
    "parse_folder_type",
    "parse_messages_size",
    "path_in_workspace",
    "read",
    "restore_document",
    "split_id",
    "stub",
]
