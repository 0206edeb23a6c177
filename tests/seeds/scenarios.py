"""The scenarios of the specifications that Segue fulfils: the titles as they stand there, and what does it here."""

from __future__ import annotations

import re
from typing import NamedTuple


class Scenario(NamedTuple):
    title: str
    how: str
    """The command that a person types, or the call."""
    under: str = ""
    """The requirement it belongs to, where two scenarios of a specification have the same title."""
    also: str = ""
    """Another test that shows it, with a real tool that is not installed everywhere."""

    @property
    def shown(self) -> str:
        return f"{self.title} ({self.under})" if self.under else self.title

    @property
    def test(self) -> str:
        return f"test_{re.sub(r'[^a-z0-9]+', '_', self.shown.lower()).strip('_')}"


class Seed(NamedTuple):
    number: str
    tool: str
    about: str
    scenarios: tuple[Scenario, ...]

    @property
    def file(self) -> str:
        return f"tests/seeds/test_{self.number}_{self.tool.lower()}.py"


RALPH = Seed(
    "000",
    "Ralph",
    "sessions of `ralphtool agent`",
    (
        Scenario("Initialize new session", "`ralphtool agent session init --change NAME`"),
        Scenario("Session already exists for change", "`ralphtool agent session init` of a claimed change"),
        Scenario("Invalid change name", "`ralphtool agent session init` of a change that is not there"),
        Scenario(
            "Get next story",
            "`ralphtool agent session next-story`, then `context`, `task done` and `learn` in its story",
        ),
        Scenario("All stories complete", "`ralphtool agent session next-story`"),
        Scenario("Flush with learnings", "`ralphtool agent session flush`"),
        Scenario("Flush with patterns", "`ralphtool agent session flush`"),
        Scenario("Flush empty session", "`ralphtool agent session flush`"),
        Scenario("Missing session environment", "every `ralphtool agent` command but `session list`"),
        Scenario("Session file location", "`<temp>/ralph/sessions/{id}.json`"),
        Scenario("Session state contents", "`<temp>/ralph/sessions/{id}.json`"),
        Scenario("Learnings stored in session", "`ralphtool agent learn TEXT [--task ID]`"),
        Scenario("Patterns stored in session", "`ralphtool agent pattern NAME TEXT`"),
    ),
)
AURORA = Seed(
    "001",
    "Aurora",
    "session management of `aur spawn`",
    (
        Scenario("Create New Session", "`aur spawn --interactive`"),
        Scenario("Save Session State", "`aur spawn --interactive`, and every turn in it"),
        Scenario("Load Existing Session", "`aur spawn --resume session-123`"),
        Scenario("List All Sessions", "`aur spawn --list-sessions`"),
        Scenario("Filter Sessions by Agent", "`aur spawn --list-sessions --agent qa-test`"),
        Scenario("Filter Sessions by Status", "`aur spawn --list-sessions --status active`"),
        Scenario("Delete Single Session", "`aur spawn --delete-session session-123`"),
        Scenario("Clean Old Sessions", "`aur spawn --clean-sessions 30`"),
        Scenario("Automatic Cleanup", "`session_expiry_days` in `~/.aurora/config.json`, at every start"),
        Scenario("JSONL Format Structure", "`~/.aurora/spawn/sessions/{id}.jsonl`"),
        Scenario("Parse JSONL on Load", "`aur spawn --resume session-123`"),
        Scenario("Handle Corrupted Session File", "`aur spawn --resume session-123`, which asks"),
        Scenario("Write Lock During Save", "`aur spawn --resume` of a session in use"),
        Scenario("Read During Active Session", "`aur spawn --list-sessions` during a conversation"),
    ),
)
IN_CLAUDE = "tests/dialects/cortext/test_real_tools.py::test_slash_commands_in_claude_resume_and_stop_the_conversation"
CORTEXT = Seed(
    "002",
    "Cortext",
    "conversation sessions of `cortext`",
    (
        Scenario("Session state saved when conversation ends", "`/exit`, `/complete`, `cortext stop`"),
        Scenario("Session includes agent configuration", "`agent_config` in `.session/session.json`"),
        Scenario("Message history format", "`.session/messages.jsonl`"),
        Scenario("Explicit stop command", "`/workspace.stop-conversation`", also=IN_CLAUDE),
        Scenario(
            "Stop command feedback", "`/workspace.stop-conversation`, `cortext stop --summary TEXT`", also=IN_CLAUDE
        ),
        Scenario("List resumable conversations", "`/workspace.resume`", "Resume Command", also=IN_CLAUDE),
        Scenario("Resume by selection", "`/workspace.resume`, answered with a number or words", also=IN_CLAUDE),
        Scenario("Command loading on resume", "`/workspace.resume`, `cortext resume ID`", also=IN_CLAUDE),
        Scenario("Context injection on resume", "`/workspace.resume`, `cortext resume ID`", also=IN_CLAUDE),
        Scenario("Command prompt changes since original conversation", "`cortext resume ID`"),
        Scenario("No resumable conversations", "`/workspace.resume`, `cortext resume`"),
        Scenario("Resume by conversation ID", "`cortext resume 001-brainstorm-topic`"),
        Scenario("Resume by search", '`cortext resume "api design"`'),
        Scenario("List resumable conversations", "`cortext resume --list`", "CLI Resume Support"),
        Scenario("Status transitions", "`cortext stop`, `cortext resume`, `cortext complete`"),
        Scenario("Auto-pause on inactivity", "`idle_minutes` in `.workspace/config.toml`"),
        Scenario("Completed conversations", "`cortext resume ID`, which asks, or `--yes`"),
        Scenario("Session committed with conversation", "`cortext new`, `cortext stop`"),
        Scenario("Session-only updates", "`cortext stop` without new messages"),
    ),
)
GPTEL = Seed(
    "003",
    "gptel",
    "session trees of an Emacs user",
    (
        Scenario(
            "Valid session directory structure", "`segue-branch` in Emacs, `segue gptel new`, `segue gptel branch`"
        ),
        Scenario("Current branch symlink", "`segue-switch-branch` in Emacs, `segue gptel branch`"),
        Scenario("metadata.yml required fields", "`jf/gptel--read-session-metadata`, `segue gptel new`"),
        Scenario("Backward compatibility with scope-plan.yml", "`C-x C-f` in Emacs, `segue gptel open`"),
        Scenario("Backward compatibility with agent_type", "`C-x C-f` in Emacs, `segue gptel open`"),
        Scenario("Standalone session creation", '`jf/gptel-persistent-session`, `segue gptel new "API Integration"`'),
        Scenario(
            "Activities-integrated session creation",
            "`activities-ext-create` in Emacs, `segue gptel new NAME --activities FOLDER`",
        ),
        Scenario("Reopening existing session (has Local Variables)", "`C-x C-f` in Emacs, `segue gptel open`"),
        Scenario("Opening newly created session (no Local Variables)", "`C-x C-f` in Emacs, `segue gptel open`"),
        Scenario("Opening legacy session with preset.md", "`C-x C-f` and `C-x C-s` in Emacs, `segue gptel save`"),
        Scenario("Legacy session with unknown preset", "`C-x C-f` and `C-x C-s` in Emacs, `segue gptel save`"),
        Scenario("Fast guard for non-session files", "`C-x C-f` in Emacs, `paths.is_session_path`"),
        Scenario("Manual save via C-x C-s", "`C-x C-s` in Emacs, `segue gptel save PATH`"),
        Scenario("Save after temperature change", "`C-x C-s` in Emacs, `segue gptel save PATH --set temperature=0.8`"),
        Scenario("Save after system message modification", "`C-x C-s` in Emacs, `segue gptel save PATH`"),
        Scenario("Save with no changes from preset", "`C-x C-s` in Emacs, `segue gptel save PATH`"),
        Scenario("Registry lookup performance", "`jf/gptel--registry-get`, `BranchRegistry.find`"),
        Scenario("Filesystem as source of truth", "`jf/gptel--read-scope`, `lifecycle.Sessions.open`"),
        Scenario("Reading session metadata", "`jf/gptel--read-session-metadata`, `branch_files.find_metadata`"),
        Scenario("Reading scope configuration", "`jf/gptel--read-scope`, `branch_files.find_scope`"),
        Scenario("Fallback to scope-plan.yml", "`jf/gptel--read-session-metadata`, `branch_files.find_metadata`"),
        Scenario("Computing scope file path", "`jf/gptel--scope-file-path`, `paths.scope_file`"),
        Scenario("Computing metadata file path", "`jf/gptel--metadata-file-path`, `paths.metadata_file`"),
        Scenario("File name constants", "`emacs/segue-files.el`, `segue.dialects.gptel.format.names`"),
    ),
)
SOLEUR = Seed(
    "004",
    "Soleur",
    "sessions of `soleur`",
    (
        Scenario("New session creation", "`soleur spar`"),
        Scenario("Session contains message history", "`soleur spar`, and every message in it"),
        Scenario("Auto-save after agent response", "`soleur spar`, and every answer in it"),
        Scenario("Session file format", "`~/.soleur/sessions/{uuid}.json`"),
        Scenario("Load existing session", "`soleur load ID`"),
        Scenario("List sessions command", "`soleur sessions`"),
        Scenario("Empty session list", "`soleur sessions`"),
        Scenario("Resume last session prompt", "`soleur spar`, when there is a session"),
        Scenario("Fresh start option", "`soleur spar`, answered with no, or `--fresh`"),
        Scenario("Context from file", "`/context PATH`"),
        Scenario("Auto-detect README", "`soleur spar` next to a `README.md`"),
    ),
)
SEEDS = (RALPH, AURORA, CORTEXT, GPTEL, SOLEUR)


def section(seed: Seed) -> str:
    """What the page says of a seed."""
    rows = [
        f"| {one.shown} | {one.how} | `{seed.file}::{one.test}`{f', `{one.also}`' if one.also else ''} |"
        for one in seed.scenarios
    ]
    head = [f"## {seed.tool}: {seed.about}", "", "| scenario | command or API | test |", "|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"
