"""What people are told, to the letter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from segue.dialects.cortext.conversation_list import ConversationSummary
from segue.dialects.cortext.conversations import Stopped
from segue.dialects.cortext.messages import listing, resuming, saved, since

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
def test_times_are_said_as_people_say_them(ago: timedelta, words: str) -> None:
    assert since(NOW - ago, NOW) == words


def test_the_list_of_what_can_be_resumed() -> None:
    cards = [
        ConversationSummary(
            id="2025-11-22-001-brainstorm-api-design",
            conversation_id="001-brainstorm-api-design",
            type="brainstorm",
            title="API Design Discussion",
            status="paused",
            last_active=NOW - timedelta(hours=2),
            message_count=4,
            summary="Exploring REST vs GraphQL, leaning toward REST",
        ),
        ConversationSummary(
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
    assert listing(cards, NOW) == (
        "Here are your resumable conversations:\n\n"
        "1. [brainstorm] API Design Discussion\n"
        "   Last active: 2 hours ago | Status: paused\n"
        "   Summary: Exploring REST vs GraphQL, leaning toward REST\n\n"
        "2. [debug] Auth Token Expiry Issue\n"
        "   Last active: yesterday | Status: active\n"
        "   Summary: Identified race condition in token refresh"
    )


def test_the_confirmation_of_a_stop() -> None:
    stopped = Stopped(id="x", title="API Design Discussion", summary="Leaning toward REST.", status="paused")
    assert saved(stopped) == (
        "Session saved.\n\n"
        'Conversation "API Design Discussion" has been paused.\n'
        "You can continue later with /workspace.resume\n\n"
        "Summary: Leaning toward REST."
    )


def test_what_is_completed_is_not_said_to_go_on() -> None:
    told = saved(Stopped(id="x", title="API Design Discussion", summary="", status="completed"))
    assert told == 'Session saved.\n\nConversation "API Design Discussion" has been completed.'


def test_the_first_line_of_a_resumed_conversation() -> None:
    assert resuming("API Design Discussion") == '[Resuming "API Design Discussion"]'
