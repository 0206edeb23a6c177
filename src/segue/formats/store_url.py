"""The URL of a store as text: its folder, and how it is shown without a password."""

from __future__ import annotations

import re

SERVERS = ("postgresql", "postgres")
"""The schemes of stores that are not files."""
HIDDEN = "***"
"""What is shown in the place of a password."""

_USER = re.compile(r"^(?P<start>[^:@]*:/{0,2}[^:@/?]*):.*@", re.DOTALL)
"""From the first colon after the scheme to the last @: a password may contain anything."""
_SECRET = re.compile(r"(?i)(?P<name>[\w%]*pass(?:word|wd)?[\w%]*)=[^&\s]*")


def hide_password(url: str) -> str:
    """The text of a URL, or of what was meant to be one, without the password in it."""
    url = _USER.sub(rf"\g<start>:{HIDDEN}@", url)
    return _SECRET.sub(rf"\g<name>={HIDDEN}", url)


def folder_of(url: str) -> str:
    """The path in the URL of a store of files; empty if it names a server."""
    scheme, _, path = url.partition(":")
    return "" if scheme in SERVERS else path
