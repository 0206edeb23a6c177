"""Three workers share the sessions of a library; one is killed in the middle of a session. Nothing is lost.

python demo.py postgresql://user@host/database
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from queue import Queue
from threading import Thread

import segue

WORKERS, SESSIONS = 3, 6
QUESTIONS = ("Which files changed?", "Which of them have no test?", "Write the tests.", "Do they pass?", "Sum it up.")


def main(url: str) -> int:
    with segue.open(url) as library:
        ids = [prepare(library, f"ticket {number}") for number in range(1, SESSIONS + 1)]
        dropped = watch(url)
        problems = [problem for id in ids for problem in check(library.load(id))]
        answers = [turn.content for turn in library.load(dropped).turns if turn.role == "assistant"]
    print(f"{dropped} has answers of {len({answer.split()[-1] for answer in answers})} workers")
    if not problems:
        print(f"{SESSIONS} sessions completed, {SESSIONS * len(QUESTIONS)} answers, each recorded once")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def prepare(library: segue.Library, title: str) -> str:
    """A session that waits for a worker: what to do is stored with it. Returns its id."""
    with library.create(title=title, tags=["fleet"], extra={"questions": list(QUESTIONS)}) as session:
        return session.id


def watch(url: str) -> str:
    """Start the workers, kill one of them when it has answered twice in a session, and wait for the others.

    Returns the id of that session.
    """
    lines: Queue[str | None] = Queue()
    worker = Path(__file__).with_name("worker.py")
    workers = [
        subprocess.Popen([sys.executable, str(worker), url], stdout=subprocess.PIPE, text=True) for _ in range(WORKERS)
    ]
    for process in workers:
        Thread(target=forward, args=(process, lines), daemon=True).start()
    dropped, running = "", len(workers)
    while running:
        line = lines.get()
        if line is None:
            running -= 1
            continue
        pid, id, what = line.split("\t")
        if not dropped and what == "answered 2":
            dropped = id
            os.kill(int(pid), signal.SIGKILL)
            print(f"killed worker {pid} in the middle of {id}")
        print(f"worker {pid}: {id} {what}")
    for process in workers:
        process.wait()
    return dropped


def forward(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    for line in process.stdout or ():
        lines.put(line.rstrip("\n"))
    lines.put(None)


def check(session: segue.Session) -> list[str]:
    """What is wrong with a session: an answer is missing, or recorded twice, or out of order."""
    expected = [f"{what}-{number}" for number in range(1, len(QUESTIONS) + 1) for what in ("question", "answer")]
    found = [turn.id for turn in session.turns]
    twice = [id for id, count in Counter(found).items() if count > 1]
    problems = [f"{session.id}: {found} instead of {expected}"] if found != expected else []
    problems += [f"{session.id}: {id} is recorded twice" for id in twice]
    return problems + ([f"{session.id} is {session.status}"] if session.status != "completed" else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
