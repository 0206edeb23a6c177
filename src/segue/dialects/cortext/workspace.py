"""A workspace: its root, its configuration in `.workspace/config.toml`, and its types in `.workspace/types/`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from segue.console.settings import read_config as read_toml
from segue.durable.folder import Folder
from segue.errors import NotFoundError, UsageError
from segue.ids import slug
from segue.presets import load_presets

if TYPE_CHECKING:
    from segue.presets import Preset, Presets

MARKER = ".workspace"
CONFIG = "config.toml"
BUILT_IN = Path(__file__).parent / "types"
"""The types that every workspace has; a file of the same name in its own folder replaces one."""

_LONGEST_MINUTES = 7 * 24 * 60
_TEMPLATE = """\
# The AI tool for conversations, unless --tool names another: segue (the built-in chat), claude, codex, …
tool = "{tool}"
# Whether new and stopped conversations are committed to git.
commit = true
# A conversation in the built-in chat is paused after this many minutes without input; 0 means never.
idle_minutes = 5
"""


class WorkspaceConfig(Struct, frozen=True, kw_only=True):
    tool: str = ""
    """Empty for the built-in chat."""
    commit: bool = True
    idle_minutes: Annotated[
        float, Meta(ge=0, le=_LONGEST_MINUTES, description="a number of minutes, at most a week")
    ] = 5

    @property
    def idle_seconds(self) -> float:
        return self.idle_minutes * 60


class Workspace(Struct, frozen=True):
    """A folder with conversations."""

    root: Path
    config: WorkspaceConfig = WorkspaceConfig()

    @property
    def url(self) -> str:
        """The URL of the store with the conversations."""
        return f"cortext:{self.root}"

    @property
    def type_folders(self) -> tuple[Path, Path]:
        return self.root / MARKER / "types", BUILT_IN

    def types(self) -> Presets:
        """The types of conversations: first the workspace's own, then those that come with Segue."""
        return load_presets(self.type_folders, trusted=(BUILT_IN,))

    def get_type(self, name: str) -> Preset:
        """Raises NotFoundError, which names the types that exist."""
        types = self.types()
        found = types.find(name)
        if found is None:
            broken = next((f"; {one}" for one in types.problems if Path(one.path).stem == name), "")
            raise NotFoundError(
                f"there is no conversation type {name!r}{broken}",
                hint=f"there are {', '.join(types.names)}; {MARKER}/types/{slug(name) or 'TYPE'}.md adds one",
            )
        if slug(name) != name:
            raise UsageError(
                f"{name!r} cannot be a conversation type, since its document is named after it",
                hint="use small letters, digits and single dashes, at most 40",
            )
        return found


def find_workspace(cwd: Path) -> Workspace | None:
    """The workspace that a folder is in: the nearest folder, itself or above, with a `.workspace` folder."""
    root = next((folder for folder in (cwd, *cwd.parents) if (folder / MARKER).is_dir()), None)
    return None if root is None else Workspace(root, read_config(root / MARKER / CONFIG))


def make_workspace(root: Path, *, tool: str = "") -> Workspace:
    """Make a folder a workspace; an existing one stays unchanged."""
    folder = Folder(os.path.realpath(root)).sub(MARKER)
    folder.make()
    if not Path(folder.path_of(CONFIG)).exists():
        folder.create(CONFIG, _TEMPLATE.format(tool=tool or "segue").encode())
    place = Path(os.path.realpath(root))
    return Workspace(place, read_config(place / MARKER / CONFIG))


def read_config(path: Path) -> WorkspaceConfig:
    """The settings in the file; the defaults if there is none."""
    found = read_toml(path, WorkspaceConfig)
    if not found.tool.isprintable():
        raise UsageError(f"{path}: tool must be one line of text", hint="correct it, or remove the line")
    return replace(found, tool="") if found.tool == "segue" else found
