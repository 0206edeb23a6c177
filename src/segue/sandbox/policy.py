"""What a command may access, what this kernel can enforce, and how such a command is started."""

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
"""Programs, their libraries, and facts about the machine: every command may read them."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_LAUNCHER = Path(__file__).with_name("launcher.py")
_TRUNCATION_SINCE = 3
_OTHERS = 0o004
_TRIAL_SECONDS = 60.0


class SandboxPolicy(Struct, frozen=True, kw_only=True):
    """Resolved paths, each with everything beneath it. All other paths can be neither read nor written."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    """Paths within `write` that cannot be written."""
    hidden: tuple[str, ...] = ()
    """Paths within `read` and `write` that can be neither read nor written."""
    network: bool = False


class SandboxSupport(NamedTuple):
    """What this system can enforce."""

    missing: str = ""
    """Why there is no sandbox; empty if there is one."""
    has_namespaces: bool = False
    version: int = 0
    """The version of Landlock."""

    @property
    def gap(self) -> str:
        """What the sandbox cannot prevent on this system; usually empty."""
        if self.missing or self.has_namespaces or self.version >= landlock.SCOPED_SINCE:
            return ""
        return "it can send signals to your other processes"


class SandboxedCommand(NamedTuple):
    """How a command is started in its sandbox."""

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]
    """The process must inherit these, and no other process may."""
    environ: dict[str, str]
    """Variables in addition to those of the command."""
    status: int

    def failure(self) -> str:
        """Why the sandbox or the command could not be started; to be called when the process has ended."""
        # Our end of the pipe stays open until the block ends, so an empty pipe has no end: another thread may get the
        # number of a descriptor that is closed twice.
        os.set_blocking(self.status, False)
        try:
            return os.read(self.status, 4096).decode("utf-8", "replace")
        except BlockingIOError:
            return ""


@cache
def find_support() -> SandboxSupport:
    """What this system supports. Tried once: a kernel may have a feature and not let us use it."""
    if sys.platform != "linux":
        return SandboxSupport("Segue knows none for this system")
    if os.uname().machine not in MACHINES:
        return SandboxSupport(f"it does not support {os.uname().machine}")
    version = landlock.version()
    if not version:
        return SandboxSupport("the kernel has no Landlock, or it is switched off")
    reasons = []
    for has_namespaces in (True, False):
        if not has_namespaces and version < _TRUNCATION_SINCE:
            continue
        found = SandboxSupport("", has_namespaces, version)
        with prepare_command((), SandboxPolicy(), cwd="/", support=found) as trial:
            ended = process.run(
                trial.argv, cwd="/", environ={}, pass_fds=trial.descriptors, timeout_seconds=_TRIAL_SECONDS
            )
            reason = trial.failure()
        if ended.code == 0 and not reason:
            return found
        reasons.append(reason or ended.errors.strip().rpartition("\n")[2])
    return SandboxSupport(f"the kernel does not allow it: {reasons[-1]}" if reasons else "the kernel is too old")


@contextmanager
def prepare_command(
    argv: Sequence[str], policy: SandboxPolicy, *, cwd: str, support: SandboxSupport
) -> Iterator[SandboxedCommand]:
    """Prepare a command to start in a sandbox, which lasts as long as the block and has its own temporary folder."""
    with scratch_folder() as scratch:
        own = f"{scratch}/own"
        for folder in (own, f"{scratch}/spare"):
            os.mkdir(folder)  # noqa: PTH102 - paths are texts here
        policy = replace(
            policy, read=(*SYSTEM, *policy.read, own), write=(*policy.write, own), hidden=(*policy.hidden, *_hidden())
        )
        request = {
            "argv": list(argv),
            "cwd": cwd,
            "read": _existing(policy.read),
            "write": _existing(policy.write),
            "read_only": _outermost(policy.read_only),
            "hidden": _outermost(policy.hidden),
            "devices": list(DEVICES),
            "network": policy.network,
            "namespaces": support.has_namespaces,
            "spare": f"{scratch}/spare",
        }
        described = os.memfd_create("segue-sandbox")
        status, written = os.pipe()
        try:
            os.pwrite(described, json.dumps(request).encode("utf-8", "surrogateescape"), 0)
            yield SandboxedCommand(
                (sys.executable, "-I", "-S", str(_LAUNCHER), str(described), str(written)),
                (described, written),
                {"TMPDIR": own, "XDG_CACHE_HOME": f"{own}/cache", "GIT_CONFIG_GLOBAL": os.devnull},
                status,
            )
        finally:
            for descriptor in (described, status, written):
                os.close(descriptor)


def program_folders(environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """The folders of the PATH and, for one called `bin`, the installation that it belongs to."""
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
    """The files of /etc that not every user may read, although we could: a command gets no more rights than others."""
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


def _existing(paths: Sequence[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if os.path.lexists(path)]


def _outermost(paths: Sequence[str]) -> list[str]:
    """The paths that exist, without those beneath another one."""
    found: list[str] = []
    for path in sorted(_existing(paths)):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return found
