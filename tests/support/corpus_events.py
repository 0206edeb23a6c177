"""What happens in a conversation with an AI tool, and whether it comes out of the sessions that real tools wrote."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.parts import has_part
from segue.integrations.registry import with_history
from tests.support.integration_homes import CORPUS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject, Turn

HOMES = CORPUS / "homes"


class ReadSession(NamedTuple):
    """A session of the corpus as it is read."""

    active: list[Turn]
    """From the first turn to the tip."""
    entries: list[TranscriptTurn]

    @property
    def others(self) -> list[Turn]:
        """The turns that are not on the way to the tip: rewound, undone, or of subagents."""
        names = {turn.id for turn in self.active}
        return [entry.turn for entry in self.entries if entry.turn.id not in names]

    def parts(self, kind: str) -> Iterator[tuple[Turn, JsonObject]]:
        for entry in self.entries:
            for part in entry.turn.parts:
                if part.get("type") == kind:
                    yield entry.turn, part


def _slash(session: ReadSession) -> bool:
    return any(turn.role == "user" and turn.content.startswith("/") and "\n" in turn.content for turn in session.active)


def _shell(session: ReadSession) -> bool:
    return any(turn.role == "user" and turn.content.startswith("!") for turn, _ in session.parts("tool_call"))


def _steering(session: ReadSession) -> bool:
    return any(turn.role == "user" and "the word STEERING" in turn.content for turn in session.active)


def _rewind(session: ReadSession) -> bool:
    return any(turn.role in {"user", "assistant"} for turn in _not_of_agents(session))


def _not_of_agents(session: ReadSession) -> list[Turn]:
    of_agents: set[str] = set()
    for entry in session.entries:
        if entry.side or entry.after in of_agents:
            of_agents.add(entry.turn.id)
    return [turn for turn in session.others if turn.id not in of_agents]


def _compaction(session: ReadSession) -> bool:
    """The summary is there, and so are the turns before it."""
    places = [at for at, turn in enumerate(session.active) if turn.role == "system" and has_part(turn, "summary")]
    return bool(places) and any(turn.role == "user" for turn in session.active[: places[0]])


def _subagent(session: ReadSession) -> bool:
    return any(entry.side.startswith("agent-") for entry in session.entries)


def _interrupt(session: ReadSession) -> bool:
    return any(entry.turn.partial for entry in session.entries)


def _image(session: ReadSession) -> bool:
    results = (part.get("images") for _, part in session.parts("tool_result"))
    return any(True for _ in session.parts("image")) or any(results)


def _file(session: ReadSession) -> bool:
    return any(part.get("content") for _, part in session.parts("file"))


def _failed(session: ReadSession) -> bool:
    return any(part.get("is_error") is True for _, part in session.parts("tool_result"))


def _parallel(session: ReadSession) -> bool:
    answered = {part.get("id") for _, part in session.parts("tool_result")}
    for entry in session.entries:
        calls = [part.get("id") for part in entry.turn.parts if part.get("type") == "tool_call"]
        if len(calls) > 1 and answered.issuperset(calls):
            return True
    return False


EVENTS: Mapping[str, Callable[[ReadSession], bool]] = {
    "slash command, with its body": _slash,
    "shell command of the user": _shell,
    "message while the tool works": _steering,
    "rewind or undo, as a branch": _rewind,
    "compaction, nothing erased": _compaction,
    "subagent, under its parent": _subagent,
    "interrupted answer": _interrupt,
    "image": _image,
    "attached file": _file,
    "failed call": _failed,
    "parallel calls": _parallel,
}


def read_corpus(tool: str, folder: Path) -> Iterator[ReadSession]:
    """Every session of a tool in the corpus; the homes are copied to the folder, since a database needs its own."""
    integration = with_history()[tool]
    for home in sorted(HOMES.glob(f"{tool}*")):
        if home.name != tool and not home.name.startswith(f"{tool}-"):
            continue
        place = folder / home.name
        if not place.exists():
            shutil.copytree(home, place)
        for session in integration.sessions(place, {}):
            builder, turns = integration.read(session)
            entries = list(turns)
            yield ReadSession(_path(entries, builder.tip), entries)


def _path(entries: list[TranscriptTurn], tip: str) -> list[Turn]:
    by_id = {entry.turn.id: entry for entry in reversed(entries)}
    found: list[Turn] = []
    while (entry := by_id.pop(tip, None)) is not None:
        found.append(entry.turn)
        tip = entry.after
    return found[::-1]


def find_events(tool: str, folder: Path) -> set[str]:
    sessions = list(read_corpus(tool, folder))
    return {name for name, is_found in EVENTS.items() if any(map(is_found, sessions))}


def render_table(folder: Path) -> str:
    """A table in Markdown: the events, the tools, and a mark for each that comes out of a session of that tool."""
    tools = [tool for tool in with_history() if any(HOMES.glob(f"{tool}*"))]
    found = {tool: find_events(tool, folder) for tool in tools}
    tools = [tool for tool in tools if found[tool]]
    head = ["| |" + "".join(f" {tool} |" for tool in tools), "|---|" + "---|" * len(tools)]
    rows = [f"| {name} |" + "".join(" ✓ |" if name in found[tool] else " |" for tool in tools) for name in EVENTS]
    return "\n".join([*head, *rows])


def replace_table(page: str, table: str) -> str:
    """The page with this table in place of the one that it has."""
    before, found, rest = page.partition(f"{_HEADING}\n")
    assert found, f"the page has no heading {_HEADING!r}"
    introduction, _, after = rest.partition("\n| |")
    _, _, following = after.partition("\n\n")
    return f"{before}{found}{introduction}\n{table}\n\n{following}"


_HEADING = "## What comes out"
