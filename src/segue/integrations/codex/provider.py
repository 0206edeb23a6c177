"""The model provider that Codex uses: it resumes only sessions that name a provider which is configured."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.shared.mcp_config import ConfigFiles, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DEFAULT = "openai"
_MANAGED = Path("/etc/codex/managed_config.toml")
_SYSTEM = Path("/etc/codex/config.toml")
_KEY = "model_provider"


def find_provider(root: Path, arguments: Sequence[str]) -> str:
    """The provider for a start with these arguments of the user; `root` is the folder of Codex.

    From the first place that names one, in the order of Codex itself. A project cannot choose it.
    """
    files = ConfigFiles()
    given = dict(_settings(arguments))
    user = files.read(root / "config.toml")
    profile = _last(_values(arguments, "--profile", "-p")) or given.get("profile") or value_at(user, "profile")
    own = files.read(root / f"{profile}.config.toml") if isinstance(profile, str) and profile.isprintable() else None
    candidates = [
        value_at(files.read(_MANAGED), _KEY),
        _local_provider(arguments, user),
        given.get(_KEY),
        value_at(own, _KEY),
        value_at(user, "profiles", profile, _KEY) if isinstance(profile, str) else None,
        value_at(user, _KEY),
        value_at(files.read(_SYSTEM), _KEY),
    ]
    return next((name for name in candidates if isinstance(name, str) and name), _DEFAULT)


def _local_provider(arguments: Sequence[str], user: object) -> object:
    if "--oss" not in arguments:
        return None
    return _last(_values(arguments, "--local-provider")) or value_at(user, "oss_provider")


def _settings(arguments: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The settings among the arguments, `KEY=VALUE`: the value is TOML, or else a text."""
    for setting in _values(arguments, "--config", "-c"):
        key, _, value = setting.partition("=")
        try:
            yield key.strip(), tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            yield key.strip(), value.strip().strip("'\"")


def _values(arguments: Sequence[str], *names: str) -> Iterator[str]:
    """The values of an option, in the next argument, or in the same one."""
    for this, following in pairwise([*arguments, ""]):
        for name in names:
            if this == name:
                yield following
            elif this.startswith(f"{name}=") or (not name.startswith("--") and this.startswith(name)):
                yield this[len(name) :].removeprefix("=")


def _last(values: Iterator[str]) -> str:
    return next(reversed(list(values)), "")
