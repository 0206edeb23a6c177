"""The program that sets the sandbox up, starts one command in it, and ends everything that the command started.

    python -I -S launcher.py REQUEST_DESCRIPTOR STATUS_DESCRIPTOR

It reads its request as JSON (see `policy`). An error before the command starts is written to the status descriptor, and
the command is not started. The launcher ends with the exit code of the command, or 128 plus the number of its signal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/segue/sandbox/")[0])

from segue.sandbox import landlock, namespaces, seccomp, system

GRACE_SECONDS = 1.0
_TICK_SECONDS = 0.001
_SIGNALLED = 128
_NOT_STARTED = 125
_DESCRIPTORS = 4096


class Launcher:
    def __init__(self, request: dict[str, object], status: int) -> None:
        self._paths: dict[str, list[str]] = {name: value for name, value in request.items() if isinstance(value, list)}
        self._cwd = str(request["cwd"])
        self._spare = str(request["spare"])
        self._network = request["network"] is True
        self._isolates = request["namespaces"] is True
        self._status = status
        self._first = 0

    def run(self) -> int:
        """Run the command; its exit code, once all its processes have ended."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGALRM, self._kill)
        try:
            system.prctl(system.PR_SET_PDEATHSIG, signal.SIGTERM)
            system.prctl(system.PR_SET_CHILD_SUBREAPER, 1)
            if self._isolates:
                namespaces.enter()
                paths = self._paths
                namespaces.close_files(
                    paths["write"], _plain(paths["read_only"]), _plain(paths["hidden"]), spare=self._spare
                )
            self._first = os.fork()
            if not self._first:
                self._begin()
        except BaseException as error:  # noqa: BLE001 - after any error, nothing is run
            return self._fail(error)
        os.close(self._status)
        code = _wait_for(self._first)
        if not self._isolates:
            _end_descendants()
        return code

    def _begin(self) -> None:
        """The first process; with namespaces all others end with it."""
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
            shows_own = False
            if self._isolates:
                shows_own = namespaces.show_own_processes()
                child = os.fork()
                if child:
                    os.close(self._status)
                    os._exit(_wait_for(child))
            self._enclose(shows_own=shows_own)
            os.chdir(self._cwd)
            for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, self._status)  # the command does not inherit the descriptors that we were given
            os.closerange(self._status + 1, _DESCRIPTORS)
            if not self._paths["argv"]:
                os._exit(0)  # a trial: whether the sandbox can be set up
            os.execvp(self._paths["argv"][0], self._paths["argv"])  # noqa: S606 - its purpose
        except BaseException as error:  # noqa: BLE001 - as above
            os._exit(self._fail(error))

    def _enclose(self, *, shows_own: bool) -> None:
        paths = self._paths
        closed = {*paths["read_only"], *paths["hidden"]}
        hidden = set(paths["hidden"])
        if self._isolates:  # mounts do it, except for links
            closed, hidden = ({path for path in found if _is_link(path)} for found in (closed, hidden))
        rules = [
            *((path, landlock.READ) for root in paths["read"] for path in around(root, hidden)),
            *((path, landlock.WRITE) for root in paths["write"] for path in around(root, closed)),
            # Names are not secret, and programs list their current folder.
            *((root, landlock.Right.READ_DIR) for root in paths["read"]),
            *((path, landlock.READ | landlock.Right.WRITE_FILE) for path in paths["devices"]),
            *([("/proc", landlock.READ)] if shows_own else []),
        ]
        system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
        landlock.restrict(rules, network=self._network)
        system.drop_capabilities()
        seccomp.restrict(os.uname().machine, network=self._network, changes_modes=self._isolates)

    def _fail(self, error: BaseException) -> int:
        with suppress(OSError):
            os.write(self._status, (getattr(error, "strerror", None) or str(error) or type(error).__name__).encode())
        return _NOT_STARTED

    def _stop(self, number: int, _: object) -> None:
        """Ask first, so that it can save its work."""
        signal.signal(number, signal.SIG_IGN)
        os.killpg(0, number)
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def _kill(self, *_: object) -> None:
        if self._isolates:
            os.kill(self._first, signal.SIGKILL)
        else:
            _end_descendants()


def around(root: str, holes: set[str]) -> list[str]:
    """Paths that cover everything beneath the root now, except the holes; not what is created next to a hole later."""
    inside = f"{root.rstrip('/')}/"
    if root in holes:
        return []
    if not any(hole.startswith(inside) for hole in holes):
        return [root]
    with suppress(OSError), os.scandir(root) as entries:
        return [path for entry in entries for path in around(f"{inside}{entry.name}", holes)]
    return []


def _plain(paths: list[str]) -> list[str]:
    return [path for path in paths if not _is_link(path)]


def _is_link(path: str) -> bool:
    return os.path.islink(path)  # noqa: PTH114 - pathlib takes time to load


def _wait_for(child: int) -> int:
    """Wait until this child has ended, and reap all others that end meanwhile."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNALLED - code


def _end_descendants() -> None:
    """Kill all descendants, including those that left their process group: as orphans they become our children."""
    while True:
        for process in _descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_TICK_SECONDS)


def _descendants(of: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - as above
        if name.isdecimal():
            with suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [of]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def main() -> int:
    described, status = (int(argument) for argument in sys.argv[1:3])
    os.set_inheritable(described, False)  # noqa: FBT003 - the signature is Python's
    os.set_inheritable(status, False)  # noqa: FBT003 - as above
    with os.fdopen(described, "rb") as file:
        request = json.load(file)
    return Launcher(request, status).run()


if __name__ == "__main__":
    os._exit(main())
