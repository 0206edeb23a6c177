"""The schemas are schemas, there is one for every command, and they name every code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from segue.dialects.ralph.arguments import VERBS
from segue.dialects.ralph.json_output import error_codes
from tests.support.ralph_project import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.stem)
def test_a_schema_is_one(file: Path) -> None:
    Draft202012Validator.check_schema(json.loads(file.read_bytes()))


def test_every_command_has_its_schema_and_so_have_errors() -> None:
    assert {file.stem for file in SCHEMAS.glob("*.json")} == {*[verb.replace(" ", "-") for verb in VERBS], "error"}


def test_the_schema_of_errors_names_every_code() -> None:
    schema = json.loads((SCHEMAS / "error.json").read_bytes())
    named = set(schema["properties"]["error"]["properties"]["code"]["enum"])
    assert named == {code for _, code, _ in error_codes()} | {
        "SESSION_REQUIRED",
        "STORY_REQUIRED",
        "TASK_OUTSIDE_STORY",
    }
