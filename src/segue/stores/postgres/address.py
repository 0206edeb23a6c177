"""The URL of a store in Postgres: what libpq gets of it, and what is ever shown of it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMES = ("postgresql", "postgres")
DEFAULT_SCHEMA = "segue"
DEFAULT_PORT = "5432"
LEASE_SECONDS = 30.0
TIMEOUT_SECONDS = 20.0

_EXAMPLE = "as in postgresql://alice@db.example:5432/sessions?schema=segue"
_ENCODE = "write @ : / ? & # and % in a user name, a password or a value as %40 %3A %2F %3F %26 %23 and %25"
_ENVIRONMENT = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
_OWN = ("schema", "space", "lease", "timeout")
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SPACE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})")
_SECONDS = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)(?P<unit>ms|s|m|min|)")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0}
_PORT = re.compile(r"\d{0,5}")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[^:]*))?")


class Address(Struct, frozen=True, kw_only=True):
    """Where the sessions are, and how to get there. Its `repr` and its `url` never contain a password."""

    url: str
    """For messages, listings and indexes: the same text for the same parameters, without secrets. It can be opened
    again: what libpq takes from PGHOST and its kind is part of it.
    """
    place: str
    """The same text for the same sessions, whichever role and options lead to them."""
    conninfo: str
    """All parameters for libpq, with the password."""
    schema: str = DEFAULT_SCHEMA
    space: str = ""
    lease_seconds: float = LEASE_SECONDS
    """How long a writer owns a session without a sign of life; it is renewed every third of it."""
    timeout_seconds: float = TIMEOUT_SECONDS
    """How long a statement may take, with reconnecting."""
    secrets: tuple[str, ...] = ()
    """What must not be shown in a message of the driver or the server."""
    hosts: int = 1
    """The number of hosts that are tried in turn."""
    user: str = ""
    """The role, if the URL or the environment names it."""
    wants_primary: bool = False
    """Whether only a server that accepts writes will do."""
    connect_timeout: float | None = None
    """`connect_timeout` of libpq, if the URL sets it."""

    def __repr__(self) -> str:
        return f"Address({self.url!r})"


def parse_address(text: str, environ: Mapping[str, str] | None = None) -> Address:
    """The address in a URL, with or without its scheme. UsageError explains what is wrong and how to write it.

    `environ` is the environment that libpq reads, by default that of this process.
    """
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in SCHEMES:
        rest = text
    if not rest.startswith("//"):
        raise UsageError("the URL of a Postgres database begins with postgresql://", hint=_EXAMPLE)
    if any(ord(character) < ord(" ") or character == "\x7f" for character in rest):
        raise UsageError("the URL of a Postgres database contains a control character", hint=_ENCODE)
    before, _, query = rest[2:].partition("?")
    place, _, database = before.partition("/")
    user, at, hosts = place.rpartition("@")
    if "@" in user or "@" in before[len(place) :] or (not at and "@" in query.partition("&")[0].partition("=")[0]):
        raise UsageError("the URL of a Postgres database has an @ or a / too many", hint=_ENCODE)
    name, _, password = user.partition(":")
    given = {"user": _decoded(name), "password": _decoded(password), "dbname": _decoded(database)}
    given["host"], given["port"] = _parse_hosts(hosts)
    given = {key: value for key, value in given.items() if value} | _parse_query(query)
    return _address(given | _parse_environ(given, os.environ if environ is None else environ))


def place_in(url: str) -> str:
    """The place that a URL names; the URL itself if it cannot be parsed."""
    try:
        return parse_address(url).place
    except UsageError:
        return url


def _parse_hosts(text: str) -> tuple[str, str]:
    """The hosts and the ports of `a:1,b,[::1]:2`, each joined by commas as libpq has them."""
    hosts, ports = [], []
    for one in text.split(","):
        match = _HOST.fullmatch(one)
        if match is None:
            raise UsageError(
                "a host in the URL of the Postgres database is malformed", hint=f"{_EXAMPLE}, or [::1]:5432"
            )
        if not _PORT.fullmatch(match["port"] or ""):
            raise UsageError("a port in the URL of the Postgres database is not a number", hint=_ENCODE)
        hosts.append(_decoded(match["host"].strip("[]")))
        ports.append(match["port"] or "")
    return ",".join(hosts), ",".join(ports) if any(ports) else ""


def _parse_query(text: str) -> dict[str, str]:
    """The parameters after the question mark."""
    given: dict[str, str] = {}
    for one in filter(None, text.split("&")):
        key, equals, value = one.partition("=")
        key, value = _decoded(key), _decoded(value)
        if not equals or not re.fullmatch(r"[a-z_]+", key):
            raise UsageError("a parameter in the URL of the Postgres database is not name=value", hint=_ENCODE)
        if key == "ssl" and value == "true":  # as libpq reads the URLs of JDBC
            key, value = "sslmode", "require"
        given[key] = value
    return given


def _parse_environ(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What libpq adds from the environment and what decides which database it is; a service comes before the rest."""
    if "service" in given:
        return {}
    if service := environ.get("PGSERVICE"):
        return {"service": service}
    return {key: value for key, name in _ENVIRONMENT.items() if key not in given and (value := environ.get(name))}


