"""`segue setup`, and the offer of `segue chat`: packages are really installed, from a folder instead of the network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from tests.support.cli import Segue

SDKS = ("anthropic", "openai", "google", "bpe_openai", "mcp")
KEY = {"ANTHROPIC_API_KEY": "k"}
CLIENT = """
from types import SimpleNamespace as N


class Timeout:
    def __init__(self, *_, **__): ...


class Events(list):
    def close(self): ...


class Anthropic:
    def __init__(self, **_):
        self.messages = self

    def create(self, *, model, messages, **_):
        usage = N(input_tokens=1, output_tokens=1, cache_read_input_tokens=0, cache_creation_input_tokens=0)
        return Events([
            N(type="message_start", message=N(model=model, usage=usage)),
            N(type="content_block_delta", delta=N(type="text_delta", text="The model answers.")),
            N(type="message_delta", delta=N(stop_reason="end_turn"), usage=usage),
        ])
"""


def wheel(folder: Path, package: str, module: str, code: str) -> None:
    """A wheel that pip takes, with one module."""
    folder.mkdir(exist_ok=True)
    info = f"{package}-99.0.dist-info"
    with zipfile.ZipFile(folder / f"{package}-99.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{module}/__init__.py", code)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 99.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


class Environment:
    """A virtual environment with Segue and all that it needs, and without the SDKs."""

    def __init__(self, root: Path, *, pip: bool = True) -> None:
        self.root = root / "env"
        self.home = root / "home"
        self.home.mkdir(parents=True)
        venv.create(self.root, with_pip=False)
        self.python = str(self.root / "bin" / "python")
        site = next(self.root.glob("lib/python*/site-packages"))
        left_out = (*SDKS, *(() if pip else ("pip", "ensurepip")))
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not entry.name.lower().startswith(left_out):
                (site / entry.name).symlink_to(entry)
        self.wheels = root / "wheels"
        wheel(self.wheels, "anthropic", "anthropic", CLIENT)
        wheel(self.wheels, "bpe_openai", "bpe_openai", "")

    def environ(self, **more: str) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "PYTHONPATH": str(Path(segue.__file__).parents[1]),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
            **more,
        }

    def run(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-m", "segue", *args],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=self.environ(**env),
            cwd=self.home,
        )

    def at_terminal(self, *args: str, **env: str) -> PtyProcess:
        return PtyProcess([self.python, "-m", "segue", *args], env=self.environ(**env), cwd=self.home)

    def has(self, module: str) -> bool:
        return subprocess.run([self.python, "-c", f"import {module}"], check=False, capture_output=True).returncode == 0


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def test_the_first_chat_installs_the_sdk_for_the_key_and_goes_on_with_the_model(environment: Environment) -> None:
    with environment.at_terminal("chat", **KEY) as at:
        at.wait_for("ANTHROPIC_API_KEY is set, but the anthropic SDK is not installed.")
        at.wait_for("Install anthropic>=2.8 into")
        at.type("y\r")
        at.wait_for("Successfully installed anthropic-99.0")
        at.wait_for("using anthropic/claude")
        at.type("Hello\r")
        at.wait_for("The model answers.")
        at.type("/exit\r")
        at.wait_for("segue resume")
    assert environment.has("anthropic")


def test_a_no_is_respected_and_remembered(environment: Environment) -> None:
    with environment.at_terminal("chat", **KEY) as at:
        at.wait_for("Install anthropic>=2.8 into")
        at.type("n\r")
        at.wait_for("run: segue setup anthropic")
        at.wait_for("using the offline agent")
        at.wait_for("offline>")
        at.type("/exit\r")
        at.wait_for("Empty session discarded.")
    with environment.at_terminal("chat", **KEY) as at:
        at.wait_for("run: segue setup anthropic")
        at.wait_for("offline>")
        assert "Install" not in at.seen
    assert not environment.has("anthropic")


def test_without_a_terminal_the_offline_agent_answers_and_one_line_says_what_to_run(environment: Environment) -> None:
    done = environment.run("chat", stdin="Hello\n/exit\n", **KEY)
    assert done.returncode == 0
    assert "to use a model, run: segue setup anthropic\n" in done.stderr
    assert "ANTHROPIC_API_KEY is set, but the anthropic SDK is not installed" in done.stderr
    assert "pip" not in done.stderr


def test_setup_installs_into_the_environment_of_segue_and_lists_it(environment: Environment) -> None:
    before = json.loads(environment.run("setup", "--json", **KEY).stdout)
    assert [(one["name"], one["version"], one["key"]) for one in before][:2] == [
        ("anthropic", None, "ANTHROPIC_API_KEY"),
        ("openai", None, None),
    ]
    done = environment.run("setup", "anthropic", "--yes")
    assert (done.returncode, done.stdout) == (0, "anthropic is installed\n"), done
    assert environment.has("anthropic")
    again = json.loads(environment.run("setup", "anthropic", "--json").stdout)
    assert [(one["name"], one["version"]) for one in again] == [("anthropic", "99.0")]
    assert environment.run("setup", "anthropic").returncode == 0
    assert "anthropic\t99.0" in environment.run("setup").stdout


def test_setup_with_yes_and_without_a_name_installs_what_there_are_keys_for(environment: Environment) -> None:
    done = environment.run("setup", "--yes", **KEY)
    assert done.returncode == 0, done
    assert (environment.has("anthropic"), environment.has("bpe_openai")) == (True, False)


def test_setup_needs_a_yes_and_without_a_terminal_the_flag(environment: Environment) -> None:
    done = environment.run("setup", "tokenizer")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    with environment.at_terminal("setup", "tokenizer") as at:
        at.wait_for("Install bpe-openai>=0.1.4")
        at.type("n\r")
        assert at.process.wait() == 1
    assert not environment.has("bpe_openai")


def test_what_cannot_be_installed_is_told_with_the_words_of_the_installer(environment: Environment) -> None:
    done = environment.run("setup", "mcp", "--yes")
    assert done.returncode == 7
    assert "mcp cannot be installed" in done.stderr
    assert "No matching distribution found for mcp" in done.stderr


def test_a_program_in_the_current_folder_has_no_say(environment: Environment) -> None:
    (environment.home / "pip.py").write_text("raise SystemExit('caught')\n")
    assert environment.run("setup", "tokenizer", "--yes").returncode == 0


def test_without_pip_uv_installs_into_the_same_environment(tmp_path: Path) -> None:
    environment = Environment(tmp_path, pip=False)
    bin = tmp_path / "bin"
    bin.mkdir()
    uv = bin / "uv"
    uv.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3" = "pip install --python" ] || exit 9\npython=$4\nshift 4\n'
        f'unset PYTHONPATH\nexec {sys.executable} -m pip --python "$python" install "$@"\n'
    )
    uv.chmod(0o755)
    done = environment.run("setup", "anthropic", "--yes", PATH=f"{bin}:/usr/bin:/bin")
    assert done.returncode == 0, done
    assert environment.has("anthropic")


def test_an_unknown_part_is_answered_with_those_there_are(cli: Segue) -> None:
    assert "there are anthropic, openai, google, mcp, tokenizer, postgres, codex, zed" in cli.refuses(3, "setup", "gpt")
