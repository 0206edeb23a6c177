"""The optional packages of Segue: which are installed, and how to install the others where Segue itself runs.

Which packages an extra needs, and in which versions, is read from the metadata of the installed Segue.
"""

from __future__ import annotations

import importlib
import os
import re
import site
import sys
import sysconfig
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue import process
from segue.errors import MissingExtraError, SegueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from segue.surface import Surface

PURPOSES = {
    "anthropic": "chat with Claude",
    "openai": "chat with OpenAI, Ollama and compatible servers",
    "google": "chat with Gemini",
    "mcp": "tools of MCP servers",
    "tokenizer": "exact token counts",
    "postgres": "sessions in a Postgres database",
    "codex": "read compressed sessions of Codex",
    "zed": "read compressed threads of Zed",
}

_MARKER = re.compile(
    r"""^(?P<package>[^;]+?)\s*;\s*(?P<marker>.*?)(?:\s+and\s+)?extra\s*==\s*["'](?P<extra>[^"']+)["']$"""
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHOWN_LINES = 6


class Extra(Struct, frozen=True, kw_only=True):
    """One optional part of Segue."""

    name: str
    purpose: str
    requirements: tuple[str, ...]
    """As pip takes them."""
    version: str
    """Of the installed package; empty if it is not installed."""
    key: str
    """The environment variable with an API key for it that is set; empty if there is none."""


def find_extras(environ: Mapping[str, str]) -> list[Extra]:
    """All extras, in the order in which they are shown."""
    required = _requirements()
    return [
        Extra(
            name=name,
            purpose=purpose,
            requirements=required.get(name, ()),
            version=_version(required.get(name, ())),
            key=next((key for key in _keys(name) if environ.get(key)), ""),
        )
        for name, purpose in PURPOSES.items()
    ]


def install(extra: Extra, *, environ: Mapping[str, str], progress: Callable[[str], None]) -> None:
    """Install the packages of an extra into the environment that Segue runs in. MissingExtraError if that fails."""
    if not extra.requirements:
        raise _failed(extra, "this copy of Segue has no package metadata", hint="install Segue as a package first")
    commands = _commands(extra, environ)
    for command in commands:
        code, lines = _run(command, environ, progress)
        if code:
            said = "\n".join(lines[-_SHOWN_LINES:])
            raise _failed(extra, f"{Path(command[0]).name} ended with exit code {code}\n{said}".rstrip())
    if site.ENABLE_USER_SITE:  # where pip installs if the system folder is read-only, and which may be new
        site.addsitedir(site.getusersitepackages())
    importlib.invalidate_caches()
    if not _version(extra.requirements):
        raise _failed(extra, f"the installer reported success, but {sys.executable} does not find the package")


def offer(surface: Surface, name: str, *, remembers: bool = True) -> bool:
    """Ask at a terminal whether to install an extra, and do so; whether it is installed now.

    A no is remembered, if it is to be, so that the question comes once.
    """
    from segue.durable.folder import Folder

    terminal = surface.terminal
    extra = next(one for one in find_extras(surface.environ) if one.name == name)
    declined = Folder(os.path.realpath(surface.paths.state / "declined"))
    if not terminal.is_interactive or (remembers and Path(declined.path_of(name)).exists()):
        return False
    if extra.key:
        terminal.note(f"{extra.key} is set, but the {name} SDK is not installed.")
    question = f"Install {', '.join(extra.requirements)} into {sys.prefix}?"
    if not terminal.ask(question, default=True):
        if remembers:
            declined.make()
            with suppress(FileExistsError):
                declined.create(name, b"")
        return False
    try:
        install(extra, environ=surface.environ, progress=terminal.note)
    except InstallError as error:
        terminal.error(str(error), error.hint)
        return False
    return True


def _commands(extra: Extra, environ: Mapping[str, str]) -> list[list[str]]:
    """The commands that install it, by what this environment has: pip, uv, or a pip that Python brings along."""
    pip = [sys.executable, "-P", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    if sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists():
        raise _failed(
            extra,
            f"the system manages the packages of {sys.executable}",
            hint="install Segue in a virtual environment, and run this again there",
        )
    if find_spec("pip") is not None:
        return [[*pip, *extra.requirements]]
    if (uv := process.which("uv", environ)) is not None:
        return [[uv, "pip", "install", "--python", sys.executable, *extra.requirements]]
    if find_spec("ensurepip") is not None:
        return [[sys.executable, "-P", "-m", "ensurepip"], [*pip, *extra.requirements]]
    raise _failed(
        extra, f"{sys.executable} has no pip, and uv is not on the PATH", hint="install pip or uv, and run this again"
    )


def _run(
    command: Sequence[str], environ: Mapping[str, str], progress: Callable[[str], None]
) -> tuple[int | None, list[str]]:
    """Run an installer; its exit code, and what it printed.

    It starts in the folder of the environment, since a project must not influence where packages come from.
    """
    lines: list[str] = []

    def note(line: bytes) -> None:
        if text := line.decode("utf-8", "replace").strip():
            lines.append(text)
            progress(text)

    rest = b""
    with process.start(command, cwd=sys.prefix, environ=environ, merges_errors=True) as running:
        for data, _ in running.read():
            *whole, rest = (rest + data.replace(b"\r", b"\n")).split(b"\n")
            for line in whole:
                note(line)
    note(rest)
    return running.code, lines


def _failed(extra: Extra, reason: str, hint: str = "") -> InstallError:
    return InstallError(f"{extra.name} cannot be installed: {reason}", hint=hint)


class InstallError(MissingExtraError):
    """An optional package could not be installed."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        SegueError.__init__(self, message, hint=hint)
        self.extra = ""


def _requirements() -> dict[str, tuple[str, ...]]:
    """What each extra needs, as pip takes it."""
    try:
        listed = metadata.requires("segue") or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for line in listed:
        if (match := _MARKER.fullmatch(line)) is not None:
            marker = match["marker"].strip()
            text = f"{match['package']}; {marker}" if marker else match["package"]
            found[match["extra"]] = (*found.get(match["extra"], ()), text)
    return found


def _version(requirements: Sequence[str]) -> str:
    """The version of the first package, if all are installed."""
    versions: list[str] = []
    for requirement in requirements:
        name = _NAME.match(requirement)
        try:
            versions.append(metadata.version(name[0] if name else requirement))
        except metadata.PackageNotFoundError:
            return ""
    return versions[0] if versions else ""


def _keys(name: str) -> tuple[str, ...]:
    from segue.chat.agents import anthropic, google, openai

    return {"anthropic": anthropic.KEYS, "openai": openai.KEYS, "google": google.KEYS}.get(name, ())
