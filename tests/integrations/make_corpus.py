"""Rebuilds tests/corpus/{claude,codex,gemini,opencode}: python -m tests.integrations.make_corpus DIR-OF-TOOLS.

Real tools, a model on this machine. What their makers tell their models is cut out; all else is as it was written.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from segue.integrations import HandoverContext
from segue.integrations.registry import launchable
from tests.support.integration_machine import Machine
from tests.support.loopback.model import Model

if TYPE_CHECKING:
    from segue.model import JsonObject

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMPTS = {"plain": "Hello there", "tool": "Use a TOOL, please"}
CUT = "[cut]"
UNREAD = {"api-request-shape", "api-request-blob", "api-request", "world_state", "turn_context"}


def main(folder: str) -> None:
    for name in launchable():
        for kind, prompt in PROMPTS.items():
            with TemporaryDirectory() as root, Model() as model:
                machine = Machine(Path(root), folder, model, name)
                launch = machine.launch(HandoverContext(), prompt)
                if launch.run(machine.environ):
                    raise SystemExit(f"{name} failed")
                text = _transcript(machine, launch.native_id).decode().replace(root.lstrip("/"), "tmp/corpus")
            suffix = "json" if name == "opencode" else "jsonl"
            (CORPUS / name / f"{kind}.{suffix}").write_text(_cut(name, text), encoding="utf-8")


def _transcript(machine: Machine, native_id: str) -> bytes:
    if machine.tool.name == "opencode":
        argv = [str(machine.tool.find(machine.environ)), "export", native_id]
        return subprocess.run(argv, env=machine.environ, cwd=machine.project, check=True, capture_output=True).stdout
    found = [path for path in machine.home.rglob("*.jsonl") if native_id.encode() in path.read_bytes()]
    return max(found, key=lambda path: path.stat().st_size).read_bytes()


def _cut(name: str, text: str) -> str:
    if name == "opencode":
        return text
    lines = [_shortened(json.loads(line)) for line in text.splitlines()]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def _shortened(record: JsonObject) -> JsonObject:
    """The record with its shape, without the words of the tool's maker."""
    kind = record.get("type")
    if kind == "attachment":
        attachment = cast("JsonObject", record["attachment"])
        return {**record, "attachment": {"type": attachment["type"]}, "rendered": CUT}
    payload = record.get("payload")
    if isinstance(payload, dict) and "base_instructions" in payload:
        return {**record, "payload": {**payload, "base_instructions": {"text": CUT}}}
    if isinstance(payload, dict) and payload.get("role") == "developer":
        return {**record, "payload": {**payload, "content": [{"type": "input_text", "text": CUT}]}}
    if kind in UNREAD:
        kept: JsonObject = {key: record[key] for key in ("type", "sessionId", "timestamp", "ordinal") if key in record}
        model = {"payload": {"model": payload["model"]}} if isinstance(payload, dict) and "model" in payload else {}
        return {**kept, **model}
    change = record.get("$set")
    if isinstance(change, dict) and "messages" in change:
        for message in change["messages"]:
            message["content"] = [{"text": f"<session_context>{CUT}</session_context>"}]
    return record


if __name__ == "__main__":
    main(sys.argv[1])
