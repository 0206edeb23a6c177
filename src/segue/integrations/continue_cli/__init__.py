"""Continue, its program `cn` and its extensions: one JSON document per session in `~/.continue/sessions`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="continue", title="Continue", folder="continue_cli", command="cn", proven_with="1.5.47")
