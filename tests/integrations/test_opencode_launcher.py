"""How opencode is started: once to import, and with a model that it has, which its configuration names."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.integrations.kilo.product import KILO
from segue.integrations.opencode.config import find_model
from segue.integrations.opencode.product import OPENCODE
from tests.support.corpus_events import HOMES
from tests.support.integration_machine import EARLIER
from tests.support.opencode_claims import IMAGE, SEEN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STAND_IN = """#!/bin/sh
echo "$1" >> "$HOME/starts"
[ "$1" = import ] && cp "$2" "$HOME/imported.json"
exit 0
"""


def options(home: Path, **environ: str) -> LaunchOptions:
    project = home / "a" / "project"
    project.mkdir(parents=True, exist_ok=True)
    (home / "bin").mkdir(exist_ok=True)
    for name in ("opencode", "kilo"):
        (home / "bin" / name).write_text(STAND_IN, encoding="utf-8")
        (home / "bin" / name).chmod(0o700)
    found = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", **environ}
    return LaunchOptions(cwd=project, environ=found, prompt="Now?", headless=True)


def write(home: Path, files: Mapping[str, object]) -> None:
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


OWN = {"model": "own/m"}


@pytest.mark.parametrize(
    ("files", "environ", "model"),
    [
        ({}, {}, ""),
        ({".config/opencode/opencode.json": OWN}, {}, "own/m"),
        ({".config/opencode/opencode.jsonc": '{// mine\n"model": "own/c",}'}, {}, "own/c"),
        ({"config/opencode/opencode.json": OWN}, {"XDG_CONFIG_HOME": "config"}, "own/m"),
        ({".config/opencode/opencode.json": OWN, "a/project/opencode.json": {"model": "its/m"}}, {}, "its/m"),
        ({"a/opencode.jsonc": {"model": "above/m"}, "a/project/x": ""}, {}, "above/m"),
        ({"a/opencode.json": {"model": "above/m"}, "a/project/.git/x": ""}, {}, ""),
        ({"a/project/opencode.json": OWN, "a/project/.opencode/opencode.json": {"model": "in/m"}}, {}, "in/m"),
        ({"a/project/opencode.json": OWN}, {"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}, ""),
        ({"x.json": {"model": "named/m"}}, {"OPENCODE_CONFIG": "x.json"}, "named/m"),
        ({".config/opencode/opencode.json": OWN}, {"OPENCODE_CONFIG_CONTENT": '{"model": "text/m"}'}, "text/m"),
        ({".config/opencode/opencode.json": {"model": "{env:P}/m"}}, {"P": "p"}, "p/m"),
        ({".config/opencode/opencode.json": {"model": "{file:secret}"}}, {}, ""),
        ({".config/opencode/opencode.json": {"model": 7, "provider": []}}, {}, ""),
        ({".config/opencode/opencode.json": "no JSON"}, {}, ""),
        ({".config/opencode/opencode.json": {"agent": {"build": {"model": "agent/m"}}}}, {}, "agent/m"),
        ({".local/state/opencode/model.json": {"recent": [{"providerID": "r", "modelID": "a/m"}]}}, {}, "r/a/m"),
        ({".config/opencode/opencode.json": {"provider": {"p": {"models": {"m/1": {}}}}}}, {}, "p/m/1"),
    ],
)
def test_the_model_is_the_one_with_which_opencode_would_start(
    files: Mapping[str, object], environ: dict[str, str], model: str, tmp_path: Path
) -> None:
    write(tmp_path, files)
    assert find_model(OPENCODE, options(tmp_path, **environ)) == model


def test_without_configuration_the_model_is_that_of_the_newest_session(tmp_path: Path) -> None:
    shutil.copytree(HOMES / "opencode-undo-pending", tmp_path, dirs_exist_ok=True)
    assert find_model(OPENCODE, options(tmp_path)) == "fake/fake-model"
    with closing(sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db")) as database:
        database.execute("""UPDATE session SET model = '{"id":"none","providerID":"segue"}'""")
        database.commit()
    assert find_model(OPENCODE, options(tmp_path)) == ""


def test_kilo_has_files_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {".config/opencode/opencode.json": OWN, ".config/kilo/kilo.jsonc": {"model": "kilo/m"}})
    assert find_model(KILO, options(tmp_path)) == "kilo/m"
    write(tmp_path, {"a/project/.kilo/kilo.json": {"model": "in/m"}})
    assert find_model(KILO, options(tmp_path)) == "in/m"


@pytest.mark.parametrize("name", ["opencode", "kilo"])
def test_a_hand_over_starts_the_tool_once_to_import_and_reading_back_never(name: str, tmp_path: Path) -> None:
    write(tmp_path, {f".config/{name}/{name}.json": OWN})
    how = options(tmp_path)
    launch = INTEGRATIONS[name].launch(EARLIER, how)
    found = INTEGRATIONS[name].read_back(launch, how)
    assert [damage.reason for damage in found.damages] == [f"{name} does not have this session"]
    assert INTEGRATIONS[name].resume(launch.native_id, how) is None
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "import\n"
    document = json.loads((tmp_path / "imported.json").read_text(encoding="utf-8"))
    assert {message["info"]["agent"] for message in document["messages"]} == {"opencode": {"build"}, "kilo": {"code"}}[
        name
    ]
    assert list((tmp_path / f".local/share/{name}/segue").iterdir()) == []
    assert launch.run(how.environ) == 0
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "import\nrun\n"


def test_a_database_that_cannot_be_read_is_the_reason_why_nothing_came_back(tmp_path: Path) -> None:
    write(tmp_path, {".local/share/opencode/opencode.db": "no database" * 100})
    found = INTEGRATIONS["opencode"].read_back("ses_1", options(tmp_path))
    assert "file is not a database" in found.damages[0].reason


def test_images_and_failures_are_in_the_document(tmp_path: Path) -> None:
    write(tmp_path, {".config/opencode/opencode.json": OWN})
    INTEGRATIONS["opencode"].launch(SEEN, options(tmp_path))
    document = json.loads((tmp_path / "imported.json").read_text(encoding="utf-8"))
    parts = [part for message in document["messages"] for part in message["parts"]]
    states = [part["state"] for part in parts if part["type"] == "tool"]
    url = f"data:image/png;base64,{IMAGE}"
    assert [part["url"] for part in parts if part["type"] == "file"] == [url]
    assert [state["status"] for state in states] == ["completed", "error"]
    assert [image["url"] for image in states[0]["attachments"]] == [url]
    assert states[1]["error"] == "no such file"
    ids = [part["id"] for part in parts] + [image["id"] for image in states[0]["attachments"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("headless", [True, False])
def test_without_any_model_a_prompt_comes_with_the_conversation_in_words(
    headless: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """For the session would name a model that opencode does not have; without a prompt, its screen chooses one."""
    launch = INTEGRATIONS["opencode"].launch(EARLIER, replace(options(tmp_path), headless=headless))
    assert json.loads((tmp_path / "imported.json").read_text(encoding="utf-8"))["messages"] == []
    assert "Why does login fail?" in (launch.stdin or launch.argv[-1])
    INTEGRATIONS["opencode"].launch(EARLIER, replace(options(tmp_path), headless=False, prompt=""))
    assert len(json.loads((tmp_path / "imported.json").read_text(encoding="utf-8"))["messages"]) > 3
