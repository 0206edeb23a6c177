"""All output of the commands. No other module writes to the streams, so that a terminal gets only printable text."""

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
"""Text, or a style and text; the style is a key of `_STYLES`."""
Line = tuple[Span, ...]


class Painted(str):
    """A line for a terminal that is rendered and printable already, colours included."""

    __slots__ = ()


_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_NARROW = 80
_CLEAR_LINE = "\r\x1b[K"


program = "segue"
"""The name at the beginning of every message."""


def prepare(name: str = "segue") -> None:
    """Make the streams accept any text, with escapes for what the encoding lacks. Messages begin with `name`."""
    global program  # noqa: PLW0603 - a process is one command
    program = name
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            # A pipe or a file gets UTF-8 in any locale: JSON has no other encoding.
            reconfigure(errors="backslashreplace", encoding=None if is_terminal(stream) else "utf-8")
    if (reconfigure := getattr(sys.stdin, "reconfigure", None)) is not None:
        reconfigure(errors="backslashreplace")
    if os.environ.get("SEGUE_DEBUG"):
        _show_log()


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def stdout_is_tty() -> bool:
    return is_terminal(sys.stdout)


def line(*spans: Span) -> None:
    lines([spans])


def lines(content: Iterable[Line]) -> None:
    _write_all(_rendered(content, colour=_has_colour(sys.stdout)))


def text(content: str) -> None:
    """Print text of several lines, made printable."""
    _write(_ended(printable(content)))


def write_raw(content: str) -> None:
    """Write text to a file or pipe without any change; a terminal gets it made printable."""
    write_chunks((content,), raw=True)


def write_chunks(content: Iterable[str], *, raw: bool = False) -> None:
    """Print text chunk by chunk, made printable; with `raw` as `write_raw` does."""
    _write_all(content if raw and not stdout_is_tty() else map(printable, content))


def data(value: object) -> None:
    """Print a JSON document."""
    from segue.formats.transcript import json_document

    _write(json_document(value) + "\n")


def data_line(value: object) -> None:
    from segue.formats.transcript import json_line

    _write(json_line(value) + "\n")


def note(message: str) -> None:
    """Print a remark to stderr, on a terminal only."""
    if is_terminal(sys.stderr):
        _write_to_stderr(_render([(("dim", one_line(message)),)], colour=_has_colour(sys.stderr)))


def warn(message: str) -> None:
    _write_to_stderr(f"{program}: {one_line(message)}\n")


def error(message: str, hint: str) -> None:
    label: Span = ("red", f"{program}:")
    spans: Line = (label, f" {one_line(message)}", f"; {one_line(hint)}" if hint else "")
    _write_to_stderr(_render([spans], colour=_has_colour(sys.stderr)))


def error_data(value: object) -> None:
    from json import dumps  # an error must be reported even if other imports fail

    _write_to_stderr(dumps(value) + "\n")


def write_stderr(content: str) -> None:
    """Write several lines to stderr."""
    _write_to_stderr(_ended(printable(content)))


def diff(content: str) -> None:
    """Write a unified diff to stderr, in colours on a terminal."""
    lines: list[Line] = [((_DIFF_STYLES.get(line[:1], "dim"), line),) for line in content.split("\n")]
    _write_to_stderr(_render(lines, colour=_has_colour(sys.stderr)))


def progress(message: str) -> None:
    """Show progress on one line, on a terminal only; an empty message clears it."""
    if is_terminal(sys.stderr):
        _write_to_stderr(_CLEAR_LINE + one_line(message))


def confirm(question: str, *, yes: bool) -> bool:
    """Ask for confirmation on a terminal. Anything but y or yes means no."""
    if yes:
        return True
    if not is_terminal(sys.stdin):
        raise UsageError("confirmation needed, but stdin is not a terminal", hint="use --yes")
    return prompt_after_flush(f"{question} [y/N] ").lower() in {"y", "yes"}


def stdin_is_tty() -> bool:
    return is_terminal(sys.stdin)


def has_cursor_control() -> bool:
    """Whether the terminal can move its cursor."""
    return os.environ.get("TERM", "dumb") != "dumb"


