"""Nobody gets out: each way is tried outside, where it works, and inside, where it must not, in the real kernel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.sandbox.policy import SandboxPolicy, SandboxSupport, find_support, prepare_command
from tests.sandbox.attempts import CHANGES, CREATES, DEEDS, OTHERS, READS, SPELLINGS, attempt

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.needs_sandbox

PROGRAM = str(Path(__file__).with_name("attempts.py"))
PYTHON = os.path.realpath(sys.executable)
PROGRAMS = (str(Path(PYTHON).parents[1]), str(Path(PROGRAM).parent))

Attempt = list[str | int]

READ_AND_WRITTEN = ("outside/file", "home/.ssh/id", "project/.env")
WRITTEN = (
    "project/.git/config",
    "project/.claude/settings.json",
    "project/sessions/s.jsonl",
    "project/deep/er/.git/config",
)
MISSING = (
    "outside/new",
    "home/.ssh/new",
    "project/.git/hooks/new",
    "project/.claude/agents",
    "project/sessions/t.jsonl",
)
ABOUT_A_LINK = {
    "remove",
    "replace",
    "exchange",
    "owner",
    *CREATES,
    *(name for name in DEEDS if "link" in name or "mov" in name),
}
"""Of a path that is a link these mean the link itself, or what lies beside it."""
ATTEMPTS: list[Attempt] = [
    [deed, target, spelling]
    for deeds, targets in ((READS, READ_AND_WRITTEN), (CHANGES, (*READ_AND_WRITTEN, *WRITTEN)), (CREATES, MISSING))
    for deed in deeds
    for target in targets
    for spelling in SPELLINGS
    if not (spelling == "link" and deed in ABOUT_A_LINK)
    if deed != "replace its folder" or (spelling in {"plain", "root", "up"} and target != "project/.env")
    if deed not in {"nameless", "listen"} or spelling != "chdir"
]


def make_world(folder: Path) -> Path:
    for target in (*READ_AND_WRITTEN, *WRITTEN):
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret, and long enough")
    (folder / "project" / "sub").mkdir()
    (folder / "project" / ".git" / "hooks").mkdir()
    (folder / "project" / "notes.md").write_text("open")
    return folder


def policy_of(world: Path) -> SandboxPolicy:
    project = f"{world}/project"
    read_only = (f"{project}/.git", f"{project}/.claude", f"{project}/sessions", f"{project}/deep/er/.git")
    return SandboxPolicy(read=(project, *PROGRAMS), write=(project,), read_only=read_only, hidden=(f"{project}/.env",))


GROUNDS = [pytest.param(True, id="namespaces"), pytest.param(False, id="landlock")]


def support_with(*, namespaces: bool) -> SandboxSupport:
    found = find_support()
    assert not found.missing, found.missing
    assert found.has_namespaces or not namespaces, "this machine lets users make no namespaces"
    return SandboxSupport("", namespaces, found.version)


def run(
    world: Path, command: Sequence[str], support: SandboxSupport, policy: SandboxPolicy | None = None
) -> subprocess.CompletedProcess[str]:
    with prepare_command(command, policy or policy_of(world), cwd=f"{world}/project", support=support) as start:
        done = subprocess.run(
            start.argv,
            pass_fds=start.descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", **start.environ},
            start_new_session=True,
            check=False,
        )
        assert start.failure() == ""
    return done


def inside(world: Path, attempts: Sequence[Attempt], support: SandboxSupport) -> list[str]:
    order = world / "project" / "sub" / "order.json"
    order.write_text(json.dumps({"folder": str(world), "attempts": attempts}))
    done = run(world, (PYTHON, "-I", "-S", PROGRAM, str(order)), support)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def outside(folder: Path, pattern: Path, attempts: Sequence[Attempt]) -> list[str]:
    order = folder / "order.json"
    order.write_text(json.dumps({"folder": f"{folder}/world", "pattern": str(pattern), "attempts": attempts}))
    found: list[str] = json.loads(subprocess.check_output((PYTHON, "-I", "-S", PROGRAM, str(order))))
    return found


def state(world: Path) -> dict[str, object]:
    """Everything that must not change: all but what lies in the open folder."""
    found: dict[str, object] = {}
    for path in sorted(world.rglob("*")):
        name = str(path.relative_to(world))
        if name.startswith("project/sub"):
            continue
        about = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        times = about.st_mtime_ns if path.is_file() else None
        found[name] = (about.st_mode, about.st_uid, about.st_nlink, times, os.listxattr(path), content)
    return found


def check(tmp_path: Path, attempts: Sequence[Attempt], *, namespaces: bool, tried_outside: int) -> None:
    pattern = make_world(tmp_path / "pattern")
    tried = attempts[:tried_outside]
    results = outside(tmp_path, pattern, tried)
    assert [(one, result) for one, result in zip(tried, results, strict=True) if result] == []  # ways out, not mistakes
    before = state(pattern)
    results = inside(pattern, attempts, support_with(namespaces=namespaces))
    assert [one for one, result in zip(attempts, results, strict=True) if not result] == []
    assert state(pattern) == before


@pytest.mark.parametrize("namespaces", GROUNDS)
def test_no_deed_reaches_a_file_that_is_closed(tmp_path: Path, rng: random.Random, *, namespaces: bool) -> None:
    """Every deed on every target inside, by a spelling that chance chooses; a sample of them outside."""
    chosen = {(one[0], one[1]): one for one in rng.sample(ATTEMPTS, len(ATTEMPTS))}
    attempts = rng.sample([*chosen.values()], len(chosen))
    check(tmp_path, attempts, namespaces=namespaces, tried_outside=40)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("namespaces", GROUNDS)
def test_no_deed_reaches_a_file_that_is_closed_by_any_spelling(
    tmp_path: Path, rng: random.Random, *, namespaces: bool
) -> None:
    for number in range(3):
        folder = tmp_path / str(number)
        attempts = rng.sample(ATTEMPTS, len(ATTEMPTS))
        check(folder, attempts, namespaces=namespaces, tried_outside=len(attempts) if number == 0 else 0)


# ── Beside files ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def others(tmp_path: Path) -> Iterator[dict[str, Attempt]]:
    """Somebody to reach: servers, and a process with a secret in its environment."""
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        named, abstract = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        short = os.path.relpath(tmp_path / "s", Path.cwd())
        path = str(tmp_path / "s") if len(str(tmp_path)) < 100 else short
        hidden = f"\0segue-test-{os.getpid()}"
        named.bind(path)
        named.listen()
        abstract.bind(hidden)
        abstract.listen()
        victim = stack.enter_context(subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={"SECRET": "1"}))
        stack.callback(victim.kill)
        given: dict[str, str | int] = {
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": path,
            "abstract": hidden,
            "unmount": f"{tmp_path}/world/outside",
        }
        yield {name: [name, given.get(name, victim.pid)] for name in OTHERS}


@pytest.mark.parametrize("namespaces", GROUNDS)
@pytest.mark.parametrize("way", OTHERS)
def test_nobody_outside_is_reached(tmp_path: Path, others: dict[str, Attempt], way: str, *, namespaces: bool) -> None:
    world = make_world(tmp_path / "world")
    if way != "unmount":  # outside there is nothing to undo
        assert attempt(str(world), others[way]) == "", "it is no way out: it fails anywhere"
    assert inside(world, [others[way]], support_with(namespaces=namespaces)) != [""]
    assert not (world / "outside" / "evil").exists()


@pytest.mark.parametrize("namespaces", GROUNDS)
def test_the_network_is_open_where_the_box_says_so(
    tmp_path: Path, others: dict[str, Attempt], *, namespaces: bool
) -> None:
    from msgspec.structs import replace

    world = make_world(tmp_path / "world")
    order = world / "project" / "sub" / "order.json"
    order.write_text(json.dumps({"folder": str(world), "attempts": [others["tcp"], others["udp"], others["unix"]]}))
    policy = replace(policy_of(world), network=True)
    done = run(world, (PYTHON, "-I", "-S", PROGRAM, str(order)), support_with(namespaces=namespaces), policy)
    results = json.loads(done.stdout)
    assert results[:2] == ["", ""]
    assert "PermissionError" in results[2]  # a socket of this machine is not the network


# ── Nothing outlives the call ────────────────────────────────────────────────────────────────────────────────────────

DAEMON = """
import os, sys
open(sys.argv[1] + '/held', 'w')  # waits for the reader
held = os.open(sys.argv[1] + '/held', os.O_WRONLY)
for depth in range(4):
    if os.fork():
        os._exit(0) if depth else os.waitpid(-1, 0)
        sys.exit()
    os.setsid()
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
open(sys.argv[1] + '/begun', 'w').close()
while True:
    signal.pause()
"""


@pytest.mark.parametrize("namespaces", GROUNDS)
@pytest.mark.parametrize("ends", ["by itself", "killed"])
def test_a_daemon_that_leaves_its_session_and_ignores_every_signal_is_gone_with_the_call(
    tmp_path: Path, ends: str, *, namespaces: bool
) -> None:
    world = make_world(tmp_path)
    free = world / "project" / "sub"
    os.mkfifo(free / "held")
    held = os.open(free / "held", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(held, True)
    (free / "daemon.py").write_text(DAEMON)
    wait = "until [ -e sub/begun ]; do sleep 0.05; done"
    line = f"{PYTHON} -I -S sub/daemon.py {free} & {wait}; echo began{'; sleep 1000' if ends == 'killed' else ''}"
    with prepare_command(
        ("/bin/sh", "-c", line), policy_of(world), cwd=f"{world}/project", support=support_with(namespaces=namespaces)
    ) as support:
        process = subprocess.Popen(
            support.argv,
            pass_fds=support.descriptors,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", **support.environ},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"began\n"
        if ends == "killed":
            process.terminate()
        process.wait()
        process.stdout.close()
    assert os.read(held, 1) == b""  # an end: nobody has it open any more
    os.close(held)
