"""Infers the command that tests a project from its files.

Nothing is run for it, and the command is one of a few: no text of the project becomes part of it. What it then runs is
the project's own code, so the caller decides whether that is allowed.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from segue.durable.folder import Folder
from segue.errors import StorageError
from segue.process import which

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE_TARGET = re.compile(r"^test[ \t]*:(?!=)", re.MULTILINE)
_NO_TEST = "no test specified"
"""What npm writes into a new package.json."""
_PACKAGE_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
_PYTHON_PROJECTS = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py")
_PYTHON_TEST = re.compile(r"test_.*\.py|.*_test\.py")
_LARGEST_BYTES = 1 << 20
_MOST_FOLDERS = 100


class InferredVerification(NamedTuple):
    command: str
    source: str
    """The file that it was inferred from."""


def infer_verification(project: str, environ: Mapping[str, str]) -> InferredVerification | None:
    """The command for the first kind of tests that the project has, if the program for it is installed."""
    files = _Files(project)
    for find in (_make, _package, _pytest, _cargo, _go):
        found = find(files)
        if found is not None and _is_installed(found.command, project, environ):
            return found
    return None


class _Files:
    """The files at the root of a project. Links are not followed, and a file that cannot be read counts as empty."""

    def __init__(self, project: str) -> None:
        self._folder = Folder(project)

    def has(self, *path: str) -> bool:
        return os.path.lexists("/".join((self._folder.path, *path)))

    def first(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self.has(name)), "")

    def text(self, name: str) -> str:
        try:
            if os.lstat(self._folder.path_of(name)).st_size > _LARGEST_BYTES:
                return ""
            return self._folder.read(name).decode("utf-8", "replace")
        except (OSError, StorageError):
            return ""

    def has_python_tests(self) -> bool:
        """Whether a test file is at the root, or in `test` or `tests`, as far as a short search finds one."""
        folders = [self._folder.path, f"{self._folder.path}/tests", f"{self._folder.path}/test"]
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if _PYTHON_TEST.fullmatch(entry.name):
                        return True
                    if folder != folders[0] and len(folders) < _MOST_FOLDERS and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        return False


def _make(files: _Files) -> InferredVerification | None:
    name = files.first(_MAKEFILES)
    return InferredVerification("make test", name) if name and _MAKE_TARGET.search(files.text(name)) else None


def _package(files: _Files) -> InferredVerification | None:
    try:
        test = json.loads(files.text("package.json") or "null")["scripts"]["test"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(test, str) or not test.strip() or _NO_TEST in test:
        return None
    manager = next((command for lock, command in _PACKAGE_MANAGERS.items() if files.has(lock)), "npm")
    return InferredVerification(f"{manager} test", "package.json")


def _pytest(files: _Files) -> InferredVerification | None:
    name = files.first(_PYTHON_PROJECTS)
    if not name or not files.has_python_tests():
        return None
    for folder in (".venv", "venv"):
        if files.has(folder, "bin", "pytest"):
            return InferredVerification(f"{folder}/bin/python -m pytest -q", name)
    runner = next((f"{tool} run " for tool in ("uv", "poetry") if files.has(f"{tool}.lock")), "")
    return InferredVerification(f"{runner}pytest -q", name)


def _cargo(files: _Files) -> InferredVerification | None:
    return InferredVerification("cargo test --quiet", "Cargo.toml") if files.has("Cargo.toml") else None


def _go(files: _Files) -> InferredVerification | None:
    return InferredVerification("go test ./...", "go.mod") if files.has("go.mod") else None


def _is_installed(command: str, project: str, environ: Mapping[str, str]) -> bool:
    program = command.partition(" ")[0]
    return which(f"{project}/{program}" if "/" in program else program, environ) is not None
