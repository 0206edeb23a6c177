"""A process of its own that runs one server for as long as any process has a lock on a file.

The kernel releases a lock however its process ends, so no server outlives the tests that use it, also after kill -9.
If this process is killed as well, the kernel stops the server (on Linux); a SIGTERM is passed on.

Called as: LOCK FOLDER UID GID PROGRAM ARGUMENT… The FOLDER, if there is one, is removed when the last lock is
released; a UID of - is that of the caller.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def main() -> None:
    lock, folder, user, group, *command = sys.argv[1:]
    other = None if user == "-" else int(user)
    server = subprocess.Popen(
        command,
        cwd="/",
        user=other,
        group=None if other is None else int(group),
        extra_groups=None if other is None else (),
        # It is called after the change of the user, which would reset it.
        preexec_fn=die_with_parent,  # noqa: PLW1509 - there is one thread yet
    )
    signal.signal(signal.SIGTERM, lambda number, _: server.send_signal(number))
    unused = threading.Event()
    threading.Thread(target=stop_when_unused, args=(lock, server, unused), daemon=True).start()
    code = server.wait()
    if folder and unused.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(code if code >= 0 else 128 - code)


def stop_when_unused(lock: str, server: subprocess.Popen[bytes], unused: threading.Event) -> None:
    with open(lock, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        unused.set()
        server.send_signal(signal.SIGQUIT)


def die_with_parent() -> None:
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


if __name__ == "__main__":
    main()
