"""The background processes that Codex starts at a terminal, and leaves running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@contextmanager
def codex_daemon_stops(home: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Afterwards, no process runs that Codex started from this home."""
    try:
        yield
    finally:
        folder = home / ".codex" / "app-server-daemon"
        if folder.is_dir():
            stop = ["codex", "app-server", "daemon", "stop"]
            subprocess.run(stop, env=dict(environ), check=False, capture_output=True)
        for path in folder.glob("*.pid"):
            with suppress(ProcessLookupError, ValueError):
                os.kill(json.loads(path.read_bytes())["pid"], signal.SIGTERM)
