"""Sessions of AI tools that were handed over, and what each tool does to them when something is said or rewound."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.transfer.handover import hand_over, record_handover

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.integrations import Launch
    from segue.model import JsonObject
    from segue.session import LiveSession

AT = "2026-12-01T00:00:00Z"
STAND_IN = '#!/bin/sh\n[ "$1" = import ] && cp "$2" "$HOME/imported.json"\nexit 0\n'
"""For a program that only imports."""
TABLES = """
CREATE TABLE session (id, parent_id, title, directory, revert, metadata, time_updated);
CREATE TABLE message (id, session_id, time_created, time_updated, data);
CREATE TABLE part (id, message_id, session_id, time_updated, data);
"""


class RewindingTool(Protocol):
    def say(self, *texts: str) -> None:
        """Say them, each with an answer."""

    def rewind(self, to: str) -> None:
        """Rewind to before the message of the user with this text."""


def options_for(folder: Path) -> LaunchOptions:
    """With all of the tools on the PATH, in an empty home."""
    for name in TOOLS:
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o700)
    return LaunchOptions(cwd=folder, environ={"PATH": f"{folder}:/bin:/usr/bin", "HOME": str(folder)}, model="own/m")


def hand_over_to(
    name: str, session: LiveSession, options: LaunchOptions, system: str = ""
) -> tuple[str, RewindingTool]:
    """The id of the tool's session, and the session."""
    launch = hand_over(session, INTEGRATIONS[name], options, system=system).launch
    record_handover(session, name, launch.native_id)
    return launch.native_id, TOOLS[name](launch, options)


class _Lines:
    """A file with one record per line, each of which names the one before it."""

    id_field = "uuid"
    parent_field = "parentUuid"

    def __init__(self, launch: Launch, options: LaunchOptions) -> None:
        self._path = self._find(launch, options)
        records = self._records()
        self._tip = records[-1].get(self.id_field)
        kinds = {"user": "First", "assistant": "One."}
        self._models = {kind: next(line for line in records if _has(line, text)) for kind, text in kinds.items()}
        self._texts, self._numbers = kinds, count()

    def _find(self, launch: Launch, options: LaunchOptions) -> Path:  # noqa: ARG002 - others need them
        return Path(launch.written[-1])

    def say(self, *texts: str) -> None:
        for text in texts:
            for kind, words in (("user", text), ("assistant", f"{text}!")):
                model = {name: value for name, value in self._models[kind].items() if name != "segue"}
                record = json.loads(json.dumps(model).replace(json.dumps(self._texts[kind]), json.dumps(words)))
                own = f"{next(self._numbers)}-of-the-tool"
                self._append({**record, self.id_field: own, self.parent_field: self._tip, "timestamp": AT})
                self._tip = own

    def rewind(self, to: str) -> None:
        self._tip = next(line for line in self._records() if _has(line, to))[self.parent_field]

    def _records(self) -> list[JsonObject]:
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]

    def _append(self, record: JsonObject) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")


class _Pi(_Lines):
    id_field = "id"
    parent_field = "parentId"


class _Gemini(_Lines):
    """It copies what it was given into a file of its own."""

    id_field = "id"

    def _find(self, launch: Launch, options: LaunchOptions) -> Path:
        head, *rest = Path(launch.written[0]).read_text().splitlines(keepends=True)
        path = options.home / ".gemini/tmp/project/chats/session-2026-12-01T00-00-0a0a0a0a.jsonl"
        path.parent.mkdir(parents=True)
        own = json.dumps({**json.loads(head), "sessionId": "0a0a0a0a-0000-4000-8000-000000000000"})
        path.write_text("".join([f"{own}\n", *rest]))
        return path

    def rewind(self, to: str) -> None:
        self._append({"$rewindTo": next(line for line in self._records() if _has(line, to))["id"]})


class _Copilot(_Lines):
    """It removes what is rewound from the file."""

    id_field = "id"
    parent_field = "parentId"

    def rewind(self, to: str) -> None:
        lines = self._path.read_bytes().splitlines(keepends=True)
        place = next(at for at, line in enumerate(lines) if _has(json.loads(line), to))
        self._path.write_bytes(b"".join(lines[:place]))
        self._tip = json.loads(lines[place - 1])["id"]


