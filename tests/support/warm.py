"""Fast starts for our own commands: each process is forked from a server that has imported everything already.

Most tests are about what a command does, and not about how it starts; starting Python is most of what a short command
costs. Each command is still a real process with its own environment, folder, streams, signals and terminal. Everything
but `python -m COMMAND` with the usual settings of Python is executed as usual, and so are all commands in docs/.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import segue

PACKAGE = Path(segue.__file__).resolve().parent.parent
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "segue",
    *(f"segue.dialects.{name}" for name in ("aurora", "cortext", "ralph", "soleur")),
    "tests.support.chat_program",
)
LIBRARIES = (
    *("anthropic", "google.genai.types", "mcp", "mcp.types", "openai", "openai.resources.chat", "prompt_toolkit"),
    *("prompt_toolkit.shortcuts", "rich.console", "rich.markdown", "ruamel.yaml", "textual.app", "textual.widgets"),
)
"""What commands import late, if at all."""
_SETTINGS = {"PYTHONPATH": str(PACKAGE), "PYTHONWARNINGS": "error"}
"""With these the server runs, and so every process that it forks."""
_HARMLESS = {"PYTHONUTF8": "1"}
_NOTICE = struct.Struct("<ii")
_STARTED = -1


class _Server:
    """The process that forks the others; one per test process."""

    _only: ClassVar[_Server | None] = None

    def __init__(self) -> None:
        self._socket, other = socket.socketpair()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[other.fileno()],
            env=kept | _SETTINGS | {"PYTHONPATH": f"{PACKAGE}{os.pathsep}{ROOT}"},
            start_new_session=True,
        )
        other.close()
        self._lock = threading.Lock()
        self._ended: dict[int, int] = {}
        self._pid = os.getpid()
        atexit.register(self._process.kill)

    @classmethod
    def get(cls) -> _Server:
        if cls._only is None or cls._only._pid != os.getpid():
            cls._only = cls()
        return cls._only

    def start(self, order: dict[str, object], descriptors: list[int]) -> int:
        data = pickle.dumps(order)
        with self._lock:
            socket.send_fds(self._socket, [struct.pack("<q", len(data))], descriptors)
            self._socket.sendall(data)
            while True:
                pid, status = self._read()
                if status == _STARTED:
                    return pid

    def status(self, pid: int, seconds: float | None) -> int | None:
        """The wait status of a process, once it has ended; None if it has not within the time."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            with self._lock:
                if pid in self._ended:
                    return self._ended.pop(pid)
                left = 0.05 if until is None else min(0.05, max(0.0, until - time.monotonic()))
                if select.select([self._socket], [], [], left)[0]:
                    self._read()
                    continue
            if until is not None and time.monotonic() >= until:
                return None

    def _read(self) -> tuple[int, int]:
        data = self._socket.recv(_NOTICE.size, socket.MSG_WAITALL)
        assert len(data) == _NOTICE.size, "the process that starts the others has ended"
        pid, status = _NOTICE.unpack(data)
        if status != _STARTED:
            self._ended[pid] = status
        return pid, status


class Popen(subprocess.Popen[Any]):
    """As subprocess.Popen. `takes_terminal` makes its input its terminal, so that Ctrl-C reaches it."""

    def __init__(self, args: Any, *, takes_terminal: bool = False, **options: Any) -> None:  # noqa: ANN401 - as there
        self._takes_terminal = takes_terminal
        self._server: _Server | None = None
        if takes_terminal:
            options |= {"start_new_session": True, "preexec_fn": _take_terminal}
        super().__init__(args, **options)

    def _execute_child(self, *given: Any) -> None:  # noqa: ANN401 - the signature of the standard library
        args, cwd, env = given[0], given[5], given[6]
        streams = (given[10], given[13], given[15])  # what the child reads and writes
        if not _is_usual(args, env, streams):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self._server = _Server.get()
        order = {
            "module": args[2],
            "args": [os.fsdecode(word) for word in args[3:]],
            "cwd": os.fsdecode(cwd or Path.cwd()),
            "env": dict(env),
            "session": given[-2] or self._takes_terminal,
            "terminal": self._takes_terminal,
        }
        self.pid = self._server.start(order, list(streams))
        self._child_created = True
        self._close_pipe_fds(*given[10:16])  # type: ignore[attr-defined]

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:  # noqa: ANN401 - as there
        if self._server is None:
            return super()._internal_poll(*args, **options)  # type: ignore[misc, no-any-return]
        if self.returncode is None:
            self._note(self._server.status(self.pid, 0.0))
        return self.returncode

    def _wait(self, timeout: float | None) -> int | None:
        if self._server is None:
            return super()._wait(timeout)  # type: ignore[misc, no-any-return]
        if self.returncode is None:
            self._note(self._server.status(self.pid, timeout))
        if self.returncode is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _note(self, status: int | None) -> None:
        if status is not None:
            self.returncode = os.waitstatus_to_exitcode(status)


