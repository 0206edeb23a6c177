CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1e41be19b001k7w7ByZQJvbYBz','ses_e1be433feffe84j9bh55RCCSwt',1794828394907,1794828400672,'{"role":"user","time":{"created":1794828394907},"agent":"code","model":{"providerID":"loopback","modelID":"m"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1e41beef90013jotNhCBjh5Zyc','ses_e1be433feffe84j9bh55RCCSwt',1794828398329,1794828400412,'{"parentID":"msg_1e41be19b001k7w7ByZQJvbYBz","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/tmp/corpus/project","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"loopback","time":{"created":1794828398329,"completed":1794828400398},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1e41bf7580019bNIVXdwiXADi2','ses_e1be433feffe84j9bh55RCCSwt',1794828400472,1794828401780,'{"parentID":"msg_1e41be19b001k7w7ByZQJvbYBz","role":"assistant","mode":"code","agent":"code","path":{"cwd":"/tmp/corpus/project","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"loopback","time":{"created":1794828400472,"completed":1794828401777},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1e41be2810013b2vEvMVl2diRD','msg_1e41be19b001k7w7ByZQJvbYBz','ses_e1be433feffe84j9bh55RCCSwt',1794828395144,1794828395176,'{"type":"text","text":"\"Use a TOOL, please\""}');
INSERT INTO "part" VALUES('prt_1e41bf36c001Vf6lw1WP9dEtqD','msg_1e41beef90013jotNhCBjh5Zyc','ses_e1be433feffe84j9bh55RCCSwt',1794828399468,1794828399502,'{"type":"step-start","time":{"start":1794828399185}}');
INSERT INTO "part" VALUES('prt_1e41bf413001ooo926Ps43GiV2','msg_1e41beef90013jotNhCBjh5Zyc','ses_e1be433feffe84j9bh55RCCSwt',1794828399636,1794828400288,'{"type":"tool","tool":"bash","callID":"call_loopback_1","state":{"status":"completed","input":{"command":"echo from-the-shell","description":"Say where it comes from"},"output":"from-the-shell\n","metadata":{"output":"from-the-shell\n","exit":0,"description":"Say where it comes from","truncated":false,"approval":{"source":"global","rule":{"permission":"bash","pattern":"*","action":"allow"}}},"title":"Say where it comes from","time":{"start":1794828399756,"end":1794828400276}}}');
INSERT INTO "part" VALUES('prt_1e41bf6ec001wgltLcJiuQQMoM','msg_1e41beef90013jotNhCBjh5Zyc','ses_e1be433feffe84j9bh55RCCSwt',1794828400365,1794828400368,'{"reason":"tool-calls","type":"step-finish","time":{"start":1794828399185,"end":1794828400361,"elapsed":1176},"metrics":{"generation":5.9523809523809526,"source":"computed"},"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e41bfabb0011IPd7cMYBsfCLq','msg_1e41bf7580019bNIVXdwiXADi2','ses_e1be433feffe84j9bh55RCCSwt',1794828401339,1794828401341,'{"type":"step-start","time":{"start":1794828401112}}');
INSERT INTO "part" VALUES('prt_1e41bfae0001cZoDPgpirokqyb','msg_1e41bf7580019bNIVXdwiXADi2','ses_e1be433feffe84j9bh55RCCSwt',1794828401377,1794828401402,'{"type":"text","text":"You said: \"Use a TOOL, please\"","time":{"start":1794828401376,"end":1794828401401}}');
INSERT INTO "part" VALUES('prt_1e41bfc59001jFw2ST4qXCAfwc','msg_1e41bf7580019bNIVXdwiXADi2','ses_e1be433feffe84j9bh55RCCSwt',1794828401754,1794828401759,'{"reason":"stop","type":"step-finish","time":{"start":1794828401112,"end":1794828401752,"elapsed":640},"metrics":{"generation":10.9375,"source":"computed"},"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_e1be433feffe84j9bh55RCCSwt','global',NULL,NULL,'proud-island','/tmp/corpus/project','tmp/corpus/project','New session - 2026-11-16T11:26:29.377Z','7.7.9',NULL,0,0,0,NULL,NULL,0.0,22,14,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"suggest","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','code','{"id":"m","providerID":"loopback","variant":"default"}',1794828389377,1794828400495,NULL,NULL);