class _Codex:
    """It writes another file, which names the first one."""

    def __init__(self, launch: Launch, options: LaunchOptions) -> None:  # noqa: ARG002 - others need them
        self._id = launch.native_id
        self._paths = [Path(launch.written[0])]

    def say(self, *texts: str) -> None:
        for text in texts:
            for role, kind, words in (("user", "input_text", text), ("assistant", "output_text", f"{text}!")):
                item: JsonObject = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
                self._append("response_item", item)

    def rewind(self, to: str) -> None:
        path = next(path for path in reversed(self._paths) if json.dumps(to).encode() in path.read_bytes())
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        place = next(at for at, record in enumerate(records) if _has(record["payload"], to))
        is_started = records[place - 1]["payload"].get("type") == "task_started"
        ordinal = records[place]["ordinal"] - is_started
        base = {"thread_id": path.stem[-36:], "end_ordinal_exclusive": ordinal}
        segment = f"01a1dffc-5932-78f2-8601-{len(self._paths):012x}"
        self._paths.append(path.with_name(f"rollout-2027-01-01T00-00-00-{self._id}_{segment}.jsonl"))
        self._append("session_meta", {"id": self._id, **({"history_base": base} if ordinal > 1 else {})}, ordinal)

    def _append(self, kind: str, payload: JsonObject, ordinal: int | None = None) -> None:
        if ordinal is None:
            ordinal = json.loads(self._paths[-1].read_bytes().splitlines()[-1])["ordinal"] + 1
        with self._paths[-1].open("a") as file:
            file.write(json.dumps({"timestamp": AT, "ordinal": ordinal, "type": kind, "payload": payload}) + "\n")


class _Opencode:
    """It imports a document into its database, marks what is rewound, and removes that with the next message."""

    def __init__(self, launch: Launch, options: LaunchOptions) -> None:
        document = json.loads((options.home / "imported.json").read_text())
        info = document["info"]
        self._id, self._numbers = launch.native_id, count(1)
        self._path = options.home / f".local/share/{launch.tool}/{launch.tool}.db"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path)) as database:
            database.executescript(TABLES)
            row = (info["id"], info["title"], info["directory"], json.dumps(info.get("metadata")))
            database.execute("INSERT INTO session VALUES (?, NULL, ?, ?, NULL, ?, 1)", row)
            database.commit()
        for message in document["messages"]:
            self._insert(message["info"], message["parts"])

    def say(self, *texts: str) -> None:
        self._remove_undone()
        for text in texts:
            for role, words in (("user", text), ("assistant", f"{text}!")):
                number = next(self._numbers)
                time = {"created": 1796083200000 + number, "completed": 1796083200000 + number}
                id = f"msg_ff{number:010x}of-the-tool"
                self._insert(
                    {"id": id, "role": role, "time": time}, [{"id": f"prt_{id}", "type": "text", "text": words}]
                )

    def rewind(self, to: str) -> None:
        query = "SELECT message_id FROM part WHERE json_extract(data, '$.text') = ? ORDER BY message_id"
        with closing(sqlite3.connect(self._path)) as database:
            (id,) = database.execute(query, (to,)).fetchone()
            database.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": id}),))
            database.commit()

    def _remove_undone(self) -> None:
        with closing(sqlite3.connect(self._path)) as database:
            (revert,) = database.execute("SELECT revert FROM session").fetchone()
            if revert:
                id = json.loads(revert)["messageID"]
                database.execute("DELETE FROM message WHERE id >= ?", (id,))
                database.execute("DELETE FROM part WHERE message_id >= ?", (id,))
                database.execute("UPDATE session SET revert = NULL")
                database.commit()

    def _insert(self, info: JsonObject, parts: list[JsonObject]) -> None:
        created = info["time"]["created"]  # type: ignore[index]  # an object
        with closing(sqlite3.connect(self._path)) as database:
            row = (info["id"], self._id, created, created, json.dumps(info))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            for part in parts:
                own = (part["id"], info["id"], self._id, created, json.dumps(part))
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", own)
            database.commit()


def _has(record: JsonObject, text: str) -> bool:
    return json.dumps(text) in json.dumps(record)


TOOLS: dict[str, Callable[[Launch, LaunchOptions], RewindingTool]] = {
    "claude": _Lines,
    "codex": _Codex,
    "copilot": _Copilot,
    "gemini": _Gemini,
    "kilo": _Opencode,
    "opencode": _Opencode,
    "pi": _Pi,
    "qwen": _Lines,
}
