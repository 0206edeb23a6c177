"""The project context in a file of Soleur: the text of the attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import DamagedError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.model import Attachment


def context_of(attachments: Iterable[Attachment], get_blob: Callable[[str], bytes]) -> str | None:
    """The text of one attachment, or of several, each under its path; only the latest of each path."""
    texts: dict[str, str] = {}
    for attachment in attachments:
        try:
            texts[attachment.path] = get_blob(attachment.hash).decode()
        except (NotFoundError, UsageError, DamagedError, UnicodeDecodeError):
            texts.pop(attachment.path, None)  # Soleur could not show it
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "\n\n".join(f"# {path}\n\n{text}" for path, text in texts.items())
