"""The statements that list, filter and search. Conditions are fixed texts with parameters, never made from values."""

from __future__ import annotations

import string
from functools import cached_property
from typing import TYPE_CHECKING

from psycopg import sql

from segue.ids import is_id
from segue.stores.postgres.lease import this_machine
from segue.stores.postgres.text_columns import to_column

if TYPE_CHECKING:
    from segue.queries import Filters

HOLDER = (
    "s.owner_token, coalesce(s.lease_until > clock_timestamp(), false), s.owner_pid, s.owner_host, s.owner_process,"
    " s.owned_since"
)
_LISTED = (
    "s.id, s.agent, s.title, s.tags, s.status, s.branch, s.turn_count, s.created_at, s.updated_at,"
    f" {HOLDER}, s.tool, s.project, s.folder, s.summary, s.git_branch, s.usage, s.key, s.recent_at"
)
# What takes any type is named with its schema: one for a certain type that somebody put into `public` would fit better.
_NAMES = (
    "pg_catalog.concat_ws(' ', s.id, s.title, s.agent, s.tool, pg_catalog.array_to_string(s.tags, ' '), s.project)"
    ' COLLATE "C"'
)
_IS_LEASED = "coalesce(s.lease_until > clock_timestamp(), false)"
_IS_OURS = "starts_with(coalesce(s.owner_process, ''), %(machine)s)"
_IS_ENCODED = f"(strpos({_NAMES}, 'json:') > 0 OR starts_with(s.folder, 'json:'))"
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
TEXT_KINDS = ("turn", "decision", "learning", "pattern")
"""The events with texts that can be found."""


def conditions(filters: Filters) -> tuple[str, dict[str, object]]:
    """The filters as SQL over `sessions AS s`, and its parameters.

    It may accept too much, where only Python knows: whether a process of this machine lives, and what encoded texts
    contain.
    """
    found: list[str] = []
    values: dict[str, object] = {}
    if filters.ids is not None:
        found.append("s.id = ANY(%(ids)s::text[])")
        values["ids"] = [id for id in filters.ids if is_id(id)]
    for name in ("tool", "agent"):
        if (value := getattr(filters, name)) is not None:
            found.append(f"s.{name} = %({name})s")
            values[name] = to_column(value)
    if filters.project is not None or filters.folder is not None:
        folder = filters.folder if filters.folder is not None and _is_plain(filters.folder) else None
        below = "starts_with(s.folder || '/', %(folder)s::text || '/')"
        encoded = "starts_with(s.folder, 'json:')" if filters.folder is not None else "false"
        found.append(f"(s.project = %(project)s::text OR {below} OR {encoded})")
        values |= {"project": None if filters.project is None else to_column(filters.project), "folder": folder}
    for number, word in enumerate(word for word in filters.named.split() if _is_plain(word)):
        named = f"strpos(lower({_NAMES}), %(named{number})s) > 0"
        found.append(f"({named} OR {_IS_ENCODED})")
        values[f"named{number}"] = word.translate(_LOWER)
    if filters.status is not None:
        condition, some = _status(filters.status)
        found.append(condition)
        values |= some
    if filters.tag is not None:
        found.append("%(tag)s = ANY(s.tags)")
        values["tag"] = to_column(filters.tag)
    if filters.since is not None:
        found.append("s.recent_at >= date_trunc('minute', %(since)s, 'UTC') AND s.updated_at >= %(since)s")
        values["since"] = filters.since
    if filters.until is not None:
        found.append("s.recent_at <= %(until)s AND s.updated_at < %(until)s")
        values["until"] = filters.until
    return " AND ".join(found) or "true", values


def _status(status: str) -> tuple[str, dict[str, object]]:
    """A session is interrupted when its writer is gone."""
    machine: dict[str, object] = {"machine": this_machine()}
    match status:
        case "active":
            return f"s.status = 'active' AND {_IS_LEASED}", {}
        case "interrupted":
            return (
                f"(s.status = 'interrupted' OR s.status = 'active' AND (NOT {_IS_LEASED} OR {_IS_OURS}))",
                machine,
            )
    return "s.status = %(status)s", {"status": status}


def _is_plain(text: str) -> bool:
    """Whether it is the same in a column."""
    return to_column(text) == text


