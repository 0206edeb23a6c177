"""What a provider or the network says when no answer comes: read in one place for every provider, told in plain words.

The SDKs name their errors alike (a status, a response with headers, a body) and sit on the same HTTP client, so they
are read by these names: nothing here imports any of them.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.chat.agent import AgentError
from segue.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal[
    "key",
    "credit",
    "model",
    "address",
    "rate",
    "length",
    "refused",
    "unreachable",
    "timeout",
    "server",
    "cut",
    "garbled",
]

PASSING: frozenset[Kind] = frozenset({"rate", "unreachable", "timeout", "server", "cut", "garbled"})
"""What may be over a moment later."""
REPEATED: frozenset[Kind] = PASSING - {"timeout", "garbled"}
"""Failures after which the request is repeated. After a timeout the user has waited long enough to be asked."""


class Provider(Struct, frozen=True, kw_only=True):
    """Whose answer it is, as far as messages speak of it."""

    title: str
    address: str
    key_advice: str
    models_advice: str


class ProviderFailure(Struct, frozen=True, kw_only=True):
    kind: Kind
    detail: str = ""
    """The message of the provider."""
    wait_seconds: float | None = None
    """When it asked to be left alone for so long."""


class CutOffError(Exception):
    """The stream ended before the answer did: there was no word of its end."""


_LENGTH = re.compile(
    r"context.?(length|size|window)|prompt is too long|too many (input )?tokens|maximum (context|number of tokens)"
    r"|token count.{0,40}exceeds|request_too_large",
    re.IGNORECASE,
)
_CREDIT = re.compile(r"insufficient_quota|credit balance|billing_error|exceeded your current quota", re.IGNORECASE)
_KEY = re.compile(r"api.?key.{0,20}(not valid|invalid|expired)|(invalid|incorrect).{0,9}api.?key", re.IGNORECASE)
_MODEL = re.compile(r"model", re.IGNORECASE)
_NO_SUCH = re.compile(r"not.?found|not exist|not supported|unknown|invalid model|not a valid model", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|resource_exhausted|too many requests", re.IGNORECASE)
_RETRY_DELAY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")


def read_failure(error: Exception) -> ProviderFailure:
    """The failure behind an exception of any SDK or HTTP client."""
    if isinstance(error, CutOffError):
        return ProviderFailure(kind="cut", detail=str(error))
    status = _status(error)
    detail = _detail(error)
    everything = f"{detail} {getattr(error, 'body', '')} {getattr(error, 'details', '')}"
    if status is None:
        return ProviderFailure(kind=_kind_without_status(error), detail=detail)
    return ProviderFailure(kind=_kind(status, everything), detail=detail, wait_seconds=_wait_seconds(error, everything))


def describe_failure(failure: ProviderFailure, provider: Provider, model: str, *, shown: bool) -> AgentError:
    """The same for the user: what happened, and what to do about it."""
    who, said = provider.title, f": {failure.detail}" if failure.detail else ""
    if shown:
        return AgentError(
            f"the answer of {who} broke off half-way{said}", hint="ask again; the question is saved", can_retry=True
        )
    message, hint = {
        "key": (f"{who} does not accept the key{said}", provider.key_advice),
        "credit": (f"{who} reports no credit{said}", "check the billing page of your account, or use another agent"),
        "model": (f"{who} has no model {model!r}{said}", provider.models_advice),
        "address": (f"there is no chat at {provider.address}{said}", "check the base URL; it usually ends in /v1"),
        "rate": (f"{who} asks for fewer requests{said}", f"try again {_later(failure.wait_seconds)}"),
        "length": (f"the conversation is too long for {model}{said}", "lower the token budget, or begin a new branch"),
        "refused": (f"{who} refuses the request{said}", "change the message, or use another model"),
        "unreachable": (
            f"{provider.address} cannot be reached{said}",
            "check the network and the address; the offline agent needs neither",
        ),
        "timeout": (f"{who} did not answer in time", "ask again, or allow more time"),
        "server": (f"{who} reports an internal error{said}", f"try again {_later(failure.wait_seconds)}"),
        "cut": (f"the connection to {who} broke before an answer arrived{said}", "ask again"),
        "garbled": (f"{who} sent a response that cannot be parsed{said}", "ask again, or check the base URL"),
    }[failure.kind]
    return AgentError(message, hint=hint, can_retry=failure.kind in PASSING)


def _kind(status: int, text: str) -> Kind:  # noqa: PLR0911 - one line a case
    match status:
        case 401 | 403:
            return "key"
        case 402:
            return "credit"
        case 413:
            return "length"
        case 408 | 504:
            return "timeout"
        case 429:
            return "credit" if _CREDIT.search(text) else "rate"
        case 404 | 405:
            return "model" if _MODEL.search(text) else "address"
        case 200:  # an error within the stream, after a good beginning
            return "rate" if _RATE.search(text) else "server"
        case _ if status >= 500:  # noqa: PLR2004 - by the rules of HTTP
            return "server"
    if _LENGTH.search(text):
        return "length"
    if _CREDIT.search(text):
        return "credit"
    if _KEY.search(text):
        return "key"
    return "model" if _MODEL.search(text) and _NO_SUCH.search(text) else "refused"


def _kind_without_status(error: Exception) -> Kind:
    names = {kind.__name__ for link in _chain(error) for kind in type(link).__mro__}
    if names & {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol"}:
        return "unreachable"
    if names & {"TimeoutException", "APITimeoutError"}:
        return "timeout"
    if names & {"TransportError", "OSError"}:
        return "cut"
    if names & {"JSONDecodeError", "UnicodeDecodeError", "ValidationError", "UnknownApiResponseError"}:
        return "garbled"
    return "server" if "APIError" in names else "garbled"


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return status if isinstance(status, int) else None


def _detail(error: Exception) -> str:
    """The provider's own sentence where there is one, on one line and not too long."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    root = list(_chain(error))[-1]
    text = said or getattr(error, "message", None) or str(root) or type(root).__name__
    if getattr(error, "message", None) == "Connection error." and root is not error:
        text = str(root) or type(root).__name__
    line = " ".join(str(text).split())
    return line if len(line) <= 200 else f"{line[:199]}…"  # noqa: PLR2004 - what one reads at a glance


def _wait_seconds(error: Exception, text: str) -> float | None:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    asked = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = asked.get(name, "")
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            pass
    try:
        return max(0.0, (parsedate_to_datetime(asked.get("retry-after", "")) - utc_now()).total_seconds())
    except (TypeError, ValueError):
        delay = _RETRY_DELAY.search(text)
        return float(delay[1]) if delay else None


def _later(seconds: float | None) -> str:
    if seconds is None:
        return "in a minute"
    whole = max(1, round(seconds))
    if whole < 120:  # noqa: PLR2004 - two minutes
        return f"in {whole} second{'s' if whole > 1 else ''}"
    return f"in {round(whole / 60)} minutes"
