"""Ways out of a sandbox, each tried to its end: `attempts.py FILE`, with JSON that says which, and with what.

Nothing but the standard library, since it runs inside. It prints, for each attempt, why it came to nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LIBC = ctypes.CDLL(None, use_errno=True)
_EXCHANGE = 2
_FOLLOW = 0x400
_PTRACE_ATTACH = 16


class World:
    """Where the attempts are made: a project, in which `sub` is open, and what lies around it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.free = f"{folder}/project/sub"
        self._count = 0

    def fresh(self, what: str = "x") -> str:
        """A name in the open folder that nothing has yet."""
        self._count += 1
        return f"{self.free}/{what}{os.getpid()}-{self._count}"

    def made(self) -> str:
        path = self.fresh("file")
        Path(path).write_text("evil")
        return path


# ── How a path can be spelt ──────────────────────────────────────────────────────────────────────────────────────────


def _linked(world: World, path: str) -> str:
    link = world.fresh("link")
    Path(link).symlink_to(path)
    return link


def _linked_folder(world: World, path: str) -> str:
    link = world.fresh("link")
    Path(link).symlink_to(os.path.dirname(path))
    return f"{link}/{os.path.basename(path)}"


def _swapped(world: World, path: str) -> str:
    """A folder while somebody looked, and a link by now."""
    place = world.fresh("swap")
    Path(place).mkdir()
    Path(place).rename(world.fresh("old"))
    Path(place).symlink_to(os.path.dirname(path))
    return f"{place}/{os.path.basename(path)}"


def _by_descriptor(_: World, path: str) -> str:
    descriptor = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    return f"/proc/self/fd/{descriptor}/{os.path.basename(path)}"


def _from_there(_: World, path: str) -> str:
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)


SPELLINGS: dict[str, Callable[[World, str], str]] = {
    "plain": lambda _, path: path,
    "root": lambda _, path: f"/proc/self/root{path}",
    "cwd": lambda world, path: f"/proc/self/cwd/{os.path.relpath(path, os.getcwd() or world.free)}",
    "up": lambda world, path: f"{world.free}/../../project/sub/{os.path.relpath(path, world.free)}",
    "slashes": lambda _, path: path.replace("/", "//./"),
    "link": _linked,
    "folder link": _linked_folder,
    "swapped": _swapped,
    "descriptor": _by_descriptor,
    "chdir": _from_there,
}


# ── What can be done to a file ───────────────────────────────────────────────────────────────────────────────────────


def _open(path: str, flags: int) -> None:
    descriptor = os.open(path, flags, 0o600)
    if flags & (os.O_WRONLY | os.O_RDWR):
        os.write(descriptor, b"evil")
    os.close(descriptor)


def _read(world: World, path: str) -> None:
    del world
    assert "secret" in Path(path).read_text()


def _read_linked(world: World, path: str) -> None:
    name = world.fresh("hard")
    os.link(path, name)
    assert "secret" in Path(name).read_text()


def _write_linked(world: World, path: str) -> None:
    name = world.fresh("hard")
    os.link(path, name)
    _open(name, os.O_WRONLY)


def _read_moved(world: World, path: str) -> None:
    name = world.fresh("moved")
    os.rename(path, name)
    assert "secret" in Path(name).read_text()


def _exchange(world: World, path: str) -> None:
    if _LIBC.renameat2(-100, os.fsencode(world.made()), -100, os.fsencode(path), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


def _replace_folder(world: World, path: str) -> None:
    folder = os.path.dirname(path)
    os.rename(folder, world.fresh("away"))
    os.mkdir(folder)
    Path(path).write_text("evil")


def _nameless(_: World, path: str) -> None:
    """A file without a name, which gets one later."""
    descriptor = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o600)
    if _LIBC.linkat(-100, f"/proc/self/fd/{descriptor}".encode(), -100, os.fsencode(path), _FOLLOW):
        raise OSError(ctypes.get_errno(), "linkat")


def _listen(_: World, path: str) -> None:
    folder = os.open(os.path.dirname(path), os.O_PATH)  # a socket's path has little room
    socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")


