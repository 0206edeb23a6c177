-- The tables of a Postgres store, in the Postgres schema that its URL names. Read `sessions` first.
--
-- This is what the numbered migrations next to it add up to; a test compares the two on a real server.
--
-- Texts are as they are where Postgres can hold them; one with a NUL or half a surrogate pair, or that begins with
-- "json:", is stored as "json:" and a JSON string. Bodies are bytes, and always exact.

-- Which migrations this database has.
CREATE TABLE migrations (
    number          integer PRIMARY KEY,
    name            text NOT NULL,
    -- A program that knows only earlier migrations than this one may neither read nor write.
    needed_to_read  integer NOT NULL,
    needed_to_write integer NOT NULL,
    applied_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Teams that share the database and not their sessions.
CREATE TABLE spaces (
    number integer PRIMARY KEY,
    name   text NOT NULL UNIQUE,
    -- Who has the rights of this Postgres role may use the space; NULL: everyone with rights on the tables.
    role   name,
    -- What whoever sees this row shows to find_words.
    token  uuid NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO spaces (number, name) VALUES (0, '');

CREATE TABLE sessions (
    key         bigint GENERATED ALWAYS AS IDENTITY,
    space       integer NOT NULL REFERENCES spaces,
    id          text COLLATE "C" NOT NULL,
    -- For those who know only the end of an id.
    reversed_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (reverse(id)) STORED,

    -- What a listing shows, as of the last event.
    agent       text NOT NULL,
    title       text NOT NULL,
    tags        text[] NOT NULL,
    status      text NOT NULL,
    branch      text NOT NULL,
    turn_count  bigint NOT NULL,
    tool        text NOT NULL,
    project     text NOT NULL,
    folder      text NOT NULL,
    git_branch  text NOT NULL,
    summary     text NOT NULL,
    usage       jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    -- The minute of updated_at: an index on this changes rarely, so that most updates touch no index.
    recent_at   timestamptz NOT NULL,

    version     bigint NOT NULL,
    -- The number of the last event.
    seq         bigint NOT NULL,

    -- The writer: it may write while its fence is the current one, and others wait until its lease ends. A writer that
    -- left keeps its name here, and has no lease.
    fence         bigint NOT NULL DEFAULT 1,
    lease_until   timestamptz,
    owner_token   uuid,
    owner_pid     integer,
    owner_host    text,
    -- Tells, on the same machine, whether the process still runs.
    owner_process text,
    owned_since   timestamptz,

    -- The last event whose words are in `words`; whether there are later ones.
    words_seq   bigint NOT NULL DEFAULT 0,
    words_due   boolean NOT NULL DEFAULT true,

    -- In the trash: its key there, and since when.
    trash_key   text,
    deleted_at  timestamptz,

    -- Every key begins with the space, so that no row can be in the way of one in another space.
    PRIMARY KEY (space, key)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX sessions_id ON sessions (space, id) WHERE trash_key IS NULL;
CREATE UNIQUE INDEX sessions_trash ON sessions (space, trash_key) WHERE trash_key IS NOT NULL;
CREATE INDEX sessions_reversed ON sessions (space, reversed_id) WHERE trash_key IS NULL;
CREATE INDEX sessions_recent ON sessions (space, recent_at DESC) WHERE trash_key IS NULL;
CREATE INDEX sessions_words_due ON sessions (space, key) WHERE words_due AND trash_key IS NULL;

-- Every event, byte for byte as a journal has it: one JSON object with its checksum, and the newline.
CREATE TABLE events (
    space   integer NOT NULL,
    session bigint NOT NULL,
    seq     bigint NOT NULL,
    id      text NOT NULL,
    kind    text NOT NULL,
    -- Of a turn; NULL for all other events.
    branch  text,
    body    bytea NOT NULL,
    PRIMARY KEY (space, session, seq),
    UNIQUE (space, session, id)
) PARTITION BY HASH (session);

-- Where the records of programs are, by their ids.
CREATE INDEX events_records ON events (space, id) WHERE kind = 'record';

-- The latest checkpoint of a long session, as a journal has it: everything but the turns, as of `seq`.
CREATE TABLE checkpoints (
    space   integer NOT NULL,
    session bigint NOT NULL,
    seq     bigint NOT NULL,
    body    bytea NOT NULL,
    PRIMARY KEY (space, session)
);

CREATE TABLE blobs (
    space   integer NOT NULL,
    session bigint NOT NULL,
    name    text NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (space, session, name)
);

ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;

-- The words of every text that can be found, for the search. They are written a moment after the event.
CREATE TABLE words (
    space   integer NOT NULL,
    session bigint NOT NULL,
    -- The event; 0 for the title and the summary of the session.
    seq     bigint NOT NULL,
    -- An event may have several texts: that of a turn, and those of its calls.
    part    integer NOT NULL,
    kind    text NOT NULL,
    -- How many words the text has.
    length  integer NOT NULL,
    -- Whether it has so many different words that only their beginnings are here.
    is_cut  boolean NOT NULL,
    words   tsvector NOT NULL,
    PRIMARY KEY (space, session, seq, part)
) PARTITION BY HASH (session);

CREATE INDEX words_words ON words USING gin (words);

-- Row-level security keeps Postgres from asking this index, whose operator might tell about rows of other spaces. So
-- this function asks it with the rights of the owner of the tables, for a space that its caller may use. It cannot see
-- whose code calls it: while a superuser or the server itself maintains the tables of a role, that is code of the role.
-- So the caller must also show what only row-level security gives him.
DO $$
BEGIN
    EXECUTE format($function$
        CREATE FUNCTION find_words(wanted integer, shown uuid, query tsquery, most bigint)
        RETURNS TABLE (session bigint, seq bigint, part integer, kind text, length integer, is_cut boolean)
        LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, %I, pg_temp
        -- Postgres believes that every word is in many texts, and would rather read them all until it has enough.
        SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_indexscan = off
        AS $body$
        DECLARE
            -- The setting tells who calls even here, and nobody can set it to a role that is not theirs.
            caller name := CASE current_setting('role') WHEN 'none' THEN session_user
                           ELSE current_setting('role') END;
        BEGIN
            IF NOT has_table_privilege(caller, 'words'::regclass, 'SELECT') THEN
                RAISE insufficient_privilege USING MESSAGE = 'permission denied for table words';
            END IF;
            IF EXISTS (SELECT FROM spaces AS s WHERE s.number = wanted AND s.token = shown
                           AND (s.role IS NULL OR pg_has_role(caller, to_regrole(quote_ident(s.role)), 'USAGE')
                               OR EXISTS (SELECT FROM pg_roles AS r
                                          WHERE r.rolname = caller AND (r.rolsuper OR r.rolbypassrls))
                               OR EXISTS (SELECT FROM pg_class AS c WHERE c.oid = 'words'::regclass
                                          AND pg_has_role(caller, c.relowner, 'USAGE'))))
            THEN
                RETURN QUERY SELECT w.session, w.seq, w.part, w.kind, w.length, w.is_cut FROM words AS w
                    WHERE w.space = wanted AND w.words @@ query LIMIT most;
            END IF;
        END
        $body$
    $function$, current_schema());
END
$$;

-- A role sees the spaces whose role it has, also with statements of its own. The owner of the tables sees all, and is
-- the only one who changes the first two. A space whose role was dropped is closed.
ALTER TABLE migrations ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE words ENABLE ROW LEVEL SECURITY;

CREATE POLICY everyone ON migrations FOR SELECT USING (true);
CREATE POLICY members ON spaces FOR SELECT
    USING (role IS NULL OR pg_catalog.pg_has_role(pg_catalog.to_regrole(pg_catalog.quote_ident(role)), 'USAGE'));
CREATE POLICY members ON sessions
    USING (space = ANY (ARRAY(SELECT number FROM spaces)));
CREATE POLICY members ON events
    USING (space = ANY (ARRAY(SELECT number FROM spaces)));
CREATE POLICY members ON checkpoints
    USING (space = ANY (ARRAY(SELECT number FROM spaces)));
CREATE POLICY members ON blobs
    USING (space = ANY (ARRAY(SELECT number FROM spaces)));
CREATE POLICY members ON words
    USING (space = ANY (ARRAY(SELECT number FROM spaces)));

-- Each partition has the policy too: a right on all tables of a schema covers them as well.
DO $$
DECLARE
    parent text;
    part text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['events', 'words'] LOOP
        FOR number IN 0..15 LOOP
            part := parent || '_' || number;
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                           part, parent, number);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('CREATE POLICY members ON %I USING (space = ANY (ARRAY(SELECT number FROM spaces)))', part);
        END LOOP;
    END LOOP;
END
$$;

-- The planner keeps samples of columns, of all spaces together, and EXPLAIN tells everyone what it concludes from them.
-- So it keeps none of what was said, by whom, where and when.
ALTER TABLE spaces ALTER name SET STATISTICS 0, ALTER role SET STATISTICS 0, ALTER token SET STATISTICS 0;
ALTER TABLE sessions
    ALTER id SET STATISTICS 0, ALTER reversed_id SET STATISTICS 0, ALTER agent SET STATISTICS 0,
    ALTER title SET STATISTICS 0,
    ALTER tags SET STATISTICS 0, ALTER branch SET STATISTICS 0, ALTER tool SET STATISTICS 0,
    ALTER project SET STATISTICS 0, ALTER folder SET STATISTICS 0, ALTER git_branch SET STATISTICS 0,
    ALTER summary SET STATISTICS 0, ALTER usage SET STATISTICS 0, ALTER created_at SET STATISTICS 0,
    ALTER updated_at SET STATISTICS 0, ALTER recent_at SET STATISTICS 0, ALTER lease_until SET STATISTICS 0,
    ALTER owner_token SET STATISTICS 0, ALTER owner_host SET STATISTICS 0, ALTER owner_process SET STATISTICS 0,
    ALTER owned_since SET STATISTICS 0, ALTER trash_key SET STATISTICS 0, ALTER deleted_at SET STATISTICS 0;
ALTER TABLE events ALTER id SET STATISTICS 0, ALTER branch SET STATISTICS 0, ALTER body SET STATISTICS 0;
ALTER TABLE checkpoints ALTER body SET STATISTICS 0;
ALTER TABLE blobs ALTER name SET STATISTICS 0, ALTER data SET STATISTICS 0;
ALTER TABLE words ALTER words SET STATISTICS 0;
