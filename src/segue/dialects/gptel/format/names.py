"""What the files and folders of a session tree are called, and how new sessions and branches are named."""

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
LEGACY_METADATA = "scope-plan.yml"
"""Where older sessions keep what `metadata.yml` holds now."""
LEGACY_PRESET = "preset.md"
"""Where older sessions keep their settings and their scope."""

ACTIVITY = "session"
"""What the folder of a session inside an activity is called: its id is the one in `metadata.yml`."""

OURS = ".segue"
EVENTS = "events.jsonl"
"""The events of a session, in the folder `OURS` beside its branches."""

LINK = f"{BRANCHES}/"
"""What the target of `current` begins with; the name of a branch follows."""

_MOMENT = "%Y%m%d%H%M%S"


def new_gptel_id(label: str, now: datetime) -> str:
    """`<slug>-<YYYYMMDDHHMMSS>`."""
    return f"{slug(label) or 'session'}-{now.strftime(_MOMENT)}"


def new_branch_name(label: str, now: datetime) -> str:
    """`<YYYYMMDDHHMMSS>-<slug>`."""
    return f"{now.strftime(_MOMENT)}-{slug(label) or 'branch'}"