READS = {"read": _read, "read by a hard link": _read_linked, "read after moving it": _read_moved}
CHANGES: dict[str, Callable[[World, str], None]] = {
    "write": lambda _, path: _open(path, os.O_WRONLY),
    "write and read": lambda _, path: _open(path, os.O_RDWR),
    "append": lambda _, path: _open(path, os.O_WRONLY | os.O_APPEND),
    "empty": lambda _, path: _open(path, os.O_WRONLY | os.O_TRUNC),
    "empty by opening": lambda _, path: _open(path, os.O_RDONLY | os.O_TRUNC),
    "truncate": lambda _, path: os.truncate(path, 1),
    "write by a hard link": _write_linked,
    "exchange": _exchange,
    "remove": lambda _, path: os.unlink(path),
    "move away": lambda world, path: os.rename(path, world.fresh("moved")),
    "replace": lambda world, path: os.rename(world.made(), path),
    "replace its folder": _replace_folder,
    "mode": lambda _, path: os.chmod(path, 0o600),
    "owner": lambda _, path: os.chown(path, os.getuid(), os.getgid()),
    "times": lambda _, path: os.utime(path, (1, 1)),
    "attribute": lambda _, path: os.setxattr(path, "user.evil", b"1"),
}
CREATES: dict[str, Callable[[World, str], None]] = {
    "create": lambda _, path: _open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "make a folder": lambda _, path: os.mkdir(path),
    "make a link": lambda _, path: os.symlink("/evil", path),
    "make a pipe": lambda _, path: os.mkfifo(path),
    "make a node": lambda _, path: os.mknod(path, stat.S_IFREG | 0o600),
    "listen": _listen,
    "move in": lambda world, path: os.rename(world.made(), path),
    "link in": lambda world, path: os.link(world.made(), path),
    "nameless": _nameless,
}
DEEDS = READS | CHANGES | CREATES


# ── What can be done beside files ────────────────────────────────────────────────────────────────────────────────────


def _call(number: int, *arguments: object) -> None:
    if _LIBC.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "syscall")


def _tcp(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), 5).close()


def _udp(port: int) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"evil", ("127.0.0.1", port))


def _unix(path: str) -> None:
    socket.socket(socket.AF_UNIX).connect(path)


def _serve(_: int) -> None:
    socket.create_server(("127.0.0.1", 0)).close()


def _kill(process: int) -> None:
    os.kill(process, signal.SIGCONT)


def _trace(process: int) -> None:
    if _LIBC.ptrace(_PTRACE_ATTACH, process, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(process, 0)
    _LIBC.ptrace(17, process, 0, 0)


def _environment(process: int) -> None:
    assert b"SECRET" in Path(f"/proc/{process}/environ").read_bytes()


def _memory(process: int) -> None:
    Path(f"/proc/{process}/mem").open("rb").close()


def _descriptors(process: int) -> None:
    assert os.listdir(f"/proc/{process}/fd")


def _ring(_: int) -> None:
    _call(425, 1, ctypes.create_string_buffer(120))  # io_uring_setup, which could open sockets by itself


def _keyring(_: int) -> None:
    _call({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 1)


def _unmount(path: str) -> None:
    """A namespace of one's own in the namespace, and the mounts undone there."""
    subprocess.run(
        ["unshare", "-Urm", "sh", "-c", f"mount -o remount,rw,bind '{path}'; echo evil > '{path}/evil'"],
        check=True,
        capture_output=True,
    )


OTHERS: dict[str, Callable[..., None]] = {
    "tcp": _tcp,
    "udp": _udp,
    "unix": _unix,
    "abstract": _unix,
    "serve": _serve,
    "kill": _kill,
    "trace": _trace,
    "environment": _environment,
    "memory": _memory,
    "descriptors": _descriptors,
    "ring": _ring,
    "keyring": _keyring,
    "unmount": _unmount,
}


def attempt(folder: str, one: list[str | int]) -> str:
    """In a process of its own, so that none disturbs the next; empty if it succeeded, else why not."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = "died"
        try:
            world = World(folder)
            os.chdir(world.free)
            if one[0] in OTHERS:
                OTHERS[str(one[0])](one[1])
            else:
                deed, target, spelling = map(str, one)
                DEEDS[deed](world, SPELLINGS[spelling](world, f"{folder}/{target}"))
            said = ""
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(writer, said.encode("utf-8", "replace")[:500])
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read().decode()


def main(told: str) -> None:
    order = json.loads(Path(told).read_text())
    said = []
    for one in order["attempts"]:
        if "pattern" in order:  # outside each is made in a world of its own, since it comes to something
            shutil.rmtree(order["folder"], ignore_errors=True)
            shutil.copytree(order["pattern"], order["folder"])
        said.append(attempt(order["folder"], one))
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1])
