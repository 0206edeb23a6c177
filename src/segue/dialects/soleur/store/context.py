"""The project context that a file of Soleur shows: the text of what is attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import DamagedError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.model import Attachment


def context_of(attachments: Iterable[Attachment], get_blob: Callable[[str], bytes]) -> str | None:
    """The text of what is attached: of one file as it is, of several each under its path, the latest of each path."""
    texts: dict[str, str] = {}
    for attachment in attachments:
        try:
            texts[attachment.path] = get_blob(attachment.hash).decode()
        except (NotFoundError, UsageError, DamagedError, UnicodeDecodeError):
            texts.pop(attachment.path, None)  # nothing that Soleur could show
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "\n\n".join(f"# {path}\n\n{text}" for path, text in texts.items())
