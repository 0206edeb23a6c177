"""Small and read-only file systems, where this machine lets us make them."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def small_disk(place: Path, size_bytes: int) -> Iterator[bool]:
    """A file system of that size at the place; False, and said aloud, where mounting is not permitted."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "segue-promises", str(place)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        print(f"CANNOT MOUNT HERE, so the limits of a process stand in: {mounted.stderr.strip()}")  # noqa: T201
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def can_mount() -> bool:
    """Whether this process may mount a file system."""
    with TemporaryDirectory() as folder, small_disk(Path(folder) / "disk", 4096) as is_mounted:
        return is_mounted


def make_read_only(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
