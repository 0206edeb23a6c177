"""The statements of the store. Each is one round trip and one transaction, so that any pooler can carry it."""

from __future__ import annotations

from functools import cached_property

from psycopg import sql

from segue.stores.postgres.durability import ACHIEVED
from segue.stores.postgres.typed import TypedStatement, typed
from segue.stores.postgres.verification import COLUMNS

_HOLDER = (
    "owner_token, coalesce(lease_until > clock_timestamp(), false), owner_pid, owner_host, owner_process, owned_since"
)
_HEAD = "id, agent, title, tags, status, branch, turn_count, created_at, updated_at"
_LISTED = "agent, title, tags, status, branch, turn_count, tool, project, folder, git_branch, summary, usage"
_IS_FREE = "(lease_until IS NULL OR lease_until <= clock_timestamp() OR owner_token = ANY(%(gone)s))"
_IS_HELD = "trash_key IS NULL AND lease_until IS NOT NULL"
"""Not released: a lease that ran out, and that nobody took over, can still be renewed."""
_UNSYNCED = "set_config('synchronous_commit', 'off', true)"
"""Do not wait for the disk or a standby with this commit. For leases alone: each append compares the lease in its own
commit, which waits for all commits before it. If the server loses a lease, the append is refused, and if it loses the
end of a lease, that ends by itself."""
_CHECKPOINT_HASH = """(
                SELECT sha256(c.body) FROM {s}.checkpoints c WHERE c.space = %(space)s AND c.session = sessions.key
            )"""
_LEASE = "clock_timestamp() + make_interval(secs => %(lease)s)"


