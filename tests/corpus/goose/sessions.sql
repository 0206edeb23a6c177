CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version (version) VALUES (9);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
    user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
    schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT,
    goose_mode TEXT NOT NULL DEFAULT 'auto'
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT
);
INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, provider_name, model_config_json) VALUES
    ('20260105_1', 'A tool', 'user', '/tmp/corpus/project', '2026-01-05 09:30:00', '2026-01-05 09:30:03', 'openai', '{"model_name": "m"}'),
    ('20260105_2', 'Helper', 'sub_agent', '/tmp/corpus/project', '2026-01-05 09:30:00', '2026-01-05 09:30:03', 'openai', NULL);
INSERT INTO messages (id, message_id, session_id, role, content_json, created_timestamp, tokens, metadata_json) VALUES
    (1, 'msg_1', '20260105_1', 'user', '[{"type": "text", "text": "Use a TOOL, please"}]', 1767605400, NULL, '{"userVisible": true, "agentVisible": true}');
INSERT INTO messages (id, message_id, session_id, role, content_json, created_timestamp, tokens, metadata_json) VALUES
    (2, 'msg_2', '20260105_1', 'assistant', '[{"type": "toolRequest", "id": "call_1", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "echo from-the-shell"}}}}]', 1767605401, NULL, '{"userVisible": true, "agentVisible": true}');
INSERT INTO messages (id, message_id, session_id, role, content_json, created_timestamp, tokens, metadata_json) VALUES
    (3, 'msg_3', '20260105_1', 'user', '[{"type": "toolResponse", "id": "call_1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "from-the-shell\n"}], "isError": false}}}]', 1767605402, NULL, '{"userVisible": true, "agentVisible": true}');
INSERT INTO messages (id, message_id, session_id, role, content_json, created_timestamp, tokens, metadata_json) VALUES
    (4, 'msg_4', '20260105_1', 'assistant', '[{"type": "text", "text": "You said: Use a TOOL, please"}]', 1767605403, 7, '{"userVisible": true, "agentVisible": true}');
