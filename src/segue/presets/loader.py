"""Loads presets from folders: the first folder wins, and an invalid file does not affect the others."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import NotFoundError, SegueError
from segue.formats.config import line_of
from segue.presets.frontmatter import InvalidFrontMatterError, parse_front_matter
from segue.presets.inheritance import inherit
from segue.presets.preset import InvalidFieldError, Preset, parse_preset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

SHIPPED = Path(__file__).parent / "shipped"
"""The presets that come with Segue: a folder to be read after all others."""
DEFAULT = "executor"
"""The preset of a session for which none was chosen; it is in SHIPPED."""

SUFFIX = ".md"
SIZE_BYTES = 1 << 20
FILES = 1000
"""The maximum number of files that are read in one folder."""


class FileProblem(NamedTuple):
    """A file or a folder that could not be used, and why."""

    path: str
    reason: str
    line: int = 0
    """1-based; 0 if the problem has no line."""

    def __str__(self) -> str:
        location = f"{self.path} line {self.line}" if self.line else self.path
        return f"{location}: {self.reason}"


class Presets:
    """The presets that were found, by name."""

    def __init__(
        self,
        found: Mapping[str, Preset],
        problems: Sequence[FileProblem] = (),
        shadowed: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._found = dict(found)
        self.problems = tuple(problems)
        self._shadowed = dict(shadowed or {})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._found))

    def get(self, name: str, *, what: str = "agent") -> Preset:
        """Raises NotFoundError, which lists what exists; `what` is the word for a preset in the message."""
        try:
            return self._found[name]
        except KeyError:
            raise self._missing(name, what) from None

    def find(self, name: str) -> Preset | None:
        return self._found.get(name)

    def shadowed(self, name: str) -> tuple[str, ...]:
        """The files in later folders that define a preset with the same name."""
        return tuple(self._shadowed.get(name, ()))

    def is_from(self, preset: Preset, folders: Collection[Path | str]) -> bool:
        """Whether the preset and all its ancestors are from these folders: presets of a project are untrusted."""
        paths = {os.fspath(folder) for folder in folders}
        seen: set[str] = set()
        pending: list[Preset | None] = [preset]
        while pending:
            one = pending.pop()
            if one is None or one.name in seen:
                continue
            if one.path.rpartition("/")[0] not in paths:
                return False
            seen.add(one.name)
            pending += map(self.find, one.parents)
        return True

    def __iter__(self) -> Iterator[Preset]:
        """Sorted by name."""
        return iter([self._found[name] for name in self.names])

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def _missing(self, name: str, what: str) -> NotFoundError:
        by_lower = {known.lower(): known for known in self.names}
        near = [by_lower[word] for word in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
        known = f"available: {', '.join(self.names)}" if self._found else "there are none"
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        invalid = [problem for problem in self.problems if os.path.basename(problem.path) == f"{name}{SUFFIX}"]  # noqa: PTH119
        reason = f"; {invalid[0]}" if invalid else ""
        return NotFoundError(f"there is no {what} {name!r}{reason}", hint=f"{guess}{known}", near=near)


class PresetSources(Struct, frozen=True, kw_only=True):
    """The folders that presets are read from, the first one wins; `trusted` are those that no project can write to."""

    folders: tuple[Path, ...] = ()
    trusted: tuple[Path, ...] = ()

    def load(self) -> Presets:
        return load_presets(self.folders, trusted=self.trusted)


def preset_sources(tool: str, *, user: Path, home: Path, cwd: Path, shipped: Path | None = SHIPPED) -> PresetSources:
    """The presets of one of our commands: of the user (trusted), those it ships (trusted), then of the project."""
    own = (user, home / ".claude" / "agents", *((shipped,) if shipped is not None else ()))
    return PresetSources(folders=(*own, *project_folders(tool, cwd)), trusted=own)


def project_folders(tool: str, cwd: Path) -> tuple[Path, ...]:
    """The folders of presets in a project: in the current folder, and in all above up to the root of the repository."""
    above = (cwd, *cwd.parents)
    root = next((at for at, folder in enumerate(above) if (folder / ".git").exists()), 0)
    return tuple(
        folder / name for folder in above[: root + 1] for name in (f".{tool}/agents", ".claude/agents", "agents")
    )


def load_presets(folders: Sequence[Path | str], *, trusted: Collection[Path | str] = ()) -> Presets:
    """Load the presets of the folders, in this order. A missing folder has none.

    A link that leads out of its folder is followed in the `trusted` folders only: a cloned project must not choose
    which files of the user become a prompt.
    """
    found: dict[str, Preset] = {}
    problems: list[FileProblem] = []
    lines: dict[str, int] = {}
    shadowed: dict[str, list[str]] = {}
    trusted_paths = {os.fspath(folder) for folder in trusted}
    for folder in [os.fspath(path) for path in folders]:
        here: dict[str, Preset] = {}
        for preset in _read_folder(folder, problems, lines, follow_links=folder in trusted_paths):
            if preset.name in here:
                first = here[preset.name].path
                problems.append(FileProblem(preset.path, f"the name {preset.name!r} is taken by {first}"))
                continue
            here[preset.name] = preset
        for name in here.keys() & found.keys():
            shadowed.setdefault(name, []).append(here[name].path)
        found = here | found
    presets, flaws = inherit(found)
    problems += [FileProblem(preset.path, reason, lines.get(preset.path, 0)) for preset, reason in flaws]
    return Presets(presets, problems, shadowed)


def _read_folder(
    folder: str, problems: list[FileProblem], lines: dict[str, int], *, follow_links: bool
) -> Iterator[Preset]:
    """The presets as written in the files; `lines` receives the line of the parents of each."""
    real = os.path.realpath(folder)
    try:
        entries = os.listdir(real)  # noqa: PTH208 - names are wanted, not paths
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(FileProblem(folder, _reason(error)))
        return
    names = sorted(name for name in entries if _is_preset_file(name))
    if len(names) > FILES:
        problems.append(FileProblem(folder, f"it has {len(names)} files; only the first {FILES} are read"))
    for name in names[:FILES]:
        read = _read_preset(real, name, f"{folder}/{name}", lines, follow_links=follow_links)
        if isinstance(read, Preset):
            yield read
        else:
            problems.append(read)


def _read_preset(
    folder: str, name: str, path: str, lines: dict[str, int], *, follow_links: bool
) -> Preset | FileProblem:
    try:
        inside = "" if follow_links else folder
        text = read_small_file(f"{folder}/{name}", size_bytes=SIZE_BYTES, inside=inside).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return FileProblem(path, "it is not UTF-8", error.object.count(b"\n", 0, error.start) + 1)
    except UnusableFileError as error:
        return FileProblem(path, str(error))
    except OSError as error:
        return FileProblem(path, _reason(error))
    except SegueError as error:
        return FileProblem(path, str(error).rpartition(": ")[2])
    try:
        document = parse_front_matter(text)
        if not document.fields and not document.body:
            return FileProblem(path, "it is empty")
        lines[path] = line_of(text, "parents")
        return parse_preset(document.fields, document.body, name=name.removesuffix(SUFFIX), path=path)
    except InvalidFrontMatterError as error:
        return FileProblem(path, str(error), error.line)
    except InvalidFieldError as error:
        return FileProblem(path, str(error), line_of(text, error.field))


def _is_preset_file(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".") and name != "README.md"


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
