CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1df5351fc001dOmghdFAhdAiQG','ses_e20acae50ffe3H72Y65ma9vdEj',1794748142076,1794748143676,'{"role":"user","time":{"created":1794748142076},"agent":"build","model":{"providerID":"loopback","modelID":"m"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1df53550b001C9z26jROvxPghq','ses_e20acae50ffe3H72Y65ma9vdEj',1794748142859,1794748143639,'{"parentID":"msg_1df5351fc001dOmghdFAhdAiQG","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/corpus/project","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"loopback","time":{"created":1794748142859,"completed":1794748143639},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1df53581c001jRriZsEdIj2KPn','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143644,1794748143732,'{"parentID":"msg_1df5351fc001dOmghdFAhdAiQG","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/tmp/corpus/project","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"loopback","time":{"created":1794748143644,"completed":1794748143731},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1df535204001ItmXZoiY1lyV0D','msg_1df5351fc001dOmghdFAhdAiQG','ses_e20acae50ffe3H72Y65ma9vdEj',1794748142841,1794748142843,'{"type":"text","text":"\"Use a TOOL, please\""}');
INSERT INTO "part" VALUES('prt_1df535612001HuXW1mCgHrOhQw','msg_1df53550b001C9z26jROvxPghq','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143122,1794748143124,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_1df5356160011Olb6jApJf1b5p','msg_1df53550b001C9z26jROvxPghq','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143126,1794748143631,'{"type":"tool","tool":"bash","callID":"call_loopback_1","state":{"status":"completed","input":{"command":"echo from-the-shell","description":"Say where it comes from"},"output":"from-the-shell\n","metadata":{"output":"from-the-shell\n","exit":0,"truncated":false},"title":"echo from-the-shell","time":{"start":1794748143134,"end":1794748143630}}}');
INSERT INTO "part" VALUES('prt_1df535812001y9ATZMS70gr1SP','msg_1df53550b001C9z26jROvxPghq','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143634,1794748143635,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1df535868001nuu1yLWeYiiWjN','msg_1df53581c001jRriZsEdIj2KPn','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143720,1794748143721,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_1df53586a00125wo7zcmeV8K1D','msg_1df53581c001jRriZsEdIj2KPn','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143722,1794748143726,'{"type":"text","text":"You said: \"Use a TOOL, please\"","time":{"start":1794748143722,"end":1794748143725}}');
INSERT INTO "part" VALUES('prt_1df53586f001FmmQ4OO4izyupx','msg_1df53581c001jRriZsEdIj2KPn','ses_e20acae50ffe3H72Y65ma9vdEj',1794748143727,1794748143728,'{"reason":"stop","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
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
INSERT INTO "session" VALUES('ses_e20acae50ffe3H72Y65ma9vdEj','global',NULL,NULL,'stellar-engine','/tmp/corpus/project','tmp/corpus/project','You said: "Use a TOOL, please"','1.18.33',NULL,0,0,0,NULL,NULL,0.0,22,14,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"m","providerID":"loopback","variant":"default"}',1794748142000,1794748143753,NULL,NULL);
