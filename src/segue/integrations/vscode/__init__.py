"""Copilot Chat in VS Code: one document, or one log of changes to it, per session, in the folder of each workspace."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="vscode", title="VS Code Copilot Chat", command="code", proven_with="format 3")
