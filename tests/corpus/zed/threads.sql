CREATE TABLE threads (
    id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL,
    parent_id TEXT, folder_paths TEXT, folder_paths_order TEXT, created_at TEXT
);
INSERT INTO threads (id, summary, updated_at, data_type, data, parent_id, folder_paths, created_at) VALUES
    ('5f1d0c3e-6f8f-4a53-9a55-5d5b7e7a0c11', 'A tool', '2026-01-05T09:30:03Z', 'json', '{"version": "0.3.0", "title": "A tool", "messages": [{"User": {"id": "u-1", "content": [{"Text": "Use a TOOL, please"}]}}, {"Agent": {"content": [{"ToolUse": {"id": "call_1", "name": "terminal", "raw_input": "{\"command\":\"echo from-the-shell\"}", "input": {"command": "echo from-the-shell"}, "is_input_complete": true, "thought_signature": null}}], "tool_results": {"call_1": {"tool_use_id": "call_1", "tool_name": "terminal", "is_error": false, "content": [{"Text": "from-the-shell\n"}], "output": null}}, "reasoning_details": null}}, {"Agent": {"content": [{"Text": "You said: Use a TOOL, please"}], "tool_results": {}, "reasoning_details": null}}], "updated_at": "2026-01-05T09:30:03Z", "model": {"provider": "openai", "model": "m"}, "thinking_enabled": false, "thinking_effort": null}',
    NULL, '/tmp/corpus/project', '2026-01-05T09:30:00Z');
