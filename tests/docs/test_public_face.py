"""Claims about the public API: `segue`, `segue.aio` and `segue.testing` have the names that docs/library.md lists."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import rlcompleter
import subprocess
import sys
from pathlib import Path

import pytest

import segue
import segue.aio
import segue.testing
from segue import errors
from tests.docs.pages import GUIDES, ROOT, blocks, name_of

PUBLIC = [name for name in segue.__all__ if not name.startswith("__")]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(segue, name))]
FACE = {"segue", "segue.aio", "segue.testing"}
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def listed_names() -> dict[str, list[str]]:
    """The names in the tables under "All names", by module."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in PAGE.partition("## All names\n")[2].splitlines():
        if head := re.match(r"\| in `([\w.]+)` \|", line):
            names = found.setdefault(head[1], [])
        elif row := re.match(r"\| [^|]+ \| (.+) \|$", line):
            names += re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row[1]))
    return found


def imported_modules(code: str) -> set[str]:
    """The modules of Segue that a piece of Python imports, or imports names from."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
    return {name for name in found if name.partition(".")[0] == "segue"}


def imported_for_type_checkers() -> dict[str, str]:
    """Each public name with its module, from the block under `TYPE_CHECKING`."""
    tree = ast.parse(Path(segue.__file__).read_bytes())
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("segue")
        for alias in node.names
    }


def drawn_tree() -> dict[str, str]:
    """Each error with its parent, from the tree in the docstring of the module."""
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


@pytest.mark.parametrize("module", sorted(FACE))
def test_the_page_lists_exactly_the_public_names(module: str) -> None:
    listed = listed_names()[module]
    assert sorted(listed) == sorted(set(listed)) == sorted(dir(importlib.import_module(module)))


@pytest.mark.parametrize("module", sorted(FACE))
def test_every_listed_name_can_be_imported(module: str) -> None:
    assert [name for name in listed_names()[module] if not hasattr(importlib.import_module(module), name)] == []


def test_every_name_in_the_text_of_the_page_is_public() -> None:
    named = set(re.findall(r"\bsegue((?:\.\w+)+)", re.sub(r"src/\S+", "", PAGE)))
    unknown = []
    for path in sorted(named):
        value: object = segue
        for name in path.removeprefix(".").split("."):
            value = getattr(value, name, None) if name in dir(value) else None
        if value is None:
            unknown.append(path)
    assert unknown == []


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_the_pages_import_nothing_that_is_internal(page: Path) -> None:
    code = "\n".join(block.text for block in blocks(page) if block.language == "python")
    assert {name for name in imported_modules(code) if not name.startswith("segue.bridges.")} <= FACE


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_the_pages_name_no_internal_module(page: Path) -> None:
    internal = {path.stem for path in Path(segue.__file__).parent.iterdir()} - {"aio", "bridges", "testing", "__init__"}
    text = page.read_text(encoding="utf-8")
    assert [name for name in re.findall(r"\bsegue\.(\w+)", text) if name in internal] == []


def test_completion_offers_the_public_names_alone() -> None:
    importlib.import_module("segue.library")  # which makes `library` an attribute of the package
    completer = rlcompleter.Completer({"segue": segue})
    offered: list[str] = []
    while (text := completer.complete("segue.", len(offered))) is not None:
        offered.append(re.sub(r"\W*$", "", text.removeprefix("segue.")))
    assert sorted(offered) == sorted(name for name in dir(segue) if not name.startswith("_"))


def test_the_export_list_is_sorted_and_names_nothing_twice() -> None:
    assert segue.__all__ == sorted(set(segue.__all__))


def test_the_export_list_is_what_the_modules_have() -> None:
    assert segue.__all__ == sorted(name for names in segue._HOMES.values() for name in names)


def test_type_checkers_see_the_same_modules() -> None:
    assert imported_for_type_checkers() == {name: home for home, names in segue._HOMES.items() for name in names}


@pytest.mark.parametrize("name", segue.__all__)
def test_every_public_name_is_that_of_its_module(name: str) -> None:
    home = importlib.import_module(next(home for home, names in segue._HOMES.items() if name in names))
    assert getattr(segue, name) is getattr(home, name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'session_manager'"):
        _ = segue.session_manager
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        _ = segue.testing.anything


def test_importing_segue_imports_neither_a_store_nor_the_command_line() -> None:
    code = "import segue, sys; print([name for name in sys.modules if name.startswith('segue.') or name == 'click'])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "[]"


def test_the_submodules_are_imported_when_they_are_used() -> None:
    code = "import segue; print(segue.aio.open.__name__, segue.testing.Harness.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "open Harness"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_has_a_docstring(name: str) -> None:
    assert (vars(getattr(segue, name)).get("__doc__") or "").strip()


def test_every_error_is_public() -> None:
    assert set(real_tree()) <= set(segue.__all__)


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    assert drawn_tree() == real_tree()


def test_there_is_one_root_of_errors() -> None:
    assert [name for name, parent in real_tree().items() if parent == "Exception"] == ["SegueError"]
