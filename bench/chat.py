"""A conversation over the bare client library, from Enter to the first character; and coming back to a long one."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from statistics import median, quantiles
from typing import TYPE_CHECKING, cast

import segue
from bench.measure import Row, compare, in_words, interleaved
from bench.workload import build_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from openai.types.chat import ChatCompletionMessageParam

    from bench.workload import Workplace
    from segue.surface import Idle, Suggestion

TURNS, LONG, SHORT = 1_000, 10_000, 10
ALLOWED_NS, GROWTH = 20e6, 1.5
ROUNDS = 30
LEAST = 0.001
"""What the table can show; the note says what it was, also if noise made it less than nothing."""
QUESTION = "And if the clock of the worker drifts?"
_ENTER = b"/exit\n"


def measure(place: Workplace) -> list[Row]:
    return [_first_character(place), _coming_back(place)]


def _first_character(place: Workplace) -> Row:
    """As a difference: what a model takes to begin is not ours to divide by."""
    name = (
        f"first character with {TURNS:,} turns, what it takes longer than the bare client / {ALLOWED_NS / 1e6:.0f} ms"
    )
    if find_spec("openai") is None:
        return Row(section="chat", name=name, ratio=None, note="openai is not installed")
    with _provider() as url:
        ours, theirs = _Talk(place, url).first_characters(max(place.sizes.starts, ROUNDS))
    # Pair by pair: a machine that is slow for a while is slow for both of a pair, and the rest is a small difference.
    low, middle, high = quantiles([one - other for one, other in zip(ours, theirs, strict=True)], n=4)
    return Row(
        section="chat",
        name=name,
        ratio=max(middle / ALLOWED_NS, LEAST),
        target=1.0,
        ours=in_words(median(ours)),
        theirs=in_words(median(theirs)),
        note=f"{middle / 1e6:.1f} ms longer; half of all pairs from {low / 1e6:.1f} to {high / 1e6:.1f} ms",
    )


def _coming_back(place: Workplace) -> Row:
    calls = [_resuming(_session(place, turns)) for turns in (LONG, SHORT)]
    long, short = interleaved(calls, place.sizes.starts)
    return compare("chat", f"segue resume --last of {LONG:,} turns / of {SHORT}", long, short, GROWTH)


def _session(place: Workplace, turns: int) -> str:
    """A session of exactly so many turns: other sections add to theirs."""
    root = place.folder / f"talk-{turns}"
    if not root.exists():
        build_session(root, "s", turns)
    return f"journal:{root}"


def _resuming(store: str) -> Callable[[], object]:
    environment = {**os.environ, "SEGUE_STORE": store}
    command = [sys.executable, "-m", "segue", "resume", "--last", "--agent", "offline"]
    return lambda: subprocess.run(command, check=True, env=environment, input=_ENTER, capture_output=True)


class _Talk:
    """The same question, asked in a session of many turns and by the client alone."""

    def __init__(self, place: Workplace, url: str) -> None:
        from openai import OpenAI

        self._library = segue.open(_session(place, TURNS))
        self._environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}
        self._cwd = place.folder
        self._client = OpenAI(base_url=url, api_key="k", max_retries=0, default_headers={"Connection": "close"})
        turns = self._library.load("s").turns
        self._messages = [*({"role": turn.role, "content": turn.content} for turn in turns)]
        self._messages.append({"role": "user", "content": QUESTION})

    def first_characters(self, rounds: int) -> tuple[list[int], list[int]]:
        from segue.chat.agents.resolver import AgentResolver
        from segue.chat.dialect import SEGUE
        from segue.chat.lifecycle import resume, run
        from segue.console.surface import open_surface

        terminal = _Typist(rounds, self._ask_bare)
        surface = replace(open_surface(terminal=terminal), cwd=self._cwd, environ=self._environ)
        resolver = AgentResolver(surface)
        conversation = resume(self._library, resolver, "s", agent="openai/m")
        run(self._library, conversation, resolver, dialect=SEGUE)
        assert len(terminal.times) == len(terminal.bare_times) == rounds
        return terminal.times, terminal.bare_times

    def _ask_bare(self) -> int:
        began = time.perf_counter_ns()
        chunks = self._client.chat.completions.create(
            model="m",
            messages=cast("Iterable[ChatCompletionMessageParam]", self._messages),
            stream=True,
            extra_body={"stream_options": {"include_usage": True}},
        )
        taken, answer = 0, ""
        for chunk in chunks:
            answer += "".join(choice.delta.content or "" for choice in chunk.choices)
            if answer and not taken:
                taken = time.perf_counter_ns() - began
        # The session grows with every question, so this does as well: both always send the same.
        self._messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": QUESTION}]
        return taken


class _Typist:
    """Presses Enter, looks at the clock when the first character comes, and asks the bare client in between."""

    is_interactive = True  # so that the status line is made as well

    def __init__(self, rounds: int, ask_bare: Callable[[], int]) -> None:
        self.times: list[int] = []
        self.bare_times: list[int] = []
        self._left = rounds
        self._ask_bare = ask_bare
        self._began = 0

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        del idle, session
        assert prompt
        assert status
        if not self._left:
            return None
        self._left -= 1
        self.bare_times.append(self._ask_bare())
        gc.collect()
        self._began = time.perf_counter_ns()
        return QUESTION

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        del waiting
        for number, _ in enumerate(pieces):
            if not number:
                self.times.append(time.perf_counter_ns() - self._began)

    def diff(self, text: str) -> None:
        raise AssertionError(text)

    def busy(self, what: str) -> AbstractContextManager[None]:
        raise AssertionError(what)

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        raise AssertionError(f"{question} {default} {safe}")

    def answer(self, question: str) -> str | None:
        raise AssertionError(question)

    def error(self, message: str, hint: str = "") -> None:
        raise AssertionError(f"{message}; {hint}")

    def say(self, text: str) -> None: ...

    def note(self, text: str) -> None: ...

    def clear(self) -> None: ...

    def copy(self, text: str) -> bool:
        del text
        return False

    def complete_with(self, complete: Callable[[str], Iterable[Suggestion]]) -> None: ...


class _Answering(BaseHTTPRequestHandler):
    """Takes the request and answers at once, in pieces, as OpenAI does."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in ("The ", "token ", "expires."):
            self._send({"delta": {"role": "assistant", "content": word}, "index": 0, "finish_reason": None})
        self._send({"delta": {}, "index": 0, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None: ...

    def _send(self, choice: dict[str, object]) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()


@contextmanager
def _provider() -> Iterator[str]:
    """In a process of its own, so that it does not share our interpreter."""
    server = HTTPServer(("127.0.0.1", 0), _Answering)
    child = os.fork()
    if child == 0:
        try:
            server.serve_forever()
        finally:
            os._exit(0)
    server.server_close()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
