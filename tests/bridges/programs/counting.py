"""Counts in a session: STORE HOW_MANY [PREFIX]. Without a prefix it goes on where the last one stopped."""

from __future__ import annotations

import sys

from segue.bridges import NamedSessions

store, count, *rest = sys.argv[1:]
sessions = NamedSessions("counting", store)
overview = sessions.overview("t")
start = 0 if rest or overview is None else overview.turn_count
for number in range(start, int(count)):
    text = f"{''.join(rest)}{number}"
    with sessions.writing("t") as session:
        session.add("user", text)
    sys.stdout.write(f"ack {text}\n")
    sys.stdout.flush()
