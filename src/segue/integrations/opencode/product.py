"""The tools that store sessions like opencode: opencode itself, and what is made from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class Product(Struct, frozen=True, kw_only=True):
    """One of them: they differ in the names of files, folders and environment variables."""

    name: str
    """The name of its integration and program, of its folders, and the start of the name of its databases."""
    config_names: tuple[str, ...]
    """The names of its configuration files, without a suffix; the last one decides."""
    config_folders: tuple[str, ...]
    """The folders in a project, and in the home folder, that have such files."""
    agent: str
    """The name of the agent that it uses by itself."""

    def variable(self, name: str, environ: Mapping[str, str]) -> str:
        """The value of an environment variable that starts with the name of the product."""
        return environ.get(f"{self.name.upper()}_{name}", "")

    def data_folder(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / self.name

    def state_folder(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state") / self.name

    def config_folder(self, home: Path, environ: Mapping[str, str]) -> Path:
        return home / (environ.get("XDG_CONFIG_HOME") or ".config") / self.name

    def databases(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Its databases: the one that the user named, that of a release, and those of other channels."""
        folder = self.data_folder(home, environ)
        found = [path for path in sorted(folder.glob(f"{self.name}*.db")) if path.stem != self.name]
        found.insert(0, folder / f"{self.name}.db")
        named = self.variable("DB", environ)
        if named and named != ":memory:":
            found.insert(0, folder / named)
        return list(dict.fromkeys(found))


OPENCODE = Product(name="opencode", config_names=("opencode",), config_folders=(".opencode",), agent="build")
