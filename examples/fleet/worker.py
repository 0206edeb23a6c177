"""A worker of a fleet: takes a session that no one works on, works on it turn by turn, then takes the next one.

Start as many as you like, on any machines: python worker.py URL
"""

from __future__ import annotations

import os
import sys
import time

import segue

TAG = "fleet"
POLL_SECONDS = 0.2
THINKING_SECONDS = 0.05


def main(url: str) -> None:
    with segue.open(url) as library:
        while heads := unfinished(library):
            if not any(work_on(library, head.id) for head in heads if head.status != "active"):
                time.sleep(POLL_SECONDS)  # the others work on the rest, and may drop it


def unfinished(library: segue.Library) -> list[segue.Head]:
    """The sessions that are not completed: those that were dropped first, then those that no one has begun."""
    return [head for status in ("interrupted", "paused", "active") for head in library.list(tag=TAG, status=status)]


def work_on(library: segue.Library, id: str) -> bool:
    """Take a session and finish it; False if another worker was faster, or took it over."""
    try:
        session = library.resume(id, timeout_seconds=0)
    except (segue.SessionLockedError, segue.TransitionError, segue.NotFoundError):
        return False  # it is in use, or completed, or deleted by now
    try:
        with session:
            finish(session)
    except segue.TakenOverError as error:
        report(id, str(error))  # this process was stopped for longer than its lease
        return False
    return True


def finish(session: segue.LiveSession) -> None:
    """Do what is left to do. Every step has an id of its own, so that it is recorded once, whoever does it."""
    done = {turn.id for turn in session.turns}
    for number, question in enumerate(session.overview.extra["questions"], start=1):
        if f"answer-{number}" in done:
            continue
        session.add("user", question, id=f"question-{number}")
        session.add("assistant", answer(question), id=f"answer-{number}")
        report(session.id, f"answered {number}")
    session.complete()
    report(session.id, "completed")


def answer(question: str) -> str:
    """Call your model here; the lease is renewed meanwhile, however long it takes."""
    time.sleep(THINKING_SECONDS)
    return f"{len(question.split())} words, says worker {os.getpid()}"


def report(id: str, what: str) -> None:
    print(os.getpid(), id, what, sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
