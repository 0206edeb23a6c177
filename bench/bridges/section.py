"""The bridges: each framework with its own class and with ours in its place, in one process, in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.bridges.pair import UNSYNCED
from bench.measure import Row, compare
from bench.postgres.server import running
from bench.trace import KILL, watch

if TYPE_CHECKING:
    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

SECTION = "bridges"
AHEAD = 1.0
PYTHON = "SEGUE_BENCH_BRIDGES"
"""The variable with the Python of the environment that has the frameworks; `bench/run` sets it."""
NOTHING, COMMITTED = "nothing: it is in memory", "power loss: the server syncs each commit"
MEMORY, POSTGRES = "memory", "postgres"


@dataclass(frozen=True, slots=True)
class Backend:
    """A class of a framework."""

    module: str
    name: str
    title: str


BACKENDS = (
    Backend("langgraph", "sqlite", "langgraph SqliteSaver"),
    Backend("openai_agents", "sqlite", "openai-agents SQLiteSession"),
    Backend("openai_agents", "advanced_sqlite", "openai-agents AdvancedSQLiteSession"),
    Backend("claude_agent_sdk", MEMORY, "claude-agent-sdk InMemorySessionStore"),
    Backend("strands", "files", "strands FileSessionManager"),
    Backend("pydantic_ai", MEMORY, "pydantic-ai InMemoryConversationStore"),
    Backend("google_adk", "sqlite", "google-adk SqliteSessionService"),
    Backend("google_adk", "database", "google-adk DatabaseSessionService, SQLite"),
    Backend("agent_framework", "files", "agent-framework FileHistoryProvider"),
    Backend("langgraph", POSTGRES, "langgraph PostgresSaver"),
    Backend("openai_agents", POSTGRES, "openai-agents SQLAlchemySession, Postgres"),
    Backend("google_adk", POSTGRES, "google-adk DatabaseSessionService, Postgres"),
)


def measure(place: Workplace) -> list[Row]:
    if PYTHON not in os.environ:
        return [Row(section=SECTION, name="all", ratio=None, note=f"left out: ${PYTHON} names no Python")]
    rows: list[Row] = []
    with running(place) as server:
        for backend in BACKENDS:
            print(f"bench: measuring {backend.title}…", file=sys.stderr, flush=True)
            survives = _survival(place, backend)
            for prior in place.sizes.bridge_prior:
                rows += _measure(place, server, backend, prior, survives)
                if KILL in survives:  # as durable as theirs
                    rows += _measure(place, server, backend, prior, f"both survive {KILL}", unsynced=True)
    return rows


def _measure(
    place: Workplace,
    server: PostgresServer,
    backend: Backend,
    prior: int,
    survives: str,
    *,
    unsynced: bool = False,
) -> list[Row]:
    name = f"{backend.module}_{backend.name}_{prior}"
    folder = place.folder / f"bridges-{name}-{os.urandom(2).hex()}"
    ours, theirs = f"{UNSYNCED if unsynced else ''}journal:{folder}-ours", ""
    if backend.name == POSTGRES:
        database = f"{name}_{os.urandom(2).hex()}"
        server.execute(f"CREATE DATABASE {database}")
        theirs = f"postgresql://postgres@127.0.0.1:{server.port}/{database}"
        ours = server.url(f"ours_{database}", tcp=True)
    sizes = place.sizes
    done = _run(
        "measure",
        backend,
        str(folder),
        ours,
        theirs,
        str(prior),
        str(sizes.peer_appends),
        str(sizes.peer_budget_seconds),
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Row(section=SECTION, name=f"{prior:,} turns / {backend.title}", ratio=None, note=f"failed: {reason}")]
    found: dict[str, tuple[float, float, float]] = json.loads(done.stdout.splitlines()[-1])
    rows: list[Row] = []
    for what, (our_time, their_time, ratio) in found.items():
        # Nothing that is written can be as fast as a list in memory, nothing that is synced as what is only written.
        has_target = backend.name != MEMORY and (what != "put" or unsynced or KILL not in survives)
        name = f"{what}{', unsynced' if unsynced else ''}, {prior:,} turns / {backend.title}"
        row = compare(SECTION, name, our_time, their_time, AHEAD if has_target else None, survives)
        rows.append(replace(row, ratio=ratio))
    return rows


def _survival(place: Workplace, backend: Backend) -> str:
    """What an acknowledged turn survives there."""
    if backend.name == MEMORY:
        return f"theirs survives {NOTHING}"
    if backend.name == POSTGRES:
        return f"both survive {COMMITTED}"
    verdicts = []
    for one in (replace(backend, name="ours"), backend):
        folder = place.folder / f"bridges-{backend.module}-{backend.name}-traced-{one.name}-{os.urandom(2).hex()}"
        verdicts.append(watch(folder, _command("put", one, str(folder))).verdict)
    return f"theirs survives {verdicts[1]}; ours {verdicts[0]}"


def _run(verb: str, backend: Backend, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(verb, backend, *arguments), check=False, capture_output=True, text=True)


def _command(verb: str, backend: Backend, *arguments: str) -> list[str]:
    command = [os.environ[PYTHON], "-W", "ignore", "-m", "bench.bridges.pair", verb, backend.module, backend.name]
    return [*command, *arguments]
