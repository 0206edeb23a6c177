-- Where the records of programs are, by their ids.
CREATE INDEX events_records ON events (space, id) WHERE kind = 'record';
