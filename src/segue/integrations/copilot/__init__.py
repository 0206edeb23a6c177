"""GitHub Copilot CLI: events, one per line, in `session-state/<uuid>/events.jsonl`, and a name in `workspace.yaml`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(
    name="copilot",
    title="GitHub Copilot CLI",
    proven_with="1.0.102",
    carries=frozenset({"failed", "images"}),  # it shows images of results, but does not send them when it resumes
    can_preview=True,
    can_launch=True,
)
