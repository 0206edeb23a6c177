"""Starts Kilo: imports a document into its database with `kilo import`, for `kilo --session`."""

from __future__ import annotations

from segue.integrations.kilo.history import HISTORY
from segue.integrations.kilo.product import KILO
from segue.integrations.opencode.launcher import Launcher

_LAUNCHER = Launcher(KILO, HISTORY)
launch = _LAUNCHER.launch
resume = _LAUNCHER.resume
read_back = _LAUNCHER.read_back