class Statements:
    """The statements for the tables in one Postgres schema."""

    def __init__(self, schema: str) -> None:
        self._schema = sql.Identifier(schema).as_string(None)

    def _text(self, text: str) -> str:
        return text.replace("{s}", self._schema)

    @cached_property
    def achieved(self) -> str:
        """What a commit of this connection survives."""
        return f"SELECT {ACHIEVED}"

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def create(self) -> str:
        return self._text(f"""
            WITH made AS (
                INSERT INTO {{s}}.sessions (space, id, {_LISTED}, created_at, updated_at, recent_at, version, seq,
                    lease_until, owner_token, owner_pid, owner_host, owner_process, owned_since)
                VALUES (%(space)s, %(id)s, %(agent)s, %(title)s, %(tags)s, %(status)s, %(branch)s, %(turn_count)s,
                    %(tool)s, %(project)s, %(folder)s, %(git_branch)s, %(summary)s, %(usage)s,
                    %(created_at)s, %(updated_at)s, %(recent_at)s, %(version)s, %(seq)s,
                    {_LEASE}, %(token)s, %(pid)s, %(host)s, %(process)s, clock_timestamp())
                ON CONFLICT (space, id) WHERE trash_key IS NULL DO NOTHING
                RETURNING key, fence
            ), recorded AS ({_insert("made")})
            SELECT key, fence FROM made""")

    def append_turn(self, *, checkpoint: bool) -> TypedStatement:
        """The append of a turn, which changes few columns; with a checkpoint when it is due."""
        return self._turn_with_checkpoint if checkpoint else self._turn

    @cached_property
    def _turn(self) -> TypedStatement:
        return typed(self._text(_TURN.replace("{kept}", "")), *_TURN_TYPES)

    @cached_property
    def _turn_with_checkpoint(self) -> TypedStatement:
        kept = _KEPT.format(space="$1", seq="$4", checkpoint="$13", s="{s}")
        return typed(self._text(_TURN.replace("{kept}", kept)), *_TURN_TYPES, "bytea")

    def append(self, *, checkpoint: bool) -> str:
        """The append of any events."""
        return self._appends[checkpoint]

    @cached_property
    def _appends(self) -> tuple[str, str]:
        kept = _KEPT.format(space="%(space)s", seq="%(seq)s", checkpoint="%(checkpoint)b", s="{s}")
        return self._append(""), self._append(kept)

    def _append(self, kept: str) -> str:
        listed = ", ".join([f"{name} = %({name})s" for name in _LISTED.split(", ")])
        return self._text(f"""
            WITH head AS (
                UPDATE {{s}}.sessions SET seq = %(seq)s, {listed},
                    updated_at = %(updated_at)s, recent_at = %(recent_at)s, lease_until = {_LEASE}, words_due = true
                WHERE key = %(key)s AND space = %(space)s AND fence = %(fence)s AND owner_token = %(token)s
                    AND seq = %(expected)s AND trash_key IS NULL
                RETURNING key
            ), recorded AS ({_insert("head")}){kept}
            SELECT {ACHIEVED} FROM head""")

    @cached_property
    def take(self) -> str:
        """Become the writer if nobody is; `gone` are the tokens of writers whose processes are known to be dead."""
        return self._text(f"""
            UPDATE {{s}}.sessions SET fence = fence + 1, lease_until = {_LEASE}, owner_token = %(token)s,
                owner_pid = %(pid)s, owner_host = %(host)s, owner_process = %(process)s, owned_since = clock_timestamp()
            WHERE space = %(space)s AND id = %(id)s AND trash_key IS NULL AND version <= %(version)s AND {_IS_FREE}
            RETURNING key, fence, seq, usage, {_CHECKPOINT_HASH}, (
                SELECT sha256(e.body) FROM {{s}}.events e
                WHERE e.space = %(space)s AND e.session = sessions.key AND e.seq = sessions.seq
            ), {_UNSYNCED}""")

    @cached_property
    def advance_fence(self) -> str:
        """Wait for a statement of ours that may still be running, and let it fail if it has not been committed."""
        return self._text(f"""
            UPDATE {{s}}.sessions SET fence = fence + 1, lease_until = {_LEASE}
            WHERE key = %(key)s AND space = %(space)s AND owner_token = %(token)s AND {_IS_HELD}
            RETURNING fence, seq, {ACHIEVED}""")

    @cached_property
    def renew(self) -> str:
        """Renew the leases of many sessions. A row that is locked now is skipped, so that it delays no other lease."""
        return self._text(f"""
            WITH mine AS (
                SELECT key FROM {{s}}.sessions
                WHERE space = %(space)s AND key = ANY(%(keys)s) AND owner_token = ANY(%(tokens)s) AND {_IS_HELD}
                FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE {{s}}.sessions SET lease_until = {_LEASE} FROM mine WHERE sessions.key = mine.key
            RETURNING sessions.key""")

    @cached_property
    def release(self) -> str:
        """Leave the session. The fence is advanced, so that nothing that is still on its way can be recorded."""
        return self._text(f"""
            UPDATE {{s}}.sessions SET lease_until = NULL, fence = fence + 1
            WHERE key = %(key)s AND space = %(space)s AND owner_token = %(token)s
            RETURNING {_UNSYNCED}""")

    @cached_property
    def put_blob(self) -> str:
        return self._text("""
            WITH mine AS (
                SELECT key FROM {s}.sessions
                WHERE key = %(key)s AND space = %(space)s AND fence = %(fence)s AND owner_token = %(token)s
                    AND trash_key IS NULL FOR NO KEY UPDATE
            ), kept AS (
                INSERT INTO {s}.blobs (space, session, name, data)
                SELECT %(space)s, key, %(name)s, %(data)b FROM mine
                ON CONFLICT (space, session, name) DO UPDATE SET data = excluded.data
                WHERE blobs.data IS DISTINCT FROM excluded.data)
            SELECT key FROM mine""")

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def find(self) -> str:
        return self._text(f"""
            SELECT key, seq, fence, version, {_HOLDER} FROM {{s}}.sessions
            WHERE space = %(space)s AND id = %(id)s AND trash_key IS NULL""")

    @cached_property
    def find_by_key(self) -> str:
        return self._text(f"""
            SELECT key, seq, fence, version, {_HOLDER} FROM {{s}}.sessions
            WHERE space = %(space)s AND key = %(key)s AND trash_key IS NULL""")

    @cached_property
    def heads(self) -> str:
        return self._text(f"""
            SELECT {_HEAD}, {_HOLDER} FROM {{s}}.sessions
            WHERE space = %(space)s AND trash_key IS NULL""")

    @cached_property
    def head(self) -> str:
        return f"{self.heads} AND id = %(id)s"

    @cached_property
    def revisions(self) -> str:
        return self._text("SELECT id, key, seq FROM {s}.sessions WHERE space = %(space)s AND trash_key IS NULL")

    @cached_property
    def ids(self) -> str:
        return self._text("SELECT id FROM {s}.sessions WHERE space = %(space)s AND trash_key IS NULL")

    @cached_property
    def page(self) -> str:
        return self._text("""
            SELECT seq, id, body FROM {s}.events
            WHERE space = %(space)s AND session = %(key)s AND seq > %(after)s AND seq <= %(upto)s
            ORDER BY seq LIMIT %(limit)s""")

    @cached_property
    def columns(self) -> str:
        """What is stored beside the bodies."""
        return self._text("""
            SELECT seq, kind, branch FROM {s}.events
            WHERE space = %(space)s AND session = %(key)s AND seq <= %(upto)s ORDER BY seq""")

    @cached_property
    def derived(self) -> str:
        """The row of a session, its checkpoint and the last event there is, as of one moment: see `verification`."""
        return self._text(f"""
            SELECT key, s.seq, fence, version, {_HOLDER}, {", ".join(COLUMNS)}, c.seq, c.body,
                (SELECT max(e.seq) FROM {{s}}.events e WHERE e.space = %(space)s AND e.session = s.key)
            FROM {{s}}.sessions s LEFT JOIN {{s}}.checkpoints c ON c.space = %(space)s AND c.session = s.key
            WHERE s.space = %(space)s AND id = %(id)s AND trash_key IS NULL""")

    @cached_property
    def end(self) -> str:
        """The end of a session: the row, the latest checkpoint (without an id), the first, later and last events."""
        return self._text(f"""
            WITH row AS (
                SELECT key, seq, {_HOLDER} FROM {{s}}.sessions
                WHERE space = %(space)s AND id = %(id)s AND trash_key IS NULL
            ), latest AS (
                SELECT c.seq FROM {{s}}.checkpoints c, row WHERE c.space = %(space)s AND c.session = row.key
            )
            SELECT row.*, e.* FROM row LEFT JOIN latest ON true LEFT JOIN LATERAL (
                SELECT seq, NULL AS id, body FROM {{s}}.checkpoints
                WHERE space = %(space)s AND session = row.key
                UNION ALL
                SELECT seq, id, body FROM {{s}}.events
                WHERE space = %(space)s AND session = row.key AND seq = ANY(ARRAY[1, row.seq]) AND seq <= latest.seq
                UNION ALL
                SELECT seq, id, body FROM {{s}}.events
                WHERE space = %(space)s AND session = row.key AND seq > coalesce(latest.seq, 0) AND seq <= row.seq
            ) e ON true ORDER BY e.id IS NOT NULL, e.seq""")

    @cached_property
    def end_since(self) -> str:
        """The row, the event with the number `after`, and the events that follow it, but not more than `most`."""
        return self._text(f"""
            WITH row AS (
                SELECT key, seq, {_HOLDER}, {_CHECKPOINT_HASH} FROM {{s}}.sessions
                WHERE space = %(space)s AND id = %(id)s AND trash_key IS NULL
            )
            SELECT row.*, e.* FROM row LEFT JOIN LATERAL (
                SELECT seq, id, body FROM {{s}}.events
                WHERE space = %(space)s AND session = row.key AND seq >= %(after)s AND seq <= row.seq
                ORDER BY seq LIMIT %(most)s
            ) e ON true ORDER BY e.seq""")

    @cached_property
    def tail(self) -> str:
        """Some of the last turns of a branch, in order."""
        return self._text("""
            SELECT seq, id, body FROM (
                SELECT seq, id, body FROM {s}.events
                WHERE space = %(space)s AND session = %(key)s AND branch = %(branch)s AND kind = 'turn'
                    AND seq <= %(upto)s
                ORDER BY seq DESC OFFSET %(skip)s LIMIT %(count)s
            ) AS turns ORDER BY seq""")

    @cached_property
    def count_events(self) -> str:
        return self._text("""
            SELECT count(*) FROM {s}.events
            WHERE space = %(space)s AND session = %(key)s AND seq BETWEEN %(low)s AND %(high)s""")

    @cached_property
    def recorded(self) -> str:
        return self._text("""
            SELECT seq, id, body FROM {s}.events
            WHERE space = %(space)s AND session = %(key)s AND id = ANY(%(ids)s)""")

    @cached_property
    def blob(self) -> str:
        return self._text("""
            SELECT data FROM {s}.blobs WHERE space = %(space)s AND session = %(key)s AND name = %(name)s""")

    # ── Deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def delete(self) -> str:
        return self._text(f"""
            WITH gone AS (
                DELETE FROM {{s}}.sessions
                WHERE key = %(key)s AND space = %(space)s AND seq = %(seq)s AND {_IS_FREE}
                    AND trash_key IS NOT DISTINCT FROM %(trash_key)s
                RETURNING key
            ), {_deletions("events", "checkpoints", "blobs", "words")}
            SELECT key FROM gone""")

    @cached_property
    def put_in_trash(self) -> str:
        return self._text(f"""
            UPDATE {{s}}.sessions SET trash_key = %(trash_key)s, deleted_at = clock_timestamp(), lease_until = NULL,
                fence = fence + 1
            WHERE key = %(key)s AND space = %(space)s AND seq = %(seq)s AND trash_key IS NULL AND {_IS_FREE}
            RETURNING key""")

    @cached_property
    def copy_blobs(self) -> str:
        """Give the blobs of a session to the one that has its name now."""
        return self._text("""
            INSERT INTO {s}.blobs (space, session, name, data)
            SELECT b.space, n.key, b.name, b.data FROM {s}.blobs b, {s}.sessions n
            WHERE b.space = %(space)s AND b.session = %(key)s
                AND n.space = %(space)s AND n.id = %(id)s AND n.trash_key IS NULL""")

    @cached_property
    def trashed(self) -> str:
        return self._text(f"""
            SELECT {_HEAD}, {_HOLDER}, trash_key, deleted_at,
                coalesce((SELECT sum(octet_length(body)) FROM {{s}}.events e
                          WHERE e.space = %(space)s AND e.session = sessions.key), 0)::bigint
            FROM {{s}}.sessions WHERE space = %(space)s AND trash_key IS NOT NULL""")

    @cached_property
    def find_trashed(self) -> str:
        return self._text("""
            SELECT key, id, seq FROM {s}.sessions WHERE space = %(space)s AND trash_key = %(trash_key)s""")

    @cached_property
    def trash_key(self) -> str:
        """The key in the trash of a session wherever it is; no row if there is no such session any more."""
        return self._text("SELECT trash_key FROM {s}.sessions WHERE space = %(space)s AND key = %(key)s")

    @cached_property
    def restore(self) -> str:
        return self._text("""
            UPDATE {s}.sessions SET trash_key = NULL, deleted_at = NULL, words_due = true
            WHERE key = %(key)s AND space = %(space)s AND trash_key = %(trash_key)s RETURNING key""")


