"""An agent of the Claude Agent SDK whose sessions are in Segue: agent.py STORE SESSION QUESTION…

It needs no network and no key: a model on this machine answers. A SESSION of `-` begins one; call it again with the id
that it printed, here or on another machine, and it continues.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from segue.bridges.claude_agent_sdk import SegueSessionStore

if TYPE_CHECKING:
    from collections.abc import Iterator


@tool("get_weather", "Get the weather of a city.", {"city": str})
async def get_weather(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"In {given['city']} it is sunny."}]}


async def main(*arguments: str) -> None:
    store, session, *questions = arguments
    with serve_model() as url, tempfile.TemporaryDirectory() as config:
        options = ClaudeAgentOptions(
            session_store=SegueSessionStore(store, project="forecasts"),
            resume=None if session == "-" else session,
            mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[get_weather])},
            allowed_tools=["mcp__weather__get_weather"],
            setting_sources=[],
            env={
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CONFIG_DIR": config,  # as on a machine that has no session
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
        )
        for question in questions:
            async for message in query(prompt=question, options=options):
                if isinstance(message, ResultMessage):
                    print(message.result)
                    options.resume = message.session_id
        print("session:", options.resume)


# A model on this machine: it asks for the weather, and repeats what the tool returned.

TOOL = "mcp__weather__get_weather"


@contextmanager
def serve_model() -> Iterator[str]:
    """The URL of a model that answers as Anthropic's do."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        block = _answer(request["messages"]) if "messages" in request else {}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in _events(block):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def _answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    for message in reversed(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in reversed(blocks):
            if block["type"] == "tool_result":
                return {"type": "text", "text": block["content"][0]["text"]}
            if block["type"] == "text" and block["text"].endswith("?"):
                city = block["text"].rstrip("?").split()[-1]
                return {"type": "tool_use", "id": f"call_{uuid4().hex}", "name": TOOL, "input": {"city": city}}
    return {"type": "text", "text": "Ask me about the weather."}


def _events(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 20, "output_tokens": 1}
    message = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "scripted-1", "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if block["type"] == "text":
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        yield {"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if block["type"] == "text" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 8}}
    yield {"type": "message_stop"}


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