class QueryStatements:
    """The statements for the tables in one Postgres schema."""

    def __init__(self, schema: str) -> None:
        self._schema = sql.Identifier(schema).as_string(None)

    def _text(self, text: str) -> str:
        return text.replace("{s}", self._schema)

    def _sessions(self, columns: str, condition: str) -> str:
        return self._text(
            f"SELECT {columns} FROM {{s}}.sessions AS s"
            f" WHERE s.space = %(space)s AND s.trash_key IS NULL AND {condition}"
        )

    def page(self, condition: str, *, is_first: bool) -> str:
        """Sessions, the last active first: those after the last one of the page before."""
        after = (
            ""
            if is_first
            else " AND s.recent_at <= %(recent_at)s"
            " AND (s.updated_at < %(updated_at)s OR s.updated_at = %(updated_at)s AND s.id > %(after)s)"
        )
        order = " ORDER BY s.recent_at DESC, s.updated_at DESC, s.id LIMIT %(rows)s"
        return self._sessions(_LISTED, condition + after) + order

    def count(self, condition: str, *, is_certain: bool) -> str:
        """How many certainly match."""
        return self._sessions("count(*)", condition if is_certain else f"{condition} AND NOT {self._is_uncertain}")

    def uncertain(self, condition: str) -> str:
        return self._sessions(_LISTED, f"{condition} AND {self._is_uncertain}")

    _is_uncertain = f"(s.status = 'active' AND {_IS_LEASED} AND {_IS_OURS} OR {_IS_ENCODED})"

    @cached_property
    def by_keys(self) -> str:
        return self._sessions(_LISTED, "s.key = ANY(%(keys)s::bigint[])")

    @cached_property
    def near_ids(self) -> str:
        found = [
            f"(SELECT s.id FROM {{s}}.sessions AS s WHERE s.space = %(space)s AND s.trash_key IS NULL"
            f" AND s.{column} {compare} {text} ORDER BY s.{column} {order} LIMIT %(each)s)"
            for column, text in (("id", "t.text"), ("reversed_id", "reverse(t.text)"))
            for compare, order in ((">=", "ASC"), ("<", "DESC"))
        ]
        texts = (
            'pg_catalog.unnest(%(texts)s::text[]) AS given (text), LATERAL (SELECT given.text COLLATE "C" AS text) AS t'
        )
        return self._text(f"SELECT DISTINCT n.id FROM {texts}, LATERAL ({' UNION ALL '.join(found)}) AS n")

    @cached_property
    def find_record(self) -> str:
        """Found by the index of records first: what Postgres believes about ids would rather read all sessions."""
        return self._text("""
            WITH found AS MATERIALIZED (
                SELECT session, seq FROM {s}.events
                WHERE space = %(space)s AND kind = 'record' AND id = %(id)s
            ), chosen AS MATERIALIZED (
                SELECT s.id, s.key, found.seq FROM found JOIN {s}.sessions s
                    ON s.space = %(space)s AND s.key = found.session AND found.seq <= s.seq
                WHERE s.trash_key IS NULL AND (%(agent)s::text IS NULL OR s.agent = %(agent)s)
                ORDER BY s.key LIMIT 1
            )
            SELECT chosen.id, e.seq, e.id, e.body FROM chosen JOIN {s}.events e
                ON e.space = %(space)s AND e.session = chosen.key AND e.seq = chosen.seq""")

    def candidates(self, condition: str, *, on_branch: bool, in_sessions: bool) -> str:
        """Texts that have the words, each with the time of its session, or NULL if that is not wanted.

        The title and the summary of a session that has changed are looked up instead. The sessions are found one by one
        for the texts, since Postgres believes that every word is in many of them.
        """
        branch = (
            " AND EXISTS (SELECT FROM {s}.events AS e WHERE e.space = %(space)s AND e.session = h.session"
            " AND e.seq = h.seq AND e.branch = %(branch)s)"
            if on_branch
            else ""
        )
        found = (
            "(SELECT w.session, w.seq, w.part, w.kind, w.length, w.is_cut FROM {s}.words AS w"
            " WHERE w.space = %(space)s AND w.session = ANY(%(keys)s::bigint[])"
            " AND w.words @@ %(query)s::tsquery LIMIT %(most)s)"
            if in_sessions
            else "{s}.find_words(%(space)s::integer, (SELECT token FROM {s}.spaces WHERE number = %(space)s),"
            " %(query)s::tsquery, %(most)s::bigint)"
        )
        return self._text(
            f"SELECT h.session, h.seq, h.part, h.kind, h.length, h.is_cut, s.updated_at FROM {found} AS h"
            " LEFT JOIN LATERAL (SELECT s.updated_at FROM {s}.sessions AS s"
            " WHERE s.space = %(space)s AND s.key = h.session AND s.trash_key IS NULL"
            f" AND NOT (h.seq = 0 AND s.words_due) AND {condition}{branch} OFFSET 0) AS s ON true"
        )

    def newest(self, condition: str, *, is_first: bool) -> str:
        return self.page(condition, is_first=is_first).replace(_LISTED, "s.key, s.recent_at, s.updated_at, s.id")

    def due(self, condition: str) -> str:
        """Sessions with events whose words are not in the table yet."""
        return self._sessions(
            "s.key, s.words_seq, s.seq, s.title, s.summary, s.updated_at", f"s.words_due AND {condition}"
        )

    @cached_property
    def due_events(self) -> str:
        """The events of such sessions, in the order of sessions and events."""
        return self._text("""
            SELECT d.key, e.seq, e.id, e.body
            FROM unnest(%(keys)s::bigint[], %(words_seqs)s::bigint[], %(seqs)s::bigint[]) AS d (key, words_seq, seq)
            JOIN {s}.events AS e ON e.space = %(space)s AND e.session = d.key
                AND e.seq > d.words_seq AND e.seq <= d.seq AND e.kind = ANY(%(kinds)s)
            WHERE (d.key, e.seq) > (%(after_key)s::bigint, %(after_seq)s::bigint)
            ORDER BY d.key, e.seq LIMIT %(rows)s""")

    @cached_property
    def events(self) -> str:
        return self._text("""
            SELECT e.session, e.seq, e.id, e.body
            FROM unnest(%(keys)s::bigint[], %(seqs)s::bigint[]) AS h (key, seq)
            JOIN {s}.events AS e ON e.space = %(space)s AND e.session = h.key AND e.seq = h.seq""")

    @cached_property
    def redactions(self) -> str:
        """Those of the turns that a record hides."""
        return self._text("""
            SELECT h.key, h.seq
            FROM unnest(%(keys)s::bigint[], %(seqs)s::bigint[], %(ids)s::text[]) AS h (key, seq, id)
            JOIN {s}.events AS e ON e.space = %(space)s AND e.session = h.key AND e.id = h.id AND e.kind = 'record'""")

    @cached_property
    def own_numbers(self) -> str:
        """For each turn, how many turns its branch has up to it, without those that it shares with others."""
        return self._text("""
            SELECT h.key, h.seq, (
                SELECT count(*) FROM {s}.events AS e
                WHERE e.space = %(space)s AND e.session = h.key AND e.seq <= h.seq AND e.kind = 'turn'
                    AND e.branch = h.branch)
            FROM unnest(%(keys)s::bigint[], %(seqs)s::bigint[], %(branches)s::text[]) AS h (key, seq, branch)""")

    def turns(self, *, on_branch: bool, is_from_first: bool) -> str:
        branch = " AND branch = %(branch)s" if on_branch else ""
        bound, order = ("seq >= %(bound)s", "ASC") if is_from_first else ("seq <= %(bound)s", "DESC")
        return self._text(
            "SELECT seq, id, body FROM {s}.events WHERE space = %(space)s AND session = %(key)s AND kind = 'turn'"
            f" AND {bound}{branch} ORDER BY seq {order} LIMIT %(rows)s"
        )

    # ── The table of words ───────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def due_texts(self) -> str:
        """A session with events whose words are not in the table, and the first of these events."""
        return self._text("""
            SELECT s.words_seq, s.seq, s.title, s.summary, e.seq, e.id, e.body
            FROM {s}.sessions AS s LEFT JOIN LATERAL (
                SELECT e.seq, e.id, e.body FROM {s}.events AS e
                WHERE e.space = s.space AND e.session = s.key AND e.seq > s.words_seq AND e.seq <= s.seq
                    AND e.kind = ANY(%(kinds)s)
                ORDER BY e.seq LIMIT %(rows)s
            ) AS e ON true
            WHERE s.key = %(key)s AND s.space = %(space)s AND s.words_due ORDER BY e.seq""")

    @cached_property
    def put_words(self) -> str:
        """Add words, unless another process has done it meanwhile."""
        return self._text("""
            WITH due AS (
                UPDATE {s}.sessions SET words_seq = %(upto)s, words_due = seq > %(upto)s
                WHERE key = %(key)s AND space = %(space)s AND words_seq = %(known)s RETURNING key
            ), put AS (
                INSERT INTO {s}.words (space, session, seq, part, kind, length, is_cut, words)
                SELECT %(space)s, due.key, n.seq, n.part, n.kind, n.length, n.is_cut, n.words::tsvector
                FROM due, unnest(%(seqs)s::bigint[], %(parts)s::integer[], %(text_kinds)s::text[],
                    %(lengths)s::integer[], %(cuts)s::boolean[], %(words)s::text[]
                ) AS n (seq, part, kind, length, is_cut, words)
                ON CONFLICT (space, session, seq, part) DO UPDATE SET kind = excluded.kind, length = excluded.length,
                    is_cut = excluded.is_cut, words = excluded.words
                WHERE words.words IS DISTINCT FROM excluded.words)
            SELECT key FROM due""")

    @cached_property
    def abandoned(self) -> str:
        """Sessions without a writer whose words are not in the table yet; none for a role that only reads."""
        writes = "has_table_privilege('{s}.words', 'INSERT') AND current_setting('transaction_read_only') = 'off'"
        found = self._sessions("s.key", f"s.words_due AND NOT {_IS_LEASED} AND {writes}")
        return f"{found} ORDER BY s.key LIMIT %(rows)s"