def run(
    args: Any,  # noqa: ANN401 - as there
    *,
    input: bytes = b"",
    env: dict[str, str],
    cwd: Path,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """As subprocess.run with captured output."""
    with Popen(
        args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd
    ) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def _is_usual(args: Any, env: Any, streams: tuple[int, ...]) -> bool:  # noqa: ANN401 - whatever was given
    if isinstance(args, (str, bytes)) or env is None or min(streams) < 0:
        return False
    if list(args[:2]) != [sys.executable, "-m"] or args[2] not in COMMANDS:
        return False
    settings = {name: value for name, value in env.items() if name.startswith("PYTHON")}
    if settings.get("PYTHONPATH") == f"{PACKAGE}{os.pathsep}{ROOT}":
        settings["PYTHONPATH"] = str(PACKAGE)
    locale = {name: env[name] for name in ("LANG", "LC_ALL") if name in env}
    return {**_SETTINGS, **_HARMLESS, **settings} == {**_SETTINGS, **_HARMLESS} and locale.items() <= os.environ.items()


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


# ── In the server ────────────────────────────────────────────────────────────────────────────────────────────────────


def _serve(descriptor: int) -> None:
    import gc
    import pkgutil
    import signal
    from contextlib import suppress
    from importlib import import_module

    from segue.errors import MissingExtraError

    found = pkgutil.walk_packages([str(PACKAGE / "segue")], "segue.", onerror=lambda _: None)
    own = [module.name for module in found]
    kept = [name for name in own if not name.startswith("segue.testing") and not name.endswith("__main__")]
    for name in (*LIBRARIES, *kept):
        with suppress(ImportError, MissingExtraError):  # what is not installed
            import_module(name)
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=descriptor)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready = select.select([channel.fileno(), woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                channel.sendall(_NOTICE.pack(*ended))
        if channel.fileno() in ready:
            head, descriptors, _, _ = socket.recv_fds(channel, 8, 3)
            if not head:
                return
            left, data = struct.unpack("<q", head)[0], bytearray()
            while len(data) < left:
                data += channel.recv(left - len(data))
            pid = os.fork()
            if pid == 0:
                channel.close()
                os.close(woken)
                os.close(wake)
                _become(pickle.loads(data), descriptors)  # noqa: S301 - from the test that started us
            channel.sendall(_NOTICE.pack(pid, _STARTED))
            for one in descriptors:
                os.close(one)


def _become(order: dict[str, Any], descriptors: list[int]) -> None:
    """Be the process that `python -m MODULE` would be; never returns."""
    import random
    import runpy
    import signal
    import traceback

    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if order["session"]:
            os.setsid()
        for target, one in enumerate(descriptors):
            os.dup2(one, target)
        for one in set(descriptors) - {0, 1, 2}:
            os.close(one)
        if order["terminal"]:
            _take_terminal()
        os.environ.clear()
        os.environ.update(order["env"])
        time.tzset()
        os.chdir(order["cwd"])
        random.seed()
        _open_streams()
        sys.argv = [order["module"], *order["args"]]
        sys.path[0] = order["cwd"]
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if isinstance(error.code, str):
            sys.stderr.write(f"{error.code}\n")
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as Python itself ends
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120
        os._exit(code)


def _open_streams() -> None:
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        known = getattr(sys, name)
        opened = open(  # noqa: SIM115 - as long as the process lives
            number,
            "r" if number == 0 else "w",
            buffering=-1 if number == 0 else 1 if number == 2 or os.isatty(number) else -1,
            encoding="utf-8",
            errors=known.errors,
            newline=None if number == 0 else "\n",
            closefd=False,
        )
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
