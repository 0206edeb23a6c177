CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
CREATE TABLE "fragments" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "content" TEXT,
   "datetime_utc" TEXT,
   "source" TEXT
);
CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
INSERT INTO "messages" VALUES('b2:de56c5a45582cd79e07ad30f9a2b7a32',NULL,'user',NULL);
INSERT INTO "messages" VALUES('b2:5952373f84e70fd42380c2fdd75fd265','b2:de56c5a45582cd79e07ad30f9a2b7a32','assistant',NULL);
INSERT INTO "messages" VALUES('b2:7435cb1360a7e41a1826fd546bae1d5e','b2:5952373f84e70fd42380c2fdd75fd265','user',NULL);
INSERT INTO "messages" VALUES('b2:f12742916dc125c973d2508315398b5c','b2:7435cb1360a7e41a1826fd546bae1d5e','assistant',NULL);
INSERT INTO "messages" VALUES('b2:074dea0bd0259e0d5dca16426a45e4f5',NULL,'system',NULL);
INSERT INTO "messages" VALUES('b2:1a82591e02a5c8b9cec02901c0366718','b2:074dea0bd0259e0d5dca16426a45e4f5','user',NULL);
INSERT INTO "messages" VALUES('b2:a8f34b3c372d10ba1948428f7b9561a4','b2:1a82591e02a5c8b9cec02901c0366718','assistant',NULL);
INSERT INTO "messages" VALUES('b2:1e0f3b209e11d8ad38ff86fd8afdd4b9','b2:a8f34b3c372d10ba1948428f7b9561a4','tool',NULL);
INSERT INTO "messages" VALUES('b2:1672ca36dbd9bf72d63247618dbcc58c','b2:1e0f3b209e11d8ad38ff86fd8afdd4b9','assistant',NULL);
CREATE TABLE "part_fragments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "fragment_id", "order")
);
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "message_hash" TEXT REFERENCES "messages"("hash"),
   "position" INTEGER,
   "type" TEXT,
   "tool_name" TEXT,
   "text" TEXT,
   "payload" TEXT
);
INSERT INTO "parts" VALUES(1,'b2:de56c5a45582cd79e07ad30f9a2b7a32',0,'text',NULL,'Hello there',NULL);
INSERT INTO "parts" VALUES(2,'b2:5952373f84e70fd42380c2fdd75fd265',0,'text',NULL,'You said: Hello there',NULL);
INSERT INTO "parts" VALUES(3,'b2:7435cb1360a7e41a1826fd546bae1d5e',0,'text',NULL,'And again?',NULL);
INSERT INTO "parts" VALUES(4,'b2:f12742916dc125c973d2508315398b5c',0,'text',NULL,'You said: And again?',NULL);
INSERT INTO "parts" VALUES(5,'b2:074dea0bd0259e0d5dca16426a45e4f5',0,'text',NULL,'Be brief.',NULL);
INSERT INTO "parts" VALUES(6,'b2:1a82591e02a5c8b9cec02901c0366718',0,'text',NULL,'Use a TOOL, please',NULL);
INSERT INTO "parts" VALUES(7,'b2:a8f34b3c372d10ba1948428f7b9561a4',0,'tool_call','bash',NULL,'{"name": "bash", "arguments": {"command": "echo from-the-shell", "description": "Say where it comes from"}, "tool_call_id": "call_loopback_1"}');
INSERT INTO "parts" VALUES(8,'b2:1e0f3b209e11d8ad38ff86fd8afdd4b9',0,'tool_result','bash',NULL,'{"name": "bash", "output": "from-the-shell", "tool_call_id": "call_loopback_1"}');
INSERT INTO "parts" VALUES(9,'b2:1672ca36dbd9bf72d63247618dbcc58c',0,'text',NULL,'You said: Use a TOOL, please',NULL);
CREATE TABLE "responses" (
   "id" TEXT PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "conversation_id" TEXT REFERENCES "conversations"("id"),
   "duration_ms" INTEGER,
   "datetime_utc" TEXT,
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id")
, "resolved_model" TEXT, "reasoning" TEXT);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO "threads" VALUES('01m7fn63bm9dxpdagdsyq9kfc7','Hello there','b2:f12742916dc125c973d2508315398b5c',NULL,'2026-11-15 13:08:44.715779+00:00');
INSERT INTO "threads" VALUES('01m7fn66y9n4k6d1dpy6s90q62','Use a TOOL, please','b2:1672ca36dbd9bf72d63247618dbcc58c',NULL,'2026-11-15 13:08:48.447562+00:00');
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
INSERT INTO "turns" VALUES('01m7fn63bt8ds83fczhhjchppn','01m7fn63bm9dxpdagdsyq9kfc7','b2:de56c5a45582cd79e07ad30f9a2b7a32','b2:5952373f84e70fd42380c2fdd75fd265','loopback',NULL,NULL,NULL,11,7,NULL,177,'2026-11-15T13:08:44.538087+00:00','{"content": "You said: Hello there", "finish_reason": "stop", "usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}, "id": "c-1", "object": "chat.completion.chunk", "model": "loopback-chat", "created": 1}');
INSERT INTO "turns" VALUES('01m7fn65bwpzqj0dxhcg6bc5gx','01m7fn63bm9dxpdagdsyq9kfc7','b2:7435cb1360a7e41a1826fd546bae1d5e','b2:f12742916dc125c973d2508315398b5c','loopback',NULL,NULL,NULL,11,7,NULL,160,'2026-11-15T13:08:46.588528+00:00','{"content": "You said: And again?", "finish_reason": "stop", "usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}, "id": "c-1", "object": "chat.completion.chunk", "model": "loopback-chat", "created": 1}');
INSERT INTO "turns" VALUES('01m7fn66ybf1zysghzg69n9scs','01m7fn66y9n4k6d1dpy6s90q62','b2:1a82591e02a5c8b9cec02901c0366718','b2:a8f34b3c372d10ba1948428f7b9561a4','loopback',NULL,NULL,NULL,11,7,NULL,201,'2026-11-15T13:08:48.203873+00:00','{"content": "", "finish_reason": "tool_calls", "usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}, "id": "c-1", "object": "chat.completion.chunk", "model": "loopback-chat", "created": 1}');
INSERT INTO "turns" VALUES('01m7fn674p0bpy4n1cj098vbe6','01m7fn66y9n4k6d1dpy6s90q62','b2:1e0f3b209e11d8ad38ff86fd8afdd4b9','b2:1672ca36dbd9bf72d63247618dbcc58c','loopback',NULL,NULL,NULL,11,7,NULL,40,'2026-11-15T13:08:48.406095+00:00','{"content": "You said: Use a TOOL, please", "finish_reason": "stop", "usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}, "id": "c-1", "object": "chat.completion.chunk", "model": "loopback-chat", "created": 1}');
