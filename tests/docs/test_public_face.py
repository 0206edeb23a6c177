"""Claims about what people import: `segue` itself, and the tree of its errors."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import segue
from segue import errors

PUBLIC = [name for name in segue.__all__ if not name.startswith("__")]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(segue, name))]


def imported_for_type_checkers() -> dict[str, str]:
    """Each public name with its home, as the block under `TYPE_CHECKING` says."""
    tree = ast.parse(Path(segue.__file__).read_bytes())
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("segue")
        for alias in node.names
    }


def drawn_tree() -> dict[str, str]:
    """Each error with its parent, as the picture in the docstring of the module shows it."""
    parents: list[tuple[int, str]] = []
    tree: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"([│├└─ ]*)(\w+Error)\b", line):
            depth, name = len(match[1]), match[2]
            while parents and parents[-1][0] >= depth:
                parents.pop()
            tree[name] = parents[-1][1] if parents else "Exception"
            parents.append((depth, name))
    return tree


def real_tree() -> dict[str, str]:
    return {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }


def test_the_export_list_is_sorted_and_names_nothing_twice() -> None:
    assert segue.__all__ == sorted(set(segue.__all__))


def test_the_export_list_is_what_is_found_at_home() -> None:
    assert segue.__all__ == sorted(name for names in segue._HOMES.values() for name in names)


def test_type_checkers_are_told_the_same_homes() -> None:
    told = imported_for_type_checkers()
    assert told == {name: home for home, names in segue._HOMES.items() for name in names}


@pytest.mark.parametrize("name", segue.__all__)
def test_every_public_name_is_what_its_home_has(name: str) -> None:
    home = importlib.import_module(next(home for home, names in segue._HOMES.items() if name in names))
    assert getattr(segue, name) is getattr(home, name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'session_manager'"):
        _ = segue.session_manager


def test_importing_segue_imports_neither_a_store_nor_the_command_line() -> None:
    code = "import segue, sys; print([name for name in sys.modules if name.startswith('segue.') or name == 'click'])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "[]"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_says_what_it_is(name: str) -> None:
    assert (vars(getattr(segue, name)).get("__doc__") or "").strip()


def test_every_error_is_public() -> None:
    assert set(real_tree()) <= set(segue.__all__)


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    assert drawn_tree() == real_tree()


def test_there_is_one_root_of_errors() -> None:
    assert [name for name, parent in real_tree().items() if parent == "Exception"] == ["SegueError"]
