"""The statements for many sessions at a time. Each takes arrays: one element per session, event or blob."""

from __future__ import annotations

from functools import cached_property

from segue.stores.postgres.statements import Statements

_LISTED = "agent, title, status, branch, turn_count, tool, project, folder, git_branch, summary, usage"
_TIMES = "created_at, updated_at, recent_at"


class BulkStatements(Statements):
    """The statements of `bulk`."""

    @cached_property
    def digests(self) -> str:
        """The digest of `formats.digest`: a line up to its checksum, without the mark that may follow it."""
        return self._text("""
            SELECT s.id, s.seq, d.* FROM unnest(%(ids)s::text[], %(upto)s::bigint[]) AS asked (id, upto)
            JOIN {s}.sessions s ON s.space = %(space)s AND s.id = asked.id AND s.trash_key IS NULL
            CROSS JOIN LATERAL (
                SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint,
                    sha256(coalesce(string_agg(sha256(substring(body FROM 1 FOR greatest(0, octet_length(body) - CASE
                        WHEN substring(body FROM octet_length(body) - 3 FOR 1) = '+'::bytea THEN 4 ELSE 3 END))),
                        ''::bytea ORDER BY e.seq), ''::bytea)),
                    pg_catalog.array_agg(body ORDER BY e.seq) FILTER (
                        WHERE kind = 'attachment' OR kind = 'record' AND position('"blobs":["'::bytea IN body) > 0)
                FROM {s}.events e
                WHERE e.space = %(space)s AND e.session = s.key AND e.seq <= least(s.seq, asked.upto)
            ) d""")

    @cached_property
    def read(self) -> str:
        """By the index of each session, also where the tables grew too fast for the statistics: hence OFFSET 0."""
        return self._text("""
            SELECT s.id, s.seq, e.seq, e.id, e.body FROM {s}.sessions s LEFT JOIN LATERAL (
                SELECT seq, id, body FROM {s}.events
                WHERE space = %(space)s AND session = s.key AND seq <= s.seq OFFSET 0
            ) e ON true
            WHERE s.space = %(space)s AND s.id = ANY(%(ids)s) AND s.trash_key IS NULL ORDER BY s.id, e.seq""")

    @cached_property
    def blobs(self) -> str:
        return self._text("""
            SELECT s.id, b.name, octet_length(b.data), 'sha256:' || encode(sha256(b.data), 'hex') = b.name
            FROM {s}.sessions s CROSS JOIN LATERAL (
                SELECT name, data FROM {s}.blobs WHERE space = %(space)s AND session = s.key OFFSET 0
            ) b
            WHERE s.space = %(space)s AND s.id = ANY(%(ids)s) AND s.trash_key IS NULL""")

    @cached_property
    def get_blobs(self) -> str:
        return self._text("""
            SELECT s.id, b.name, b.data FROM unnest(%(ids)s::text[], %(names)s::text[]) AS asked (id, name)
            JOIN {s}.sessions s ON s.space = %(space)s AND s.id = asked.id AND s.trash_key IS NULL
            JOIN {s}.blobs b ON b.space = %(space)s AND b.session = s.key AND b.name = asked.name""")

    @cached_property
    def create(self) -> str:
        return self._text(f"""
            INSERT INTO {{s}}.sessions (space, id, tags, {_LISTED}, {_TIMES}, version, seq, words_seq, words_due)
            SELECT %(space)s, id, ARRAY(SELECT jsonb_array_elements_text(tags)), {_LISTED}, {_TIMES}, version, seq,
                seq, false
            FROM jsonb_to_recordset(%(rows)s) AS r (id text, tags jsonb, agent text, title text, status text,
                branch text, turn_count bigint, tool text, project text, folder text, git_branch text, summary text,
                usage jsonb, created_at timestamptz, updated_at timestamptz, recent_at timestamptz, version bigint,
                seq bigint)
            ON CONFLICT (space, id) WHERE trash_key IS NULL DO NOTHING
            RETURNING key, id""")

    @cached_property
    def insert_events(self) -> str:
        return self._text("""
            INSERT INTO {s}.events (space, session, seq, id, kind, branch, body)
            SELECT %(space)s, e.* FROM unnest(%(column0)s::bigint[], %(column1)s::bigint[], %(column2)s::text[],
                %(column3)s::text[], %(column4)s::text[], %(column5)b::bytea[]) AS e""")

    @cached_property
    def insert_checkpoints(self) -> str:
        return self._text("""
            INSERT INTO {s}.checkpoints (space, session, seq, body)
            SELECT %(space)s, c.* FROM unnest(
                %(column0)s::bigint[], %(column1)s::bigint[], %(column2)b::bytea[]) AS c""")

    @cached_property
    def insert_words(self) -> str:
        return self._text("""
            INSERT INTO {s}.words (space, session, seq, part, kind, length, is_cut, words)
            SELECT %(space)s, w.session, w.seq, w.part, w.kind, w.length, w.is_cut, w.words::tsvector
            FROM unnest(%(column0)s::bigint[], %(column1)s::bigint[], %(column2)s::integer[], %(column3)s::text[],
                %(column4)s::integer[], %(column5)s::boolean[], %(column6)s::text[]
            ) AS w (session, seq, part, kind, length, is_cut, words)""")

    @cached_property
    def insert_blobs(self) -> str:
        return self._text("""
            INSERT INTO {s}.blobs (space, session, name, data)
            SELECT %(space)s, b.* FROM unnest(%(column0)s::bigint[], %(column1)s::text[], %(column2)b::bytea[]) AS b""")