_TURN = f"""
    WITH head AS (
        UPDATE {{s}}.sessions SET seq = $4, turn_count = $5, updated_at = $6, recent_at = $7,
            lease_until = clock_timestamp() + make_interval(secs => $8), words_due = true
        WHERE key = $2 AND space = $1 AND fence = $3 AND owner_token = $12 AND seq = $4 - 1 AND trash_key IS NULL
        RETURNING key
    ), recorded AS (
        INSERT INTO {{s}}.events (space, session, seq, id, kind, branch, body)
        SELECT $1, key, $4, $9, 'turn', $10, $11 FROM head
    ){{kept}}
    SELECT {ACHIEVED} FROM head"""
_TURN_TYPES = (
    *("int4", "int8", "int8", "int8", "int8", "timestamptz", "timestamptz", "float8"),
    *("text", "text", "bytea", "uuid"),
)
_KEPT = """, kept AS (
        INSERT INTO {s}.checkpoints (space, session, seq, body)
        SELECT {space}, key, {seq}, {checkpoint} FROM head
        ON CONFLICT (space, session) DO UPDATE SET seq = excluded.seq, body = excluded.body
    )"""


def _insert(source: str) -> str:
    return f"""
    INSERT INTO {{s}}.events (space, session, seq, id, kind, branch, body)
    SELECT %(space)s, key, e.seq, e.id, e.kind, e.branch, e.body FROM {source}, unnest(
        %(seqs)s::bigint[], %(ids)s::text[], %(kinds)s::text[], %(branches)s::text[], %(bodies)b::bytea[]
    ) AS e (seq, id, kind, branch, body)"""


def _deletions(*tables: str) -> str:
    return ", ".join(
        [
            f"gone_{table} AS (DELETE FROM {{s}}.{table} USING gone"
            f" WHERE {table}.space = %(space)s AND {table}.session = %(key)s AND gone.key = %(key)s)"
            for table in tables
        ]
    )
