"""What a command may touch, what this kernel enforces of it, and how such a command is started."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from segue import process
from segue.durable.scratch import scratch_folder
from segue.sandbox import landlock
from segue.sandbox.seccomp import MACHINES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/etc"),
    *(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems")),
    *("/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system", "/run/systemd/resolve"),
)
"""Programs, what they load, and what they ask about the machine: read by every command."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_LAUNCHER = Path(__file__).with_name("launcher.py")
_TRUNCATION_SINCE = 3
_OTHERS = 0o004
_TRIAL_SECONDS = 60.0


class Box(Struct, frozen=True, kw_only=True):
    """Paths as they resolve, each with all that is beneath it. What is not named is neither read nor written."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    """Within what may be written: not to be."""
    masked: tuple[str, ...] = ()
    """Within what may be read or written: neither."""
    network: bool = False


class Ground(NamedTuple):
    """What the system at hand can enforce."""

    missing: str = ""
    """Why there is no sandbox; empty if there is one."""
    has_namespaces: bool = False
    version: int = 0
    """Of Landlock."""

    @property
    def gap(self) -> str:
        """What a sandbox here leaves open that others close; mostly nothing."""
        if self.missing or self.has_namespaces or self.version >= landlock.SCOPED_SINCE:
            return ""
        return "it can send signals to your other processes"


class SandboxedCommand(NamedTuple):
    """How a command is started in its box."""

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]
    """To be handed to the process, and nobody else."""
    environ: dict[str, str]
    """Beside what the command gets anyway."""
    status: int

    def failure(self) -> str:
        """Why the box could not be put up, or the command not be started; asked when the process has ended."""
        with suppress(OSError):
            os.close(self.descriptors[1])  # our own end of it
        return os.read(self.status, 4096).decode("utf-8", "replace")


@cache
def ground() -> Ground:
    """Tried out once: a kernel may have something and not let us use it."""
    if sys.platform != "linux":
        return Ground("this system has none that Segue knows")
    if os.uname().machine not in MACHINES:
        return Ground(f"it is not known for {os.uname().machine}")
    version = landlock.version()
    if not version:
        return Ground("the kernel has no Landlock, or it is switched off")
    reasons = []
    for has_namespaces in (True, False):
        if not has_namespaces and version < _TRUNCATION_SINCE:
            continue
        found = Ground("", has_namespaces, version)
        with launch((), Box(), cwd="/", on=found) as trial:
            ended = process.run(
                trial.argv, cwd="/", environ={}, pass_fds=trial.descriptors, timeout_seconds=_TRIAL_SECONDS
            )
            reason = trial.failure()
        if ended.code == 0 and not reason:
            return found
        reasons.append(reason or ended.errors.strip().rpartition("\n")[2])
    return Ground(f"the kernel does not let us: {reasons[-1]}" if reasons else "the kernel is too old")


@contextmanager
def launch(argv: Sequence[str], box: Box, *, cwd: str, on: Ground) -> Iterator[SandboxedCommand]:
    """The command in its box, as long as the block lasts; it has a folder of its own for what is temporary."""
    with scratch_folder() as scratch:
        own = f"{scratch}/own"
        for folder in (own, f"{scratch}/spare"):
            os.mkdir(folder)  # noqa: PTH102 - a text in, a text out
        box = replace(box, read=(*SYSTEM, *box.read, own), write=(*box.write, own), masked=(*box.masked, *_hidden()))
        wish = {
            "argv": list(argv),
            "cwd": cwd,
            "read": _there(box.read),
            "write": _there(box.write),
            "sealed": _outermost(box.sealed),
            "masked": _outermost(box.masked),
            "devices": list(DEVICES),
            "network": box.network,
            "namespaces": on.has_namespaces,
            "spare": f"{scratch}/spare",
        }
        told = os.memfd_create("segue-sandbox")
        status, written = os.pipe()
        try:
            os.pwrite(told, json.dumps(wish).encode("utf-8", "surrogateescape"), 0)
            yield SandboxedCommand(
                (sys.executable, "-I", "-S", str(_LAUNCHER), str(told), str(written)),
                (told, written),
                {"TMPDIR": own, "XDG_CACHE_HOME": f"{own}/cache", "GIT_CONFIG_GLOBAL": os.devnull},
                status,
            )
        finally:
            for descriptor in (told, status, written):
                with suppress(OSError):
                    os.close(descriptor)


def programs(environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """Where the PATH leads: each folder and, around one that is called `bin`, the installation that it belongs to."""
    own = os.path.realpath(home)
    shared = {"/", own, f"{own}/.local", *(str(parent) for parent in Path(own).parents)}
    found: dict[str, None] = {}
    for entry in environ.get("PATH", "").split(":"):
        if not entry.startswith("/"):
            continue
        folder = Path(os.path.realpath(entry))
        for place in (folder, *([folder.parent] if folder.name == "bin" else [])):
            if str(place) not in shared:
                found[str(place)] = None
    return tuple(found)


@cache
def _hidden() -> tuple[str, ...]:
    """What of /etc not everybody may read, where we could: a command has no more rights than a guest."""
    if os.geteuid():
        return ()
    found: list[str] = []
    folders = ["/etc"]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    continue
                if not entry.stat(follow_symlinks=False).st_mode & _OTHERS:
                    found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return tuple(found)


def _there(paths: Sequence[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if os.path.lexists(path)]


def _outermost(paths: Sequence[str]) -> list[str]:
    """Without those that are beneath another, and without those that are not there."""
    found: list[str] = []
    for path in sorted(_there(paths)):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return found
