"""Zed: a database `threads.db`, with each thread as one JSON text, usually compressed. Messages have no times."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="zed", title="Zed", proven_with="format of 0.225")
