"""A model on 127.0.0.1 for tools that want one: speaks four protocols, answers the same every time, notes who asked.

It repeats the last thing the user said. The word TOOL in that makes it call the tool's shell once; the word HOLD makes
it say a few words and then nothing more.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

from tests.support.loopback import anthropic, chat, gemini, responses

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType, TracebackType
    from typing import Self

    from tests.support.loopback.talk import Said

SAFE_SECONDS = 30
PROTOCOLS: dict[str, ModuleType] = {
    "/v1/messages": anthropic,
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
    ":streamGenerateContent": gemini,
    ":generateContent": gemini,
}


class Asked(NamedTuple):
    path: str
    body: dict[str, object]
    said: list[Said]
    """The conversation as the tool told it, oldest first."""


class Use(NamedTuple):
    """A call of one of the tool's own tools."""

    name: str
    given: dict[str, object]


class Model:
    def __init__(self, command: str | Callable[[str], str] = "echo from-the-shell") -> None:
        self.command = command
        """What it lets the tool's shell do; or how it finds that in what the user said last."""
        self.act: Callable[[list[Said]], str | Use | None] = lambda _: None
        """What it says or calls, by the conversation so far; None for its usual answer. For Anthropic's protocol."""
        self.asked: list[Asked] = []
        self.is_holding = threading.Event()
        """Set when an answer has begun that will not go on."""
        self._may_leave = threading.Event()

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door_to(self))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._may_leave.set()
        self._server.shutdown()
        self._thread.join(SAFE_SECONDS)
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def heard(self, words: str) -> list[Said]:
        """The whole conversation of the last request whose user said these words last."""
        found = [asked.said for asked in self.asked if words in last_words(asked.said)]
        assert found, f"nobody said {words!r}; what was said: {[last_words(asked.said)[-80:] for asked in self.asked]}"
        return found[-1]

    def hold(self) -> None:
        self.is_holding.set()
        self._may_leave.wait(SAFE_SECONDS)


def last_words(said: list[Said]) -> str:
    return next((piece.text for piece in reversed(said) if piece.role == "user"), "")


def has_result(said: list[Said]) -> bool:
    """Whether a tool has been called since the user spoke."""
    roles = [piece.role for piece in said]
    return "result" in roles[len(roles) - roles[::-1].index("user") :]


def _reply(model: Model, protocol: ModuleType, body: dict[str, object], said: list[Said]) -> bytes:
    words, data = last_words(said), b""
    act = model.act(said)
    if act is not None:
        data = anthropic.answer(act) if isinstance(act, str) else anthropic.use(*act)
    elif "TOOL" in words and not has_result(said) and protocol.shell(body):
        command = model.command if isinstance(model.command, str) else model.command(words)
        data = protocol.call(body, command)
    return data or bytes(protocol.answer(f"You said: {words}"))


def _door_to(model: Model) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("application/json", b'{"data":[],"models":[]}')

        def do_HEAD(self) -> None:
            self._answer("application/json", b"")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
            path = self.path.partition("?")[0]
            protocol = next((found for end, found in PROTOCOLS.items() if path.endswith(end)), None)
            if protocol is None:
                self._answer("application/json", b"{}")
                return
            said: list[Said] = protocol.said(body)
            model.asked.append(Asked(path, body, said))
            words = last_words(said)
            if not protocol.wants_stream(path, body):
                self._answer("application/json", protocol.whole(body, f"You said: {words}"))
            elif "HOLD" in words:
                self._answer("text/event-stream", protocol.beginning("I begin, and"), is_held=True)
            else:
                self._answer("text/event-stream", _reply(model, protocol, body, said))

        def _answer(self, kind: str, data: bytes, *, is_held: bool = False) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                self.wfile.write(data)
                if is_held:
                    self.wfile.flush()
                    model.hold()
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has left

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: what was asked is in the list."""

    return Door
