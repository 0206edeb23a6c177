"""Programs on a bridge that are killed again and again, or run many at a time.

A program prints a line `ack WHAT` after each step that the bridge has acknowledged. It runs in a fork of a process
that has imported its framework already, because that takes seconds, and a kill comes after milliseconds.

Run as `python -m tests.bridges.crashing` with a job on stdin; the acknowledged lines go to stdout, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import selectors
import signal
import subprocess
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ACK = "ack "
_MOST_ACKS, _MOST_SECONDS = 4, 0.03  # of a run, before it is killed


def run_killed(program: Path, *args: str, seed: int, kills: int, preload: Sequence[str] = ()) -> list[str]:
    """Run the program until it has been killed that often or has ended, then to its end; all it acknowledged."""
    acks = _work(program, [list(args)], preload, seed=seed, kills=kills)
    killed = int(acks.pop())
    assert killed, "the program ended before it was killed once: give it more to do"
    return acks


def run_many(program: Path, arguments: Sequence[Sequence[str]], *, preload: Sequence[str] = ()) -> list[str]:
    """Run the program once for each arguments, all at the same time; all they acknowledged."""
    return _work(program, [list(args) for args in arguments], preload, seed=0, kills=0)[:-1]


def _work(program: Path, runs: list[list[str]], preload: Sequence[str], *, seed: int, kills: int) -> list[str]:
    job = {"program": str(program), "runs": runs, "preload": list(preload), "seed": seed, "kills": kills}
    search = os.pathsep.join([path or str(Path.cwd()) for path in sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.bridges.crashing"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": search},
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr[-5000:]}"
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


class _Run:
    """One process that runs the program."""

    def __init__(self, program: str, args: list[str]) -> None:
        self.out, write = os.pipe()
        self.lines: list[str] = []
        self.is_over = False
        self._rest = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.out)
            os.dup2(write, 1)
            _run_here(program, args)
        os.close(write)

    @property
    def acks(self) -> list[str]:
        return [line.removeprefix(ACK) for line in self.lines if line.startswith(ACK)]

    def read(self) -> None:
        data = os.read(self.out, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.lines += [line.decode() for line in lines]
        self.is_over = not data

    def end(self) -> int:
        """Read what is left; the exit code."""
        while not self.is_over:
            self.read()
        os.close(self.out)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _run_here(program: str, args: list[str]) -> None:
    code = 1
    try:
        sys.argv = [program, *args]
        runpy.run_path(program, run_name="__main__")
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:  # noqa: BLE001 - a fork must not return into the loop of its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _kill_again_and_again(program: str, args: list[str], kills: int, chance: random.Random) -> tuple[list[str], int]:
    acks: list[str] = []
    for number in range(kills):
        run = _Run(program, args)
        wanted, pause = chance.randint(0, _MOST_ACKS), chance.uniform(0, _MOST_SECONDS)
        while not run.is_over and len(run.acks) < wanted:
            run.read()
        if not run.is_over:
            time.sleep(pause)
            os.kill(run.pid, signal.SIGKILL)
        code = run.end()
        acks += run.acks
        if code == 0:
            return acks, number
        if code != -signal.SIGKILL:
            raise SystemExit(code)
    run = _Run(program, args)
    if code := run.end():
        raise SystemExit(code)
    return acks + run.acks, kills


def _run_together(program: str, arguments: list[list[str]]) -> list[str]:
    runs = [_Run(program, args) for args in arguments]
    with selectors.DefaultSelector() as selector:
        for run in runs:
            selector.register(run.out, selectors.EVENT_READ, run)
        while selector.get_map():
            for key, _ in selector.select():
                key.data.read()
                if key.data.is_over:
                    selector.unregister(key.fd)
    codes = [run.end() for run in runs]
    if any(codes):
        raise SystemExit(f"exit codes {codes}")
    return [ack for run in runs for ack in run.acks]


def main() -> None:
    job = json.load(sys.stdin)
    for name in job["preload"]:
        import_module(name)
    killed = 0
    if job["kills"]:
        acks, killed = _kill_again_and_again(job["program"], job["runs"][0], job["kills"], random.Random(job["seed"]))
    else:
        acks = _run_together(job["program"], job["runs"])
    json.dump([*acks, str(killed)], sys.stdout)


if __name__ == "__main__":
    main()
