"""The columns of a session's row that a listing shows, from its overview; and heads from such rows."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec
from psycopg.types.json import Jsonb

from segue.model import EPOCH, Head, Turn, Unknown, parse_usage
from segue.queries import ListedSession
from segue.stores.postgres.lease import Holder
from segue.stores.postgres.text_columns import from_column, to_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.model import Event, Overview, Usage

_HEAD_COLUMNS = 15
"""Those that make a head; the last six are of the writer."""


def listed_columns(overview: Overview, usage: Usage) -> dict[str, object]:
    return {
        "agent": to_column(overview.agent),
        "title": to_column(overview.title),
        "tags": [to_column(tag) for tag in overview.tags],
        "status": overview.status,
        "branch": to_column(overview.branch),
        "turn_count": overview.turn_count,
        "tool": to_column(overview.tool),
        "project": to_column(overview.get_setting("project")),
        "folder": to_column(overview.get_setting("cwd")),
        "git_branch": to_column(overview.get_setting("git_branch")),
        "summary": to_column(overview.summary),
        "usage": Jsonb(usage.as_json()),
        **time_columns(overview.updated_at),
    }


def time_columns(updated_at: datetime) -> dict[str, object]:
    moment = updated_at.astimezone(UTC)
    return {"updated_at": moment, "recent_at": moment.replace(second=0, microsecond=0)}


def event_columns(events: Sequence[Event], bodies: Sequence[bytes]) -> dict[str, object]:
    return {
        "seqs": [event.seq for event in events],
        "ids": [to_column(event.id) for event in events],
        "kinds": [kind_of(event) for event in events],
        "branches": [to_column(event.branch) if isinstance(event, Turn) else None for event in events],
        "bodies": list(bodies),
    }


def kind_of(event: Event) -> str:
    return to_column(event.type) if isinstance(event, Unknown) else str(type(event).__struct_config__.tag)


def head_of_row(row: Sequence[object]) -> Head:
    """The head from the columns of `Statements.heads`. A row that another program spoiled says so itself."""
    id, agent, title, tags, status, branch, turn_count, created_at, updated_at, *holder = row
    values = {
        "id": id,
        "agent": from_column(str(agent)),
        "title": from_column(str(title)),
        "tags": tuple(map(from_column, tags)) if isinstance(tags, list) else (),
        "status": status if status != "active" or Holder(*holder[:6]).is_alive else "interrupted",  # type: ignore[arg-type]
        "branch": from_column(str(branch)),
        "turn_count": turn_count,
        "created_at": created_at,
        "updated_at": updated_at,
    }
    try:
        return msgspec.convert(values, Head, strict=False)
    except msgspec.ValidationError as error:
        reason = f"its row in the table of sessions is not valid ({error})"
        return Head(id=str(id), created_at=EPOCH, updated_at=EPOCH, damage=reason)


def listed_of_row(row: Sequence[Any]) -> ListedSession:
    """What a listing shows from the columns of `QueryStatements.page`."""
    tool, project, folder, summary, git_branch, usage = row[_HEAD_COLUMNS : _HEAD_COLUMNS + 6]
    return ListedSession(
        head=head_of_row(row[:_HEAD_COLUMNS]),
        tool=from_column(tool),
        project=from_column(project),
        folder=from_column(folder),
        summary=from_column(summary),
        git_branch=from_column(git_branch),
        usage=parse_usage(usage),
    )
