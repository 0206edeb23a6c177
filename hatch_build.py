"""Builds the source distribution of what git tracks: whatever else lies in a checkout is not ours to publish."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TrackedFilesOnly(BuildHookInterface):  # type: ignore[type-arg]  # the plugin has no configuration of its own
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the signature of hatchling
        if not Path(self.root, ".git").exists():
            return  # an unpacked source distribution: it holds nothing else
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached"],
            cwd=self.root,
            check=True,
            capture_output=True,
        )
        config = self.build_config
        names = [name for name in listed.stdout.decode().split("\0") if name and not config.path_is_excluded(name)]
        config.target_config["only-include"] = [name for name in names if Path(self.root, name).is_file()]
