"""The SQL statements by name, from the `.sql` files of this package."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- (\w+): .*\n", re.MULTILINE)


def schema() -> str:
    return _read("schema.sql")


@cache
def query(name: str) -> str:
    _, *parts = _NAME.split(_read("queries.sql"))
    return dict(zip(parts[::2], parts[1::2], strict=True))[name].strip().rstrip(";")


@cache
def _read(name: str) -> str:
    return files("segue.index").joinpath(name).read_text(encoding="utf-8")
