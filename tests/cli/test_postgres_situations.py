"""Ordinary days with sessions in Postgres: two machines, one that sleeps, a server that restarts, a password file."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_cli import ChatProcess, program
from tests.support.cli import Segue
from tests.support.postgres import DATABASE, PASSWORD_USERS, PostgresServer, wait_until
from tests.support.postgres_proxy import LoopbackProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "agent>"
AGENT = "#!/bin/sh\ncat > /dev/null\nprintf 'Noted.'\n"
FIRST, SECOND, THIRD = "I want to fix the login bug", "The token expires", "What about logout?"


@pytest.fixture
def network(postgres_server: PostgresServer) -> Iterator[LoopbackProxy]:
    with LoopbackProxy(postgres_server) as proxy:
        yield proxy


@pytest.fixture
def desktop(cli: Segue, network: LoopbackProxy, postgres_schema: str) -> Segue:
    cli.store = network.url(postgres_schema, lease="1s", timeout="1s")
    return cli


@pytest.fixture
def laptop(tmp_path: Path, desktop: Segue) -> Segue:
    """Another machine with the same store."""
    home = tmp_path / "laptop"
    home.mkdir()
    other = Segue(home)
    other.store = desktop.store
    return other


def chat(cli: Segue) -> ChatProcess:
    process = ChatProcess(cli, "chat", "--agent", program(cli.home, "agent", AGENT))
    process.wait_for(PROMPT)
    ask(process, FIRST)
    return process


def ask(process: ChatProcess, text: str) -> None:
    process.enter(text)
    process.wait_for("Noted.")
    process.wait_for(PROMPT)


def leave(process: ChatProcess) -> None:
    process.type("\x04")
    assert process.end() == 0


def questions(cli: Segue) -> list[str]:
    (head,) = cli.library.list()
    assert head.status == "paused"
    return [turn.content for turn in cli.library.load(head.id).turns if turn.role == "user"]


def test_two_windows_on_one_session_have_one_writer_and_any_number_of_readers(desktop: Segue, laptop: Segue) -> None:
    with chat(desktop) as process:
        (head,) = laptop.library.list()
        assert head.status == "active"
        assert FIRST in laptop.ok("show", head.id)
        for verb in (("resume", head.id), ("add", head.id, "me too"), ("delete", head.id, "--yes")):
            assert f"session {head.id} is in use by process " in laptop.refuses(4, *verb)
        leave(process)
    laptop.ok("add", head.id, "me too")
    assert questions(desktop) == [FIRST, "me too"]


def test_connections_that_a_restart_closed_are_opened_again_unseen(desktop: Segue, network: LoopbackProxy) -> None:
    with chat(desktop) as process:
        network.cut()
        ask(process, SECOND)
        leave(process)
        assert "cannot" not in process.seen
    assert questions(desktop) == [FIRST, SECOND]


def test_a_chat_survives_a_server_that_is_gone_for_long_and_says_so(desktop: Segue, network: LoopbackProxy) -> None:
    with chat(desktop) as process:
        network.refuse()
        process.enter(SECOND)
        process.wait_for("cannot connect to postgresql://")
        process.wait_for("your next message opens the session again")
        process.wait_for(PROMPT)
        process.enter(SECOND)
        process.wait_for("nothing was sent: cannot connect to postgresql://")
        process.wait_for(PROMPT)
        network.accept()
        ask(process, THIRD)
        leave(process)
    assert questions(desktop) == [FIRST, THIRD]


def test_a_laptop_that_slept_continues_its_chat(
    desktop: Segue, laptop: Segue, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    with chat(desktop) as process:
        sleep(process, postgres_server, postgres_schema)
        os.kill(process.process.pid, signal.SIGCONT)
        ask(process, SECOND)
        sleep(process, postgres_server, postgres_schema)
        (head,) = laptop.library.list()
        assert head.status == "interrupted"
        laptop.ok("add", head.id, "from the laptop")
        os.kill(process.process.pid, signal.SIGCONT)
        process.enter("lost?")
        process.wait_for("was taken over by process ")
        process.wait_for(PROMPT)
        process.enter(THIRD)
        process.wait_for("the session was continued elsewhere (turns added: 1)")
        process.wait_for("Noted.")
        process.wait_for(PROMPT)
        leave(process)
    assert questions(desktop) == [FIRST, SECOND, "from the laptop", THIRD]


def sleep(process: ChatProcess, server: PostgresServer, schema: str) -> None:
    """Stop it until its lease has ended."""
    os.kill(process.process.pid, signal.SIGSTOP)
    ended = "SELECT bool_and(lease_until < clock_timestamp()) FROM {s}.sessions".replace("{s}", schema)
    wait_until(lambda: server.execute(ended) == [(True,)], what="the end of the lease")


def test_the_store_is_named_once_and_the_password_is_in_the_password_file(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    role, secret = f"{postgres_schema}_user", "k7-s3cret"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{secret}' IN ROLE {PASSWORD_USERS}")
    postgres_server.execute(f"GRANT CREATE ON DATABASE {DATABASE} TO {role}")
    try:
        url = postgres_server.url(postgres_schema, user=role, tcp=True)
        passwords = cli.home / ".pgpass"
        passwords.write_text(f"127.0.0.1:*:{DATABASE}:{role}:{secret}\n", encoding="utf-8")
        passwords.chmod(0o600)
        cli.store = url  # SEGUE_STORE
        cli.ok("new", "--id", "login")
        config = cli.home / ".config" / "segue" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'store = "{url}"\n', encoding="utf-8")
        assert "login" in cli.ok("list", SEGUE_STORE="")
        passwords.unlink()
        assert "~/.pgpass" in cli.refuses(6, "list")
    finally:
        postgres_server.execute(f"DROP OWNED BY {role} CASCADE")
        postgres_server.execute(f"DROP ROLE {role}")