def _decoded(text: str) -> str:
    if _BAD_PERCENT.search(text):
        raise UsageError("the URL of the Postgres database has a % that is not followed by two digits", hint=_ENCODE)
    try:
        decoded = unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise UsageError("the URL of the Postgres database is not UTF-8 after decoding", hint=_ENCODE) from None
    if "\0" in decoded:
        raise UsageError("the URL of the Postgres database contains %00", hint=_ENCODE)
    return decoded


def _address(given: dict[str, str]) -> Address:
    own = {key: given.pop(key) for key in _OWN if key in given}
    schema, space = own.get("schema", DEFAULT_SCHEMA), own.get("space", "")
    if not _IDENTIFIER.fullmatch(schema) or schema.startswith("pg_"):
        raise UsageError(
            f"{schema!r:.80} cannot be the name of the schema",
            hint="use lower-case letters, digits and _, at most 63, beginning with a letter; not pg_…",
        )
    if space:
        check_space(space)
    lease = _parse_seconds(own.get("lease"), "lease", LEASE_SECONDS)
    timeout = _parse_seconds(own.get("timeout"), "timeout", TIMEOUT_SECONDS)
    shown = {
        "schema": schema if schema != DEFAULT_SCHEMA else "",
        "space": space,
        "lease": f"{lease:g}s" if lease != LEASE_SECONDS else "",
        "timeout": f"{timeout:g}s" if timeout != TIMEOUT_SECONDS else "",
    }
    return Address(
        url=_show(given, shown),
        place=_show(_identity(given), {"schema": shown["schema"], "space": space}),
        conninfo=" ".join(f"{key}={_quoted(value)}" for key, value in (_defaults(given, timeout) | given).items()),
        schema=schema,
        space=space,
        lease_seconds=lease,
        timeout_seconds=timeout,
        secrets=tuple(value for key, value in given.items() if key in _SECRETS and value),
        hosts=given.get("host", "").count(",") + 1,
        user=given.get("user", ""),
        wants_primary=given.get("target_session_attrs") in {"read-write", "primary"},
        connect_timeout=_connect_timeout(given.get("connect_timeout")),
    )


def check_space(name: str) -> None:
    """UsageError if this cannot be the name of a space."""
    if not _SPACE.fullmatch(name):
        raise UsageError(
            f"{name!r:.80} cannot be the name of a space", hint="use 1 to 63 letters, digits, '.', '_' or '-'"
        )


def _defaults(given: dict[str, str], timeout: float) -> dict[str, str]:
    """What libpq gets unless the URL, or a service, has it: a host that vanished is noticed in half of the time.

    So there is time left to ask another host.
    """
    found = {"application_name": "segue"}
    if "service" not in given:
        seconds = max(1, int(timeout / 8))
        found |= {"tcp_user_timeout": str(max(1, int(timeout * 500)))}
        found |= {"keepalives_idle": str(seconds), "keepalives_interval": str(seconds), "keepalives_count": "3"}
    return found


def _connect_timeout(text: str | None) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,6}", text):
        raise UsageError("connect_timeout in the URL is not a number of seconds", hint="as in connect_timeout=10")
    return float(text) or None


def _parse_seconds(text: str | None, what: str, default: float) -> float:
    if text is None:
        return default
    match = _SECONDS.fullmatch(text)
    seconds = float(match["number"]) * _UNITS[match["unit"]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f"{what}={text!r:.40} in the URL is not a duration", hint=f"as in {what}={default:g}s")
    return seconds


def _show(given: dict[str, str], own: dict[str, str]) -> str:
    """One text for one set of parameters; what can be left out is, and secrets always are."""
    rest = {key: value for key, value in given.items() if key not in _SECRETS}
    hosts = [host if host.startswith("/") else host.lower() for host in rest.pop("host", "").split(",")]
    ports = rest.pop("port", "").split(",")
    ports *= len(hosts) if len(ports) == 1 else 1
    user, database = rest.pop("user", ""), rest.pop("dbname", "")
    if len(ports) != len(hosts):  # for libpq to complain about
        ports = [""] * len(hosts)
    place = ",".join(_show_host(host, port) for host, port in zip(hosts, ports, strict=True))
    query = "&".join(
        f"{key}={quote(value, safe='/:,')}" for key, value in [*sorted(rest.items()), *own.items()] if value
    )
    at = f"{quote(user, safe='')}@" if user else ""
    return f"postgresql://{at}{place}/{quote(database, safe='')}" + (f"?{query}" if query else "")


def _identity(given: dict[str, str]) -> dict[str, str]:
    """The parameters that decide which database it is. Without a name it is that of the role, as for libpq."""
    database = given.get("dbname") or ("" if "service" in given else given.get("user", ""))
    names = ("host", "hostaddr", "port", "service", "servicefile")
    return {"dbname": database} | {key: given[key] for key in names if key in given}


def _show_host(host: str, port: str) -> str:
    shown = f"[{host}]" if ":" in host else quote(host, safe="")
    return f"{shown}:{port}" if port not in ("", DEFAULT_PORT) else shown


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
