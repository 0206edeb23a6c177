"""What is published of a checkout."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT_OUT = (".ci/", "bench/")
UNTRACKED = (".env", "notes.txt", "src/segue/draft.py", "docs/private/plan.md")


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_source_distribution_holds_what_git_tracks_and_nothing_else(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    tracked = [name for name in git(ROOT, "ls-files").splitlines() if (ROOT / name).exists()]
    for name in tracked:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_bytes((ROOT / name).read_bytes())
    git(checkout, "init", "--quiet")
    git(checkout, "add", "--all", "--force")
    for name in UNTRACKED:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("mine alone\n", encoding="utf-8")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist"]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    (archive,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names == {name for name in tracked if not name.startswith(LEFT_OUT)} | {"PKG-INFO"}
