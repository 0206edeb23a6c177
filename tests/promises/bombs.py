"""Small files that would grow: each maker puts one beside the sessions of the corpus, as large as it is told.

Run as a program, this lists, searches and copies all that the AI tools of a home have, with little memory and time.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from segue.errors import SegueError
from segue.index import Index
from segue.integrations.registry import INTEGRATIONS, integration_sources
from segue.model import accept_first, fold
from segue.transfer.import_sessions import import_session
from tests.support.long_lists import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 120
_NEW = "01a1df33-fc2a-7eb2-8416-00000000000{}"
_AT = '"timestamp":"2026-11-15T12:00:00Z"'


def _write(path: Path, *pieces: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(pieces)


def _claude(home: Path) -> Path:
    return home / ".claude/projects/-bomb/1296af37-a0fa-425f-8457-000000000000.jsonl"


def _codex(home: Path, number: int = 0, ending: str = "jsonl") -> Path:
    return home / f".codex/sessions/2026/11/15/rollout-2026-11-15T12-34-48-{_NEW.format(number)}.{ending}"


def _gemini(home: Path) -> Path:
    return home / ".gemini/tmp/bomb/chats/session-bomb.jsonl"


def _pi(home: Path) -> Path:
    return home / ".pi/agent/sessions/--bomb--/2026-11-15T12-49-13-751Z_bomb.jsonl"


def _unpacking(home: Path, pieces: Iterable[bytes]) -> None:
    import zstandard

    packer = zstandard.ZstdCompressor(level=9).compressobj()
    _write(_codex(home, ending="jsonl.zst"), *(packer.compress(piece) for piece in pieces), packer.flush())


def zeros_packed(home: Path, size: int) -> None:
    _unpacking(home, (bytes(1 << 20) for _ in range(size * 10)))


def newlines_packed(home: Path, size: int) -> None:
    _unpacking(home, (b"\n" * (1 << 20) for _ in range(size * 10)))


def answers_packed(home: Path, size: int) -> None:
    item = '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}' % ("a" * 1000)
    line = f'{{{_AT},"type":"response_item","payload":{item}}}\n'.encode()
    _unpacking(home, (line * 1000 for _ in range(size * 10)))


def newlines(home: Path, size: int) -> None:
    for path in (_claude(home), _codex(home), _gemini(home), _pi(home), home / ".aider.chat.history.md"):
        _write(path, *(b"\n" * (1 << 20) for _ in range(size // 20)))


def junk_lines(home: Path, size: int) -> None:
    for path in (_claude(home), _codex(home), _gemini(home), _pi(home)):
        _write(path, *(b"x\n" * (1 << 19) for _ in range(size // 20)))


def empty_lists(home: Path, size: int) -> None:
    line = b'{"type":"user","uuid":"u","payload":[' + b"[],[[]]," * (size * 6000) + b"0]}\n"
    for path in (_claude(home), _codex(home), _gemini(home), _pi(home)):
        _write(path, line)


def one_answer_in_many_pieces(home: Path, size: int) -> None:
    line = '{{"type":"assistant","uuid":"{}","message":{{"id":"m","content":[{{"type":"text","text":"x"}}]}},{}}}\n'
    _write(_claude(home), *(line.format(number, _AT).encode() for number in range(size * 200)))


def takes_back(home: Path, size: int) -> None:
    said = f'{{{_AT},"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"text":"x"}}]}}}}\n'
    back = f'{{{_AT},"type":"event_msg","payload":{{"type":"thread_rolled_back","num_turns":1}}}}\n'
    _write(_codex(home), said.encode() * (size * 100), (back + said).encode() * (size * 100))


def rewinds(home: Path, size: int) -> None:
    said = ('{{"id":"{}","type":"user","content":"x",' + _AT + "}}\n").format
    back = ('{{"$rewindTo":"{}"}}\n' + "{}").format
    _write(_gemini(home), *(said(number).encode() for number in range(size * 200)))
    with _gemini(home).open("ab") as file:
        file.writelines(back(size * 200 - 1, said(size * 200 - 1)).encode() for _ in range(size * 200))


def all_on_one_line(home: Path, size: int) -> None:
    messages = [{"id": str(number), "type": "user", "content": "x"} for number in range(size * 100)]
    _write(_gemini(home), json.dumps({"sessionId": "bomb", "messages": messages}).encode(), b"\n{}\n")


def begins_with_itself(home: Path, size: int) -> None:
    """Each of two says again and again that it begins with the other, and with itself."""
    for number in (0, 1):
        lines = [
            f'{{{_AT},"type":"session_meta","payload":{{"history_base":{{"thread_id":"{_NEW.format(other)}"}}}}}}\n'
            for other in (1 - number, number)
        ]
        _write(_codex(home, number), "".join(lines * size).encode())


def links_to_itself(home: Path, size: int) -> None:
    for folder in (home / ".codex/sessions", home / ".gemini/tmp", home / ".claude/projects"):
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(size):
            (folder / f"again-{number}").symlink_to(".")


def pipes(home: Path, size: int) -> None:
    for make in (_claude, _codex, _gemini, _pi):
        path = make(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
        for number in range(size):
            os.mkfifo(path.with_name(f"{number}-{path.name}"))


def starts_in_one_second(home: Path, size: int) -> None:
    _write(home / ".aider.chat.history.md", b"# aider chat started at 2026-11-15 12:00:00\n" * (size * 40))


def digits(home: Path, size: int) -> None:
    start = b"# aider chat started at 2026-11-15 12:00:00\n#### x\ny\n"
    _write(home / ".aider.chat.history.md", start, b"> Tokens: " + b"1" * (size * 2000) + b"\n")


_DATABASES = {"opencode": ".local/share/opencode/opencode-bomb.db", "llm": ".config/io.datasette.llm/logs.db"}


def _database(home: Path, name: str, script: str) -> None:
    path = home / (
        ".local/share/opencode/opencode-bomb.db" if name == "opencode" else ".config/io.datasette.llm/logs.db"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
        made.commit()


_OPENCODE = """
    CREATE TABLE session (id TEXT, time_updated INTEGER, directory TEXT, title TEXT);
    INSERT INTO session VALUES ('bomb', 1, '/', 'bomb');
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT {more});
    CREATE TABLE part (id TEXT, message_id TEXT {data});
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO message (id, session_id, time_created, data) SELECT i, 'bomb', i, '{{"role":"user"}}' FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO part (id, message_id) SELECT i, i FROM n;
"""
_TITLES = """
    CREATE TABLE session (id TEXT, time_updated INTEGER, directory TEXT,
        title TEXT GENERATED ALWAYS AS (hex(zeroblob(10000000))) VIRTUAL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO session (id, time_updated) SELECT i, i FROM n;
"""
_VIEW = """
    CREATE TABLE session (id TEXT, time_updated INTEGER, directory TEXT, title TEXT);
    INSERT INTO session VALUES ('bomb', 1, '/', 'bomb');
    CREATE VIEW message AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        SELECT i AS id, 'bomb' AS session_id, i AS time_created, '{{}}' AS data FROM n;
"""
_TEXT = """'{"type":"text","text":"' || hex(zeroblob(%d)) || '"}'"""


def computed_columns(home: Path, size: int) -> None:
    data = ", data TEXT GENERATED ALWAYS AS (" + _TEXT % 10_000_000 + ") VIRTUAL"
    _database(home, "opencode", _OPENCODE.format(count=size, more="", data=data))


def computed_titles(home: Path, size: int) -> None:
    _database(home, "opencode", _TITLES.format(count=size))


def a_view_without_end(home: Path, size: int) -> None:
    _database(home, "opencode", _VIEW.format(count=size * 1_000_000))


def one_text_in_every_row(home: Path, size: int) -> None:
    """A default is kept once, and is read in every row that came before it."""
    script = _OPENCODE.format(count=size * 10, more="", data="")
    text = '{"type":"text","text":"' + "x" * 1_000_000 + '"}'
    _database(home, "opencode", script + f"ALTER TABLE part ADD COLUMN data TEXT DEFAULT '{text}';")


def a_table_without_index(home: Path, size: int) -> None:
    _database(home, "opencode", _OPENCODE.format(count=size * 200, more="", data=", data TEXT"))


def one_fragment_a_thousand_times(home: Path, size: int) -> None:
    script = (Path(__file__).parents[1] / "corpus/llm/logs.sql").read_text(encoding="utf-8")
    _database(home, "llm", script)
    with closing(sqlite3.connect(home / ".config/io.datasette.llm/logs.db")) as made:
        made.execute("UPDATE parts SET text = ''")
        made.execute("DELETE FROM fragments")
        columns = [row[1] for row in made.execute("PRAGMA table_info(fragments)")]
        values = {"id": 1, "hash": "h", "content": "x" * 1_000_000}
        row = [values.get(name) for name in columns]
        made.execute(f"INSERT INTO fragments VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - ours
        parts = [number for (number,) in made.execute("SELECT id FROM parts")]
        names = [info[1] for info in made.execute("PRAGMA table_info(part_fragments)")]
        for part in parts:
            for order in range(size * 3):
                given = {"part_id": part, "fragment_id": 1}
                row = [given.get(name, order) for name in names]
                with suppress(sqlite3.IntegrityError):
                    made.execute(f"INSERT INTO part_fragments VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - ours
        made.commit()


MAKERS: tuple[Callable[[Path, int], None], ...] = (
    zeros_packed,
    newlines_packed,
    answers_packed,
    newlines,
    junk_lines,
    empty_lists,
    one_answer_in_many_pieces,
    takes_back,
    rewinds,
    all_on_one_line,
    begins_with_itself,
    links_to_itself,
    pipes,
    starts_in_one_second,
    digits,
    computed_columns,
    computed_titles,
    a_view_without_end,
    one_text_in_every_row,
    a_table_without_index,
    one_fragment_a_thousand_times,
)


def bound() -> None:
    """Whoever takes more than this is killed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def look_at_all(home: Path) -> None:
    """As `segue list`, `segue search` and `segue import` do; says which sessions can be read, a line each."""
    environ = {"PWD": str(home)}
    with Index(None) as catalog:
        catalog.refresh(integration_sources(home, environ), with_text=True)
        sound = {(entry.tool, entry.id) for entry in catalog.entries() if not entry.damage}
        catalog.search("hello")
    for history in INTEGRATIONS.values():
        with suppress(SegueError):
            for kept in history.sessions(home, environ):
                with suppress(SegueError):
                    import_session(history, kept, segue.open("memory:").store)
    sys.stdout.write("".join(f"{tool} {id}\n" for tool, id in sorted(sound)))


def fold_many(count: int) -> None:
    """A session of so many decisions, learnings and branches, checked and folded."""
    found = events(count)
    assert len(accept_first("s", found[: count + 1]).overview.decisions) == -(-count // 6)
    assert len(fold(found).decisions) == len(fold(found).branches) - 1 == count


if __name__ == "__main__":
    bound()
    if sys.argv[1] == "look":
        look_at_all(Path(sys.argv[2]))
    else:
        fold_many(int(sys.argv[2]))
