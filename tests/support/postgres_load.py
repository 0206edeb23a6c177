"""Writers in processes of their own that append without end and report every receipt, until they are told to stop.

Run as `python -m tests.support.postgres_load URL SESSION`; a line of output is the id of an event and its durability,
and a line of input ends it in order.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from segue.stores.postgres import PostgresStore
from tests.support.journals import metadata, turn
from tests.support.postgres import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self


class Load:
    """One writer, seen from the test."""

    def __init__(self, url: str, session_id: str) -> None:
        self.session_id = session_id
        self.receipts: list[tuple[str, str]] = []
        """The id and the durability of every event that it acknowledged so far."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.postgres_load", url, session_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            id, durability = line.split()
            self.receipts.append((id, durability))

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.receipts]

    def wait_for(self, count: int) -> None:
        """Until it has acknowledged so many events in all."""
        wait_until(lambda: len(self.receipts) >= count or self._process.poll() is not None, what=self.session_id)
        assert len(self.receipts) >= count, self._errors()

    def stop(self) -> None:
        """After the append that is under way."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("stop\n")
            self._process.stdin.flush()
        self._reader.join()
        assert self._process.wait() == 0, self._errors()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _errors(self) -> str:
        assert self._process.stderr is not None
        self._process.kill()
        return self._process.stderr.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def main(arguments: Sequence[str]) -> None:
    url, session_id = arguments
    with PostgresStore(url).create(session_id, [metadata(session_id)]) as writer:
        number = 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            number += 1
            receipt = writer.append(turn(number, id=f"{session_id}.{number}"), ids_are_new=True)
            print(f"{session_id}.{number} {receipt.durability.name}", flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1:])
