"""Names of the files and folders of a session tree, and names for new sessions and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.ids import slug

if TYPE_CHECKING:
    from datetime import datetime

BRANCHES = "branches"
CURRENT = "current"
SESSION = "session.md"
METADATA = "metadata.yml"
SCOPE = "scope.yml"
BRANCH_METADATA = "branch-metadata.yml"
TOOLS = "tools.org"
SYSTEM_PROMPTS = "system-prompts.org"
TIMES = ".times"
"""Where the editor notes when something was said."""
LEGACY_METADATA = "scope-plan.yml"
"""Where older sessions store what is in `metadata.yml` now."""
LEGACY_PRESET = "preset.md"
"""Where older sessions store their settings and their scope."""

ACTIVITY = "session"
"""The name of the folder of a session inside an activity: its id is the one in `metadata.yml`."""

OURS = ".segue"
EVENTS = "events.jsonl"
"""The events of a session, in the folder `OURS` next to its branches."""

LINK = f"{BRANCHES}/"
"""The beginning of the target of `current`; the name of a branch follows."""

_MOMENT = "%Y%m%d%H%M%S"


def new_gptel_id(label: str, now: datetime) -> str:
    """`<slug>-<YYYYMMDDHHMMSS>`."""
    return f"{slug(label) or 'session'}-{now.strftime(_MOMENT)}"


def new_branch_name(label: str, now: datetime) -> str:
    """`<YYYYMMDDHHMMSS>-<slug>`."""
    return f"{now.strftime(_MOMENT)}-{slug(label) or 'branch'}"


def new_activity_name(label: str, now: datetime) -> str:
    """`<slug>-<YYYY-MM-DD>`."""
    return f"{slug(label) or 'activity'}-{now.strftime('%Y-%m-%d')}"
