"""Stops a conversation in a process that dies at its first system call, at its second, and so on until one lives.

Run as a program with the root of a workspace and a folder for the copies: each number is a copy in which it happened.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from pathlib import Path

from segue.clock import utc_now
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.store import CortextStore
from segue.dialects.cortext.workspace import Workspace
from segue.library import Library
from segue.testing.failing import DyingKernel

SUMMARY = "Where we were."


def stop(root: Path, at: int) -> None:
    kernel = DyingKernel(at)
    library = Library(CortextStore(str(root), kernel=kernel, clock=utc_now))
    (head,) = library.list()
    session = library.open(head.id)
    Conversations(Workspace(root), library, kernel=kernel).stop(session, summary=SUMMARY)
    session.close()


def main() -> None:
    source, copies = map(Path, sys.argv[1:])
    for at in itertools.count(1):
        root = copies / f"{at:04}"
        shutil.copytree(source, root)
        child = os.fork()
        if child == 0:
            stop(root, at)
            os._exit(0)
        _, code = os.waitpid(child, 0)
        if code == 0:
            return


if __name__ == "__main__":
    main()
