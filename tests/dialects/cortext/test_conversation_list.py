"""The list of conversations and the confirmations, exactly as users see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from segue.dialects.cortext.conversation_list import ConversationEntry, format_age, format_list
from segue.dialects.cortext.slash_commands import format_resuming
from segue.dialects.cortext.stop_result import StopResult

NOW = datetime(2025, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=2), "2 hours ago"),
        (timedelta(hours=25), "yesterday"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=60), "2025-09-23"),
        (-timedelta(days=1), "2025-11-23"),
    ],
)
def test_ages_are_shown_in_words(ago: timedelta, words: str) -> None:
    assert format_age(NOW - ago, NOW) == words


def test_the_list_of_what_can_be_resumed() -> None:
    entries = [
        ConversationEntry(
            id="2025-11-22-001-brainstorm-api-design",
            conversation_id="001-brainstorm-api-design",
            type="brainstorm",
            title="API Design Discussion",
            status="paused",
            last_active=NOW - timedelta(hours=2),
            message_count=4,
            summary="Exploring REST vs GraphQL, leaning toward REST",
        ),
        ConversationEntry(
            id="2025-11-21-001-debug-auth",
            conversation_id="001-debug-auth",
            type="debug",
            title="Auth Token Expiry Issue",
            status="active",
            last_active=NOW - timedelta(days=1),
            message_count=2,
            summary="Identified race condition\nin token refresh",
        ),
    ]
    assert format_list(entries, NOW) == (
        "Here are your resumable conversations:\n\n"
        "1. [brainstorm] API Design Discussion\n"
        "   Last active: 2 hours ago | Status: paused\n"
        "   Summary: Exploring REST vs GraphQL, leaning toward REST\n\n"
        "2. [debug] Auth Token Expiry Issue\n"
        "   Last active: yesterday | Status: active\n"
        "   Summary: Identified race condition in token refresh"
    )


def test_the_confirmation_of_a_stop() -> None:
    stopped = StopResult(id="x", title="API Design Discussion", summary="Leaning toward REST.", status="paused")
    assert stopped.message == (
        "Session saved.\n\n"
        'Conversation "API Design Discussion" has been paused.\n'
        "You can continue later with /workspace.resume\n\n"
        "Summary: Leaning toward REST."
    )


def test_the_confirmation_of_a_completion_does_not_mention_resuming() -> None:
    completed = StopResult(id="x", title="API Design Discussion", summary="", status="completed")
    assert completed.message == 'Session saved.\n\nConversation "API Design Discussion" has been completed.'


def test_the_first_line_of_a_resumed_conversation() -> None:
    assert format_resuming("API Design Discussion") == '[Resuming "API Design Discussion"]'