def prompt(text: str) -> str:
    """Ask for one line; the answer is empty for an empty line and at the end of the input."""
    _write_to_stderr(printable(text))
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        _write_to_stderr("\n")
    return answer.strip()


def choose(choices: Sequence[str], *, more: str = "") -> int | None:
    """Let the user choose one line by its number; its index, or None without a choice. `more` is shown after them."""
    lines = [f"  {number:>2}  {one_line(choice)}" for number, choice in enumerate(choices, 1)]
    write_stderr("\n".join([*lines, *([f"      {more}"] if more else [])]))
    while answer := prompt("Which one? (a number, Enter to cancel) "):
        if answer.isdecimal() and 1 <= int(answer) <= len(choices):
            return int(answer) - 1
    return None


def prompt_after_flush(text: str) -> str:
    """As `prompt`, for decisions: input typed before the question is discarded."""
    if is_terminal(sys.stdin):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    return prompt(text)


def conversation(history: Path | None = None) -> Terminal:
    """The terminal of a conversation: interactive, or plain text line by line."""
    from segue.chat.terminal import open_terminal

    if sys.stdout is None or sys.stderr is None:
        raise StorageError("cannot write the output: it is closed", hint="redirect it to a file, or to /dev/null")
    if sys.stdin is None:
        sys.stdin = TextIOWrapper(BytesIO())
    return open_terminal(sys.stdin, sys.stdout, sys.stderr, environ=os.environ, history=history, name=program)


def renders_markdown() -> bool:
    """Whether `page` shows rendered text: on a terminal with colours, and a pager that lets them through."""
    if not _has_colour(sys.stdout):
        return False
    from segue.console.pager import shows_colour

    return shows_colour()


def markdown(text: str) -> Iterator[Line]:
    """Markdown rendered for the terminal, for `page`."""
    from segue.chat.terminal.drawing import MarkdownPage

    page = MarkdownPage(terminal_width())
    for line in (*page.add(printable(text.replace("\r\n", "\n"))), *page.end()):
        yield (Painted(line),)


def page(content: Iterable[Line]) -> None:
    """Print lines through the pager on a terminal, directly elsewhere."""
    if not stdout_is_tty() or not has_cursor_control():
        lines(content)
        return
    from segue.console.pager import send, shows_colour

    rendered = _rendered(content, colour=_has_colour(sys.stdout) and shows_colour())
    if not send(rendered):
        _write_all(rendered)


def tabbed(rows: Iterable[Sequence[Span]]) -> None:
    """Print rows with tabs between their cells, for other programs."""
    lines(("\t".join(one_line(_text(cell)) for cell in row),) for row in rows)


def table(titles: Sequence[str], rows: Sequence[Sequence[Span]], *, stretch: int, optional: Sequence[int] = ()) -> None:
    """Print a table: on a terminal `stretch` takes the spare width and `optional` columns go first, elsewhere tabs."""
    if not stdout_is_tty():
        tabbed(rows)
        return
    from segue.console.columns import fit

    lines(fit(titles, rows, stretch=stretch, optional=optional, width=terminal_width()))


def terminal_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _NARROW
    except (OSError, ValueError):
        return _NARROW


def _show_log() -> None:
    """Log to stderr, also errors that affected only one session."""
    import logging

    class StderrHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write_stderr(self.format(record))

    log = logging.getLogger("segue")
    log.setLevel(logging.DEBUG)
    log.handlers[:] = [StderrHandler()]
    log.propagate = False


def _has_colour(stream: TextIO | None) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _render(content: Iterable[Line], *, colour: bool) -> str:
    return "".join(_rendered(content, colour=colour))


def _rendered(content: Iterable[Line], *, colour: bool) -> Iterator[str]:
    return ("".join(_paint(span, colour=colour) for span in spans) + "\n" for spans in content)


def _paint(span: Span, *, colour: bool) -> str:
    if isinstance(span, Painted):
        return span
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
    for chunk in content:
        stream.write(chunk)
    stream.flush()


def _write_to_stderr(content: str) -> None:
    """Write to stderr; a failure to do so cannot be reported."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(content)
            sys.stderr.flush()
