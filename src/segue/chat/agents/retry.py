"""Asking a provider more than once, as long as nothing of an answer has been shown.

The SDKs can repeat requests themselves. They are told not to: theirs ends with the headers, so a stream that breaks
before its first word would be lost, one of them does not heed Retry-After, and none can be told how to wait.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from segue.chat.agent import AgentError, Piece, Usage
from segue.chat.agents.provider_errors import (
    REPEATED,
    CutOffError,
    Provider,
    ProviderFailure,
    describe_failure,
    read_failure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How long to wait for a provider, and how often to repeat a request."""

    timeout_seconds: float = 300.0
    """Without any data. A model that thinks may be silent for minutes."""
    connect_seconds: float = 10.0
    retries: int = 2
    longest_wait_seconds: float = 30.0
    """If a provider asks for a longer pause, the user decides what to do."""
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def pause_seconds(self, failure: ProviderFailure, attempt: int) -> float:
        return 0.5 * 2**attempt if failure.wait_seconds is None else failure.wait_seconds


def with_retries(
    ask: Callable[[Mapping[str, object]], Generator[Piece, None, None]],
    *,
    provider: Provider,
    model: str,
    patience: RetryPolicy,
    optional: Mapping[str, object],
) -> Generator[Piece, None, None]:
    """The pieces of the first attempt that brings any.

    `optional` are fields of the request that not every server and model knows. A refusal that speaks of one of them, or
    does not say what it is about, is answered by asking without.
    """
    attempt = 0
    while True:
        shown = False
        try:
            with closing(ask(optional)) as pieces:
                for piece in pieces:
                    shown = shown or not isinstance(piece, Usage)
                    yield piece
            if not shown:
                raise CutOffError("the answer is empty")
            return
        except AgentError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises, an agent raises AgentError and nothing else
            failure, cause = read_failure(error), error
        if failure.kind == "refused" and optional and not shown:
            named = {name for name in optional if name in failure.detail}
            optional = {name: value for name, value in optional.items() if named and name not in named}
            continue
        pause = patience.pause_seconds(failure, attempt)
        if (
            shown
            or failure.kind not in REPEATED
            or attempt == patience.retries
            or pause > patience.longest_wait_seconds
        ):
            raise describe_failure(failure, provider, model, shown=shown) from cause
        patience.sleep(pause)
        attempt += 1
