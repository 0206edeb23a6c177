"""An AI tool as small as can be: it keeps sessions where Claude Code does, and as it does, and answers by a rule.

`--resume ID` goes on in a session, `--session-id ID` begins one; the prompt is on the input. It answers with how many
messages it was told and its system prompt's first line. A prompt that begins with `$ ` is run as a command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path


def option(name: str) -> str:
    for at, word in enumerate(sys.argv):
        if word == name:
            return sys.argv[at + 1]
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return ""


def record(session: str, parent: str | None, role: str, content: object) -> dict[str, object]:
    message: dict[str, object] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{uuid.uuid4().hex}", "model": "scripted", "type": "message"}
    return {
        "type": role,
        "uuid": str(uuid.uuid4()),
        "parentUuid": parent,
        "sessionId": session,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "cwd": str(Path.cwd()),
        "isSidechain": False,
        "message": message,
    }


def answer(prompt: str, told: int, session: str) -> str:
    if prompt.startswith("$ "):
        environ = {**os.environ, "CLAUDE_CODE_SESSION_ID": session}
        return subprocess.run(
            ["/bin/sh", "-c", prompt.removeprefix("$ ")], capture_output=True, text=True, check=False, env=environ
        ).stdout
    system = option("--append-system-prompt").partition("\n")[0]
    return f"I was told {told} messages. {system}"


def main() -> None:
    session = option("--resume") or option("--session-id")
    folder = Path.home() / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    before = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    chain = [one for one in before if one.get("type") in {"user", "assistant"}]
    prompt = sys.stdin.read()
    asked = record(session, chain[-1]["uuid"] if chain else None, "user", prompt)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(asked)}\n")
        file.flush()
        text = answer(prompt, len(chain), session)
        said = record(session, str(asked["uuid"]), "assistant", [{"type": "text", "text": text}])
        file.write(f"{json.dumps(said)}\n")
    sys.stdout.write(f"{text}\n")


main()
