-- What the files say, arranged for finding. Nothing is here that is not in them; `user_version` tells which arrangement.

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL,
    is_read INTEGER NOT NULL,  -- whether the pieces are of this revision, or only what a listing shows
    seq INTEGER NOT NULL,
    mark TEXT NOT NULL,        -- the id of the event with this seq: what was read goes up to it
    tool TEXT NOT NULL,
    agent TEXT NOT NULL,
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    branch TEXT NOT NULL,
    project TEXT NOT NULL,
    folder TEXT NOT NULL,
    summary TEXT NOT NULL,
    launch TEXT NOT NULL,      -- the id with which we started a tool's session, where the tool gave it another
    tags TEXT NOT NULL,        -- each between newlines, so that one is found as '\ntag\n'
    turn_count INTEGER,        -- NULL where only the ends of a session were read
    git_branch TEXT NOT NULL,
    usage TEXT NOT NULL,       -- the totals as JSON, of what was read up to the mark
    has_usage INTEGER NOT NULL, -- whether they are of this revision
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- microseconds
    damage TEXT NOT NULL,
    sum INTEGER NOT NULL,      -- a checksum of all that stands before it but the number
    UNIQUE (source, id)
);
CREATE INDEX sessions_by_activity ON sessions (updated_at);
CREATE INDEX sessions_by_id ON sessions (id);
CREATE INDEX sessions_by_launch ON sessions (launch) WHERE launch <> '';

-- What can be searched for.
CREATE TABLE pieces (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (number),
    kind TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn INTEGER NOT NULL,     -- its number on its branch, from 1; 0 where it is not known
    branch TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    sum INTEGER NOT NULL
);
CREATE INDEX pieces_by_session ON pieces (session);

CREATE VIRTUAL TABLE words USING fts5 (
    text, content='pieces', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
);

-- Where the records of programs are, by their ids.
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (number),
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    sum INTEGER NOT NULL
);
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_session ON records (session);

-- When somebody last looked whether all of this is as it was written: one row.
CREATE TABLE care (checked_at INTEGER NOT NULL);
