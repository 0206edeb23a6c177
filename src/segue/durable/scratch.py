"""A temporary folder for the time of a block, for child processes, and never for data that has to last."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OWN = 0o700


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A private folder that is removed with all its content when the block ends, whatever modes that has by then."""
    try:
        path = os.path.realpath(tempfile.mkdtemp(prefix="segue-"))
    except OSError as error:
        raise storage_error(error, tempfile.gettempdir(), "make a folder in") from None
    try:
        yield path
    finally:
        shutil.rmtree(path, onerror=_open_and_retry)


def _open_and_retry(remove: Callable[..., object], path: str, _: object) -> None:
    with suppress(OSError):
        for folder in (os.path.dirname(path), path):
            if not os.path.islink(folder):
                os.chmod(folder, _OWN)
        if remove in {os.open, os.scandir, os.listdir}:  # it could not even be listed
            shutil.rmtree(path, ignore_errors=True)
        else:
            remove(path)
