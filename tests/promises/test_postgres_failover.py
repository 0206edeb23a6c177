"""The loss of a machine: what a receipt calls replicated is on the standby, once and in order."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from segue.errors import WriterStoppedError
from segue.store import Durability
from segue.stores.postgres import PostgresStore
from tests.support.journals import metadata, turn
from tests.support.postgres import DATABASE, wait_until
from tests.support.postgres_load import Load
from tests.support.postgres_proxy import LoopbackProxy
from tests.support.postgres_standby import StandbyPair

ROUNDS = 25
ENOUGH = 10
"""How many more events each writer acknowledges on the new primary."""


def test_losing_the_primary_with_its_disk_loses_and_doubles_no_acknowledged_turn(seed: int) -> None:
    """While each of several processes waits for an append that the standby never got."""
    lose_the_primary(random.Random(seed), is_cut_off=True, told="once")


@pytest.mark.long
def test_losing_the_primary_at_any_moment_loses_and_doubles_no_acknowledged_turn(seed: int) -> None:
    for number in range(ROUNDS):
        chance = random.Random(f"{seed} {number}")
        lose_the_primary(chance, is_cut_off=chance.random() < 0.3, told=f"--seed {seed}: round {number}")


def lose_the_primary(chance: random.Random, *, is_cut_off: bool, told: str) -> None:
    with StandbyPair() as pair, ExitStack() as stack:
        pair.primary.configure(synchronous_commit=chance.choice(["on", "remote_write", "remote_apply"]))
        url = pair.url(timeout="60s")
        writers = [stack.enter_context(Load(url, f"session-{number}")) for number in range(chance.randrange(2, 5))]
        here = PostgresStore(url)
        stack.callback(here.close)
        here_too = PostgresStore(url)
        stack.callback(here_too.close)
        idle = stack.enter_context(here.create("idle", [metadata("idle")]))
        assert idle.append(turn(1)).durability == Durability.REPLICATED, told
        for writer in writers:
            writer.wait_for(chance.randrange(1, 40))
        if is_cut_off:
            pair.standby.configure(primary_conninfo="")
            wait_until(lambda: pair.waiting >= len(writers), what="appends")
        pair.destroy_primary()
        before = [len(writer.receipts) for writer in writers]
        with ThreadPoolExecutor(1) as thread:  # one that begins while there is no primary waits for it
            during = thread.submit(lambda: here_too.create("during", [metadata("during")]).close())
            pair.promote()
        during.result()
        for writer, count in zip(writers, before, strict=True):
            writer.wait_for(count + ENOUGH)
            writer.stop()
        # One that did nothing meanwhile notices nothing, and others begin.
        assert [event.id for event in here.read("idle")][1:] == ["t-1"], told
        assert idle.append(turn(2)).durability == Durability.SYNCED, told
        here.create("later", [metadata("later")]).close()
        store = PostgresStore(pair.standby.url())
        assert sorted(store.ids()) == sorted([*(writer.session_id for writer in writers), "during", "idle", "later"]), (
            told
        )
        for writer in writers:
            durabilities = [durability for _, durability in writer.receipts]
            replicated = durabilities.count("REPLICATED")
            assert durabilities == ["REPLICATED"] * replicated + ["SYNCED"] * (len(durabilities) - replicated), told
            assert replicated >= 1, told
            # None is missing, none is there twice, and none is there that was not acknowledged.
            assert [event.id for event in store.read(writer.session_id)][1:] == writer.ids, told
            assert store.examine(writer.session_id).damages == (), told
            assert store.owner(writer.session_id) is None, told
        store.close()


@pytest.mark.long
def test_clients_follow_when_the_primary_vanishes_from_the_network() -> None:
    """No connection breaks, and none is refused: only their patience ends."""
    with StandbyPair() as pair, LoopbackProxy(pair.primary) as proxy:
        query = "target_session_attrs=read-write&timeout=6s&lease=120s"
        hosts = f"127.0.0.1:{proxy.port},127.0.0.1:{pair.standby.port}"
        with Load(f"postgresql://postgres@{hosts}/{DATABASE}?{query}", "session") as writer:
            writer.wait_for(5)
            proxy.hold()
            pair.destroy_primary()
            count = len(writer.receipts)
            pair.promote()
            writer.wait_for(count + ENOUGH)
            writer.stop()
        found = [event.id for event in PostgresStore(pair.standby.url()).read("session")][1:]
        assert found == writer.ids


@pytest.mark.long
def test_what_a_standby_never_got_was_not_called_replicated_and_is_reported_as_lost() -> None:
    with StandbyPair() as pair:
        store = PostgresStore(pair.url(timeout="60s"))
        with store.create("session", [metadata("session"), turn(1)]) as writer:
            assert writer.append(turn(2)).durability == Durability.REPLICATED
            pair.primary.configure(synchronous_standby_names=None)
            pair.standby.configure(primary_conninfo="")
            assert {writer.append(turn(number)).durability for number in (3, 4, 5)} == {Durability.SYNCED}
            pair.destroy_primary()
            pair.promote()
            with pytest.raises(WriterStoppedError, match="has lost the last 3 events of session session"):
                writer.append(turn(6))
        with store.open("session") as writer:
            writer.append(*(turn(number) for number in range(1, 7)))
        assert [event.id for event in store.read("session")][1:] == [f"t-{number}" for number in range(1, 7)]
        store.close()
