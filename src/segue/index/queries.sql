-- known: the sessions of a source at the last refresh
SELECT id, revision, is_read, status = 'active' FROM sessions WHERE source = ?;

-- find: the position up to which a session was read
SELECT number, seq, mark, usage FROM sessions WHERE source = ? AND id = ?;

-- put: what a listing shows of a session
INSERT INTO sessions (
    source, id, revision, is_read, seq, mark, tool, agent, title, status, branch, project, folder, summary,
    launch, tags, turn_count, git_branch, usage, has_usage, created_at, updated_at, damage, sum
)
VALUES (
    :source, :id, :revision, :is_read, :seq, :mark, :tool, :agent, :title, :status, :branch, :project, :folder, :summary,
    :launch, :tags, :turn_count, :git_branch, :usage, :has_usage, :created_at, :updated_at, :damage, :sum
)
ON CONFLICT (source, id) DO UPDATE SET
    revision = excluded.revision, is_read = excluded.is_read, seq = excluded.seq, mark = excluded.mark,
    tool = excluded.tool, agent = excluded.agent, title = excluded.title, status = excluded.status,
    branch = excluded.branch, project = excluded.project, folder = excluded.folder, summary = excluded.summary,
    launch = excluded.launch, tags = excluded.tags, turn_count = excluded.turn_count,
    git_branch = excluded.git_branch, usage = excluded.usage, has_usage = excluded.has_usage,
    created_at = excluded.created_at, updated_at = excluded.updated_at, damage = excluded.damage,
    sum = excluded.sum
RETURNING number;

-- add_piece: a text that can be found
INSERT INTO pieces (session, kind, seq, turn, branch, role, text, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- index_pieces: the words of the pieces of a session beyond a number
INSERT INTO words (rowid, text) SELECT number, text FROM pieces WHERE session = ? AND number > ?;

-- last_piece: the newest piece of all
SELECT coalesce(max(number), 0) FROM pieces;

-- forget_words: the words of a session, or of what can change in it
INSERT INTO words (words, rowid, text)
SELECT 'delete', number, text FROM pieces WHERE session = ?1 AND (?2 OR kind NOT IN ('turn', 'call', 'decision', 'learning'));

-- forget_pieces: the same pieces
DELETE FROM pieces WHERE session = ?1 AND (?2 OR kind NOT IN ('turn', 'call', 'decision', 'learning'));

-- add_record: where the record of a program is
INSERT INTO records (session, seq, id, sum) VALUES (?, ?, ?, ?);

-- forget_records: all records of a session; those of what is only added to stay
DELETE FROM records WHERE session = ?1 AND ?2;

-- merge_words: the search index without what was removed from it
INSERT INTO words (words) VALUES ('optimize');

-- forget_session: a session whose pieces are gone
DELETE FROM sessions WHERE number = ?;

-- listed: sessions, the last active first
SELECT s.* FROM sessions AS s WHERE {filters} ORDER BY s.updated_at DESC, s.number DESC LIMIT :limit;

-- linked: the sessions with one of these ids
SELECT number, source, id, launch, tool, created_at, updated_at FROM sessions
WHERE id IN (SELECT value FROM json_each(:ids))
UNION
SELECT number, source, id, launch, tool, created_at, updated_at FROM sessions
WHERE launch <> '' AND launch IN (SELECT value FROM json_each(:ids));

-- ids_of: all ids of a source
SELECT id FROM sessions WHERE source = ?;

-- find_record: the sessions with a record, the first created first
SELECT s.id, r.seq
FROM records AS r
JOIN sessions AS s ON s.number = r.session
WHERE r.id = :id AND s.source = :source AND (:agent IS NULL OR s.agent = :agent)
ORDER BY s.created_at, s.number;

-- by_number: one session
SELECT s.* FROM sessions AS s WHERE s.number = :number;

-- matches: the best piece of each conversation that matches, the best conversation first; its own text before a copy's
WITH scored AS MATERIALIZED ( -- for bm25 knows no groups
    SELECT
        s.number AS session,
        p.number AS piece,
        p.session = s.number AS is_own,
        p.kind AS kind,
        bm25(words) * CASE p.kind WHEN 'title' THEN 4.0 WHEN 'turn' THEN 1.0 WHEN 'call' THEN 0.9 ELSE 2.0 END
            * CASE p.session WHEN s.number THEN 1.0 ELSE 0.9 END AS score
    FROM words
    JOIN pieces AS p ON p.number = words.rowid
    JOIN sessions AS s ON s.number = {shown}
    WHERE words MATCH :words AND (p.session = s.number OR p.kind IN ('turn', 'call')) AND {filters}
)
SELECT session, piece, kind, min(score) AS score, coalesce(nullif(sum(is_own), 0), count(*)) AS matches
FROM scored
GROUP BY session
ORDER BY score, session DESC
LIMIT :limit;

-- matching_turn: the first turn of a session that matches, without a look at other sessions
SELECT p.number
FROM words
JOIN pieces AS p ON p.number = words.rowid
WHERE words MATCH :words AND p.session = :session AND p.kind IN ('turn', 'call')
    AND words.rowid >= (SELECT min(number) FROM pieces WHERE session = :session)
    AND words.rowid <= (SELECT max(number) FROM pieces WHERE session = :session)
ORDER BY words.rowid
LIMIT 1;

-- count_matches: how many conversations match
WITH matching AS (
    SELECT DISTINCT s.number
    FROM words
    JOIN pieces AS p ON p.number = words.rowid
    JOIN sessions AS s ON s.number = {shown}
    WHERE words MATCH :words AND (p.session = s.number OR p.kind IN ('turn', 'call')) AND {filters}
)
SELECT count(*) FROM matching;

-- shown: what is shown of a match
SELECT p.kind, p.seq, p.turn, p.branch AS found_on, p.role, snippet(words, 0, :begin, :end, '…', 24) AS snippet, s.*
FROM words
JOIN pieces AS p ON p.number = words.rowid
JOIN sessions AS s ON s.number = p.session
WHERE words MATCH :words AND words.rowid = :piece;

-- turns: turns of a session from a seq on, in this order
SELECT p.kind, p.seq, p.turn, p.branch, p.role, p.text
FROM pieces AS p
JOIN sessions AS s ON s.number = p.session
WHERE s.source = :source AND s.id = :id AND p.kind = 'turn' AND p.seq >= :first AND (:branch = '' OR p.branch = :branch)
ORDER BY p.seq {order}
LIMIT :limit;
