"""The tests of a project are found in its files; no text of the project becomes part of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.runner.verification import infer_verification

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("make", "npm", "pnpm", "yarn", "bun", "pytest", "uv", "poetry", "cargo", "go")
NPM = '{"scripts": {"test": "jest"}}'


def infer(root: Path, files: dict[str, str], programs: tuple[str, ...] = PROGRAMS) -> tuple[str, str] | None:
    for name, text in {**files, **{f"bin/{program}": "#!/bin/sh\n" for program in programs}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        (root / name).chmod(0o755)
    return infer_verification(str(root), {"PATH": str(root / "bin")})


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n", "package.json": NPM}, "make test"),
        ({"GNUmakefile": "test:\n"}, "make test"),
        ({"package.json": NPM, "pyproject.toml": "", "test_x.py": ""}, "npm test"),
        ({"package.json": NPM, "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": NPM, "yarn.lock": ""}, "yarn test"),
        ({"package.json": NPM, "bun.lock": ""}, "bun run test"),
        ({"pyproject.toml": "", "test_x.py": ""}, "pytest -q"),
        ({"setup.cfg": "", "tests/unit/x_test.py": ""}, "pytest -q"),
        ({"pyproject.toml": "", "tests/test_x.py": "", "uv.lock": ""}, "uv run pytest -q"),
        ({"pyproject.toml": "", "test/test_x.py": "", "poetry.lock": ""}, "poetry run pytest -q"),
        (
            {"pytest.ini": "", "test_x.py": "", ".venv/bin/pytest": "", ".venv/bin/python": ""},
            ".venv/bin/python -m pytest -q",
        ),
        ({"Cargo.toml": ""}, "cargo test --quiet"),
        ({"go.mod": ""}, "go test ./..."),
    ],
)
def test_tests_are_found(tmp_path: Path, files: dict[str, str], command: str) -> None:
    assert infer(tmp_path, files) == (command, next(iter(files)))


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"Makefile": "tests:\n\ttrue\ntest := x\n"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "[" * 100_000},
        {"package.json": '{"scripts": []}'},
        {"package.json": '{"scripts": {"test": 7}}'},
        {"package.json": f"{NPM}{' ' * 2_000_000}"},
        {"pyproject.toml": "", "tests/conftest.py": ""},
        {"test_x.py": ""},
    ],
)
def test_what_is_no_test_is_not_run(tmp_path: Path, files: dict[str, str]) -> None:
    assert infer(tmp_path, files) is None


def test_a_program_that_is_missing_and_a_link_are_passed_over(tmp_path: Path) -> None:
    assert infer(tmp_path, {"Cargo.toml": "", "go.mod": ""}, ("go",)) == ("go test ./...", "go.mod")
    (tmp_path / "elsewhere").write_text("test:\n", encoding="utf-8")
    (tmp_path / "Makefile").symlink_to(tmp_path / "elsewhere")
    assert infer(tmp_path, {}, ("make",)) == ("go test ./...", "go.mod")
