"""The URL of a store as text: its folder, and how it is shown without a password."""

from __future__ import annotations

import re

SERVERS = ("postgresql", "postgres")
"""The schemes of stores that are not files."""
HIDDEN = "***"
"""What is shown in the place of a password."""

_SETTING = re.compile(r"(?P<name>[^?&\s=]+)=(?:'(?:[^'\\]|\\.)*'|[^&\s]*)")
_NOT_A_PORT = re.compile(r"^(?P<host>[^:/@]*:?//[^:/?@\[]*):(?!\d*(?:[/?,]|$))[^/?@]+(?=[/?]|$)")
"""A user and a password without a host, which would be a host and its port."""
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")


def hide_password(url: str) -> str:
    """The text of a URL, or of what was meant to be one, without the password in it."""
    # A password may contain anything: it ends at the last @, and begins at the first colon after the scheme. Without
    # slashes after it, the first colon is not that of a scheme.
    before, at, after = url.rpartition("@")
    scheme, colon, rest = before.partition(":")
    if at and colon:
        user, second, _ = rest.partition(":")
        if not rest.startswith("/"):
            url = f"{scheme}:{HIDDEN}@{after}"
        elif second:
            url = f"{scheme}:{user}:{HIDDEN}@{after}"
    return _SETTING.sub(_hide_setting, _NOT_A_PORT.sub(rf"\g<host>:{HIDDEN}", url))


def _hide_setting(match: re.Match[str]) -> str:
    name = _ENCODED.sub(lambda code: chr(int(code[1], 16)), match["name"]).lower()
    return f"{match['name']}={HIDDEN}" if "pass" in name or "secret" in name else match[0]


def folder_of(url: str) -> str:
    """The path in the URL of a store of files; empty if it names a server."""
    scheme, _, path = url.partition(":")
    return "" if scheme in SERVERS else path
