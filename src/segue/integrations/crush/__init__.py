"""crush: a database `.crush/crush.db` in each project, and a list of the projects."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="crush", title="crush", proven_with="format of 0.96")
