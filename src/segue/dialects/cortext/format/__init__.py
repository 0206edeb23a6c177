"""Cortext's two files of a conversation: `session.json` has its state, `messages.jsonl` its messages.

Read `names` (folder, type and Markdown document of a conversation), `lines` (turns), `document` (everything else), then
`reader` and `others` (both files together, and what other programs wrote in them).
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
from segue.dialects.cortext.format.names import (
    OTHER,
    conversation_type,
    document_name,
    is_day,
    join_id,
    next_folder,
    parse_folder_type,
    render_stub,
    split_id,
)
from segue.dialects.cortext.format.reader import HIDDEN, MESSAGES, SESSION, ParsedConversation, path_in_workspace, read

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
    "render_stub",
    "restore_document",
    "split_id",
]
