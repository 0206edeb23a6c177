"""Configuration files are checked against a Struct, and an error names the setting and its line."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Meta, Struct

from segue.formats.config import ConfigProblem, InvalidConfigError, find_problems, line_of, parse_toml


class Table(Struct, frozen=True):
    url: str = ""


class Sample(Struct, frozen=True, kw_only=True):
    name: str = ""
    count: Annotated[int, Meta(ge=1, description="a number of turns")] = 3
    minutes: Annotated[float, Meta(ge=0)] = 5
    on: bool = False
    limit: Annotated[int, Meta(ge=1, description="a limit")] | None = None
    server: Table = Table()


def test_settings_that_are_missing_have_their_defaults() -> None:
    assert parse_toml(b"", Sample) == Sample()
    assert parse_toml(b"count = 7\n[server]\nurl = 'x'\n", Sample) == Sample(count=7, server=Table("x"))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("count = 'x'", 1, "count must be a number of turns, not 'x'"),
        ("\ncount = 0", 2, "count must be a number of turns, not 0"),
        ("minutes = -1", 1, "minutes must be a number, not -1"),
        ("minutes = nan", 1, "minutes must be a number, not nan"),
        ("limit = 0", 1, "limit must be a limit, not 0"),
        ("on = 1", 1, "on must be true or false, not 1"),
        ("count = true", 1, "count must be a number of turns, not true"),
        ("name = ['a']", 1, "name must be a text, not a list"),
        ("name = 'a'\n[server]\nurl = 7", 3, "server.url must be a text, not 7"),
        ("name = 'a'\n[server]\nother = 7", 3, "there is no setting 'server.other'"),
        ("server.url = 7", 1, "server.url must be a text, not 7"),
        ("server = 7", 1, "server must be a table, not 7"),
        ("\n\ncolour = 1", 3, "there is no setting 'colour'"),
        ("name =", 1, "it is not TOML: invalid value"),
    ],
)
def test_an_error_names_the_setting_its_line_and_what_it_takes(text: str, line: int, reason: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        parse_toml(text.encode(), Sample)
    assert (caught.value.line, str(caught.value)) == (line, reason)


def test_a_file_that_is_not_utf8_is_named_by_its_line() -> None:
    with pytest.raises(InvalidConfigError, match="it is not UTF-8") as caught:
        parse_toml(b"name = 'a'\nother = '\xff'\n", Sample)
    assert caught.value.line == 2


def test_all_problems_are_found_for_those_who_go_on_with_the_rest() -> None:
    found = list(find_problems({"name": 1, "count": 2, "x": 3}, Sample))
    assert [one.key for one in found] == ["name", "x"]
    assert found[1] == ConfigProblem(
        "x", "there is no setting 'x'", "there are name, count, minutes, on, limit, server"
    )


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ('{\n  "a": 1,\n  "spawner": {"x": 1}\n}', "spawner.x", 3),
        ("---\nname: x\nmodel: y\n---\n", "model", 3),
        ("model_x = 1\nmodel = 2\n", "model", 2),
        ("'quoted' = 1", "quoted", 1),
        ("[mcp.notes]\ncommand = 'x'", "mcp", 1),
        ("a = 1", "b", 0),
    ],
)
def test_the_line_of_a_key_is_found_in_toml_yaml_and_json(text: str, key: str, line: int) -> None:
    assert line_of(text, key) == line
