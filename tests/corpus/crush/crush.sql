CREATE TABLE sessions (
    id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
    summary_message_id TEXT, todos TEXT
);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL DEFAULT '[]', model TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT,
    is_summary_message INTEGER DEFAULT 0 NOT NULL
);
INSERT INTO sessions (id, parent_session_id, title, message_count, updated_at, created_at) VALUES
    ('c-main', NULL, 'A tool', 4, 1767605403, 1767605400);
INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, is_summary_message) VALUES
    ('m1', 'c-main', 'user', '[{"type": "text", "data": {"text": "Use a TOOL, please"}}]', NULL, 1767605400, 1767605400, 0);
INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, is_summary_message) VALUES
    ('m2', 'c-main', 'assistant', '[{"type": "tool_call", "data": {"id": "call_1", "name": "bash", "input": "{\"command\":\"echo from-the-shell\"}", "provider_executed": false, "finished": true}}, {"type": "finish", "data": {"reason": "tool_use", "time": 1767605401}}]', 'm', 1767605401, 1767605401, 0);
INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, is_summary_message) VALUES
    ('m3', 'c-main', 'tool', '[{"type": "tool_result", "data": {"tool_call_id": "call_1", "name": "bash", "content": "from-the-shell\n", "data": "", "mime_type": "", "metadata": "", "is_error": false}}]', NULL, 1767605402, 1767605402, 0);
INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, is_summary_message) VALUES
    ('m4', 'c-main', 'assistant', '[{"type": "text", "data": {"text": "You said: Use a TOOL, please"}}, {"type": "finish", "data": {"reason": "end_turn", "time": 1767605403}}]', 'm', 1767605403, 1767605403, 0);
