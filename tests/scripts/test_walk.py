"""`scripts/walk`: what a command passes through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "walk"


def test_a_walk_tells_what_is_entered_from_what_is_only_imported() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "ralph", "--json"], check=True, capture_output=True, text=True, timeout=60
    )
    (walk,) = json.loads(done.stdout)
    assert walk["entered"][0] == "segue/dialects/ralph/__init__.py"
    assert walk["packages"][0] == "segue/dialects/ralph"
    assert "segue/dialects/ralph/__main__.py" in set(walk["imported"]) - set(walk["entered"])
    assert walk["files_entered"] == len(walk["entered"]) == len(set(walk["entered"]))
    assert walk["packages_entered"] <= walk["files_entered"] <= walk["files_imported"]
