"""Roo Code, an extension for VS Code: one folder per task."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="roo", title="Roo Code", proven_with="format of 3.52")
