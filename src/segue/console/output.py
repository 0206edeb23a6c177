"""All that the command writes. Nothing else touches the streams, so that all a terminal gets was made printable."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from segue.errors import StorageError, UsageError
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from segue.surface import Terminal

Span = str | tuple[str, str]
"""Text, or a style and text; the style is a word of `_STYLES`."""
Line = tuple[Span, ...]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_NARROW = 80
_CLEAR_LINE = "\r\x1b[K"


program = "segue"
"""Who complains: the name in front of every message."""


def prepare(name: str = "segue") -> None:
    """Make the streams take any text: what their encoding lacks is shown as an escape. Messages begin with `name`."""
    global program  # noqa: PLW0603 - a process is one command
    program = name
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            # A pipe or a file gets UTF-8 whatever the locale says: JSON has no other encoding.
            reconfigure(errors="backslashreplace", encoding=None if is_terminal(stream) else "utf-8")
    if (reconfigure := getattr(sys.stdin, "reconfigure", None)) is not None:
        reconfigure(errors="backslashreplace")
    if os.environ.get("SEGUE_DEBUG"):
        _show_log()


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def stdout_is_tty() -> bool:
    """Whether somebody reads the output as it comes."""
    return is_terminal(sys.stdout)


def line(*spans: Span) -> None:
    lines([spans])


def lines(content: Iterable[Line]) -> None:
    _write_all(_rendered(content, colour=_has_colour(sys.stdout)))


def text(content: str) -> None:
    """Text of many lines, made printable wherever it goes."""
    _write(_ended(printable(content)))


def write_raw(content: str) -> None:
    """What a file or a pipe must get to the letter. A terminal gets it made printable all the same."""
    pieces((content,), exactly=True)


def pieces(content: Iterable[str], *, exactly: bool = False) -> None:
    """Text as it comes, made printable; or to the letter, as `exact`."""
    _write_all(content if exactly and not stdout_is_tty() else map(printable, content))


def data(value: object) -> None:
    """A JSON document."""
    from segue.formats.transcript import json_document

    _write(json_document(value) + "\n")


def data_line(value: object) -> None:
    from segue.formats.transcript import json_line

    _write(json_line(value) + "\n")


def note(message: str) -> None:
    """Something good to know: on a terminal only, beside the output."""
    if is_terminal(sys.stderr):
        _write_beside(_render([(("dim", one_line(message)),)], colour=_has_colour(sys.stderr)))


def warn(message: str) -> None:
    _write_beside(f"{program}: {one_line(message)}\n")


def error(message: str, hint: str) -> None:
    label: Span = ("red", f"{program}:")
    spans: Line = (label, f" {one_line(message)}", f"; {one_line(hint)}" if hint else "")
    _write_beside(_render([spans], colour=_has_colour(sys.stderr)))


def error_data(value: object) -> None:
    from json import dumps  # an error must get out, whatever else is broken

    _write_beside(dumps(value) + "\n")


def write_stderr(content: str) -> None:
    """Many lines beside the output."""
    _write_beside(_ended(printable(content)))


def progress(message: str) -> None:
    """What is going on, in place, on a terminal only; an empty message clears it."""
    if is_terminal(sys.stderr):
        _write_beside(_CLEAR_LINE + one_line(message))


def confirm(question: str, *, yes: bool) -> bool:
    """Ask, where there is somebody to answer; whatever is not a clear yes is a no."""
    if yes:
        return True
    if not is_terminal(sys.stdin):
        raise UsageError("this needs a yes, and there is no terminal to ask at", hint="say --yes")
    return question_now(f"{question} [y/N] ").lower() in {"y", "yes"}


def stdin_is_tty() -> bool:
    """Whether there is somebody to answer."""
    return is_terminal(sys.stdin)


def can_move() -> bool:
    """Whether the terminal can do more than print line after line."""
    return os.environ.get("TERM", "dumb") != "dumb"


def question(text: str) -> str:
    """What a person answers, on one line; empty for an empty line, and where the input ends."""
    _write_beside(printable(text))
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        _write_beside("\n")
    return answer.strip()


def question_now(text: str) -> str:
    """As `question`, for what matters: words that were typed before it was asked are thrown away."""
    if is_terminal(sys.stdin):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    return question(text)


def conversation(history: Path | None = None) -> Terminal:
    """Where a conversation is held: at a person's terminal, or line by line in plain text."""
    from segue.chat.terminal import open_terminal

    if sys.stdout is None or sys.stderr is None:
        raise StorageError("cannot write the output: it is closed", hint="redirect it to a file, or to /dev/null")
    if sys.stdin is None:
        sys.stdin = TextIOWrapper(BytesIO())
    return open_terminal(sys.stdin, sys.stdout, sys.stderr, environ=os.environ, history=history, name=program)


def page(content: Iterable[Line]) -> None:
    """Lines through the pager on a terminal, plainly elsewhere."""
    if not stdout_is_tty():
        lines(content)
        return
    from segue.console.pager import send, shows_colour

    rendered = _rendered(content, colour=_has_colour(sys.stdout) and shows_colour())
    if not send(rendered):
        _write_all(rendered)


def table(titles: Sequence[str], rows: Sequence[Sequence[Span]], *, stretch: int, optional: Sequence[int] = ()) -> None:
    """Columns on a terminal, where `stretch` takes what room there is and `optional` ones go first; tabs elsewhere."""
    if not stdout_is_tty():
        lines(["\t".join(one_line(_text(cell)) for cell in row)] for row in rows)  # type: ignore[misc]  # a list will do
        return
    from segue.console.columns import fit

    lines(fit(titles, rows, stretch=stretch, optional=optional, width=terminal_width()))


def terminal_width() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _NARROW
    except (OSError, ValueError):
        return _NARROW


def _show_log() -> None:
    """Beside the output: where the unexpected came from, also where it cost only one session."""
    import logging

    class Beside(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write_stderr(self.format(record))

    log = logging.getLogger("segue")
    log.setLevel(logging.DEBUG)
    log.handlers[:] = [Beside()]
    log.propagate = False


def _has_colour(stream: TextIO | None) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _render(content: Iterable[Line], *, colour: bool) -> str:
    return "".join(_rendered(content, colour=colour))


def _rendered(content: Iterable[Line], *, colour: bool) -> Iterator[str]:
    return ("".join(_paint(span, colour=colour) for span in spans) + "\n" for spans in content)


def _paint(span: Span, *, colour: bool) -> str:
    shown = printable(_text(span))
    if isinstance(span, str) or not colour or not shown:
        return shown
    return f"\x1b[{_STYLES[span[0]]}m{shown}\x1b[0m"


def _text(span: Span) -> str:
    return span if isinstance(span, str) else span[1]


def _ended(content: str) -> str:
    return content if content.endswith("\n") else content + "\n"


def _write(content: str) -> None:
    _write_all((content,))


def _write_all(content: Iterable[str]) -> None:
    stream = sys.stdout
    if stream is None or stream.closed:
        raise StorageError("cannot write the output: it is closed", hint="redirect it to a file, or to /dev/null")
    for piece in content:
        stream.write(piece)
    stream.flush()


def _write_beside(content: str) -> None:
    """To stderr. Whoever does not read our complaints cannot be told so."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(content)
            sys.stderr.flush()
