"""Blobs of a session: stored once under their hash, and trusted only as long as they match it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError, NotFoundError, UsageError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import turn

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness

ABSENT = "sha256:" + "0" * 64


class BlobsChapter(Chapter):
    @pytest.mark.parametrize("data", [b"", b"\0", bytes(range(256)), b"x" * 3_000_000], ids=len)
    def test_bytes_come_back(self, store: Store, data: bytes) -> None:
        with create_session(store) as writer:
            name = writer.put_blob(data)
            assert name == f"sha256:{hashlib.sha256(data).hexdigest()}"
            assert store.get_blob(ID, name) == data
        assert store.get_blob(ID, name) == data

    def test_the_same_bytes_are_kept_once(self, harness: Harness, store: Store) -> None:
        with create_session(store) as writer:
            name = writer.put_blob(b"an image")
            before = harness.snapshot()
            assert writer.put_blob(b"an image") == name
            assert _files(harness.snapshot()) == _files(before)
        with store.open(ID) as writer:
            assert writer.put_blob(b"an image") == name
        assert store.get_blob(ID, name) == b"an image"

    def test_a_blob_is_no_event(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            before = store.load(ID)
            writer.put_blob(b"an image")
            assert store.load(ID) == before
            assert writer.append(turn(2)).seqs == (3,)
        assert list(store.ids()) == [ID]
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_a_blob_belongs_to_its_session(self, store: Store) -> None:
        with create_session(store, session_id="one") as one:
            name = one.put_blob(b"an image")
        create_and_close(store, session_id="two")
        with pytest.raises(NotFoundError):
            store.get_blob("two", name)
        with store.open("two") as two:
            two.put_blob(b"an image")
        store.delete("one")
        assert store.get_blob("two", name) == b"an image"

    def test_a_blob_that_is_not_there_is_not_found(self, store: Store) -> None:
        create_and_close(store)
        with pytest.raises(NotFoundError):
            store.get_blob(ID, ABSENT)

    @pytest.mark.parametrize("name", ["", "sha256:", "../../x", "sha256:../x", "sha256:" + "g" * 64, "x\0", "md5:00"])
    def test_what_is_no_name_of_a_blob_gives_nothing(self, store: Store, name: str) -> None:
        create_and_close(store)
        with pytest.raises((NotFoundError, UsageError)):
            store.get_blob(ID, name)

    def test_blobs_go_with_their_session(self, harness: Harness, store: Store) -> None:
        with create_session(store) as writer:
            name = writer.put_blob(b"an image")
        store.delete(ID)
        assert b"an image" not in _files(harness.snapshot())
        create_and_close(store)
        with pytest.raises(NotFoundError):
            store.get_blob(ID, name)

    def test_a_blob_that_no_longer_matches_its_name_is_damaged(self, harness: Harness, store: Store) -> None:
        with create_session(store) as writer:
            name = writer.put_blob(b"an image")
            other = writer.put_blob(b"another")
        if not store.capabilities.can_be_damaged:
            assert store.get_blob(ID, name) == b"an image"
            return
        harness.damage_blob(ID, name)
        before = harness.snapshot()
        with pytest.raises(DamagedError) as caught:
            store.get_blob(ID, name)
        assert caught.value.damages[0].place
        assert harness.snapshot() == before
        assert store.get_blob(ID, other) == b"another"

    def test_blobs_are_there_for_the_next_store_object_if_the_store_is_shared(
        self, harness: Harness, store: Store
    ) -> None:
        with create_session(store) as writer:
            name = writer.put_blob(b"an image")
        store.close()
        again = harness.make()
        if store.capabilities.shared:
            assert again.get_blob(ID, name) == b"an image"
        else:
            with pytest.raises(NotFoundError):
                again.get_blob(ID, name)


def _files(snapshot: object) -> list[bytes]:
    """The content of the files; none for a store without files."""
    return [content for *_, content in snapshot.values()] if isinstance(snapshot, dict) else []
