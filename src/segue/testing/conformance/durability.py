"""An acknowledged append survives what its receipt says, and a store that forgets declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.store import Durability
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import every_kind, status, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness


class DurabilityChapter(Chapter):
    def test_a_receipt_promises_what_the_store_can(self, store: Store) -> None:
        promised = store.capabilities.durability
        with create_session(store) as writer:
            receipts = [writer.append(turn(1)), writer.append(turn(2), ids_are_new=True), writer.append(*turns(2, 4))]
            receipts += [writer.append(), writer.append(turn(1))]
        with store.open(ID) as writer:
            receipts.append(writer.append(turn(5)))
        assert {receipt.durability for receipt in receipts} == {promised}

    def test_a_store_that_is_not_shared_promises_nothing_beyond_its_process(self, store: Store) -> None:
        assert store.capabilities.shared or store.capabilities.durability == Durability.VOLATILE

    def test_every_append_survives_a_power_cut_as_promised(self, harness: Harness) -> None:
        for number in range(1, 8):
            store = harness.make()
            writer = create_session(store) if number == 1 or _forgets(store) else store.open(ID)
            receipt = writer.append(turn(number))
            expected = [f"turn-{n}" for n in range(1, number + 1)]
            harness.power_cut()
            after = harness.make()
            if receipt.durability >= Durability.SYNCED:
                assert event_ids(after) == expected
            elif receipt.durability == Durability.VOLATILE:
                assert list(after.ids()) == []
            else:
                assert event_ids(after) == expected[: len(event_ids(after))]
                return

    def test_a_conversation_survives_a_power_cut_whole_and_in_order(self, harness: Harness) -> None:
        store = harness.make()
        with create_session(store) as writer:
            for event in (*turns(1, 150), *every_kind()):
                writer.append(event, ids_are_new=True)
        session = store.load(ID)
        harness.power_cut()
        after = harness.make()
        if _is_synced(store):
            assert after.load(ID) == session
            assert after.head(ID).status == "paused"
        else:
            assert set(after.ids()) <= {ID}

    def test_creating_survives_a_power_cut_as_promised(self, harness: Harness) -> None:
        store = harness.make()
        for number in range(5):
            create_session(store, *turns(1, number), session_id=f"session-{number}")
        harness.power_cut()
        after = harness.make()
        if _forgets(store):
            assert list(after.ids()) == []
        elif _is_synced(store):
            assert sorted(after.ids()) == [f"session-{number}" for number in range(5)]
            assert [len(event_ids(after, f"session-{number}")) for number in range(5)] == list(range(5))

    def test_an_append_of_many_survives_whole_or_not_at_all(self, harness: Harness) -> None:
        store = harness.make()
        writer = create_session(store)
        receipt = writer.append(*turns(1, 30))
        harness.power_cut()
        after = harness.make()
        found = event_ids(after) if ID in set(after.ids()) else []
        assert len(found) in {0, 30}
        assert len(found) == 30 or receipt.durability < Durability.SYNCED

    def test_a_retry_after_a_kill_is_as_durable_as_the_first_try(self, harness: Harness) -> None:
        create_session(harness.make(), *turns(1, 2))
        harness.kill()
        store = harness.make()
        if _forgets(store):
            assert list(store.ids()) == []
            return
        receipt = store.open(ID).append(*turns(1, 2))
        harness.power_cut()
        assert event_ids(harness.make()) == ["turn-1", "turn-2"] or receipt.durability < Durability.SYNCED

    def test_what_was_written_survives_a_kill(self, harness: Harness) -> None:
        store = harness.make()
        receipt = create_session(store, turn(1)).append(turn(2), status("completed"))
        harness.kill()
        after = harness.make()
        if receipt.durability >= Durability.WRITTEN:
            assert event_ids(after) == ["turn-1", "turn-2", "completed-0"]
        else:
            assert list(after.ids()) == []

    def test_deleting_survives_a_power_cut_as_promised(self, harness: Harness) -> None:
        store = harness.make()
        create_and_close(store, turn(1), session_id="kept")
        create_and_close(store, turn(1))
        store.delete(ID)
        harness.power_cut()
        assert list(harness.make().ids()) == ([] if _forgets(store) else ["kept"])

    def test_a_session_made_anew_is_the_new_one_after_a_power_cut(self, harness: Harness) -> None:
        store = harness.make()
        create_and_close(store, turn(1))
        store.delete(ID)
        create_and_close(store, turn(2))
        harness.power_cut()
        after = harness.make()
        assert [event_ids(after, id) for id in after.ids()] == ([] if _forgets(store) else [["turn-2"]])

    def test_a_blob_survives_a_power_cut_as_promised(self, harness: Harness) -> None:
        store = harness.make()
        writer = create_session(store)
        name = writer.put_blob(b"an image")
        harness.power_cut()
        after = harness.make()
        if _is_synced(store):
            assert after.get_blob(ID, name) == b"an image"
        else:
            assert set(after.ids()) <= {ID}


def _forgets(store: Store) -> bool:
    return store.capabilities.durability == Durability.VOLATILE


def _is_synced(store: Store) -> bool:
    return store.capabilities.durability >= Durability.SYNCED
