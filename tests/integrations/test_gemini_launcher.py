"""Gemini CLI gets a file; until the user has started it, another launch uses the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations import INTEGRATIONS, HandoverContext, LaunchOptions
from segue.testing.events import turn

if TYPE_CHECKING:
    from pathlib import Path


def test_a_launch_that_was_not_started_is_resumed_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "gemini").write_text("#!/bin/sh\n")
    (tmp_path / "gemini").chmod(0o700)
    options = LaunchOptions(cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    gemini = INTEGRATIONS["gemini"]
    launch = gemini.launch(HandoverContext(turns=(turn(1),)), options)
    assert gemini.resume(launch.native_id, options) == launch
    launch.run(options.environ)  # it removes the file
    assert gemini.resume(launch.native_id, options) is None
