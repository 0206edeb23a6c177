"""From folders of files to presets: the first folder wins, and a bad file costs only itself."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import NotFoundError, SegueError
from segue.presets.frontmatter import InvalidFrontMatterError, read_document
from segue.presets.parents import inherit
from segue.presets.preset import InvalidFieldError, Preset, preset_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

SHIPPED = Path(__file__).parent / "shipped"
"""The presets that come with Segue: a folder to be read behind all others."""
DEFAULT = "executor"
"""The preset of a session for which nobody chose one; it is among the shipped ones."""

SUFFIX = ".md"
SIZE_BYTES = 1 << 20
FILES = 1000
"""In one folder; more is no folder of presets."""


class Problem(NamedTuple):
    """A file, or a folder, that could not be used, and why."""

    path: str
    reason: str
    line: int = 0
    """1-based; 0 where the problem has no line."""

    def __str__(self) -> str:
        place = f"{self.path} line {self.line}" if self.line else self.path
        return f"{place}: {self.reason}"


class Presets:
    """All that was found, by name."""

    def __init__(
        self,
        found: Mapping[str, Preset],
        problems: Sequence[Problem] = (),
        behind: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._found = dict(found)
        self.problems = tuple(problems)
        self._behind = dict(behind or {})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._found))

    def get(self, name: str, *, what: str = "agent") -> Preset:
        """Raises NotFoundError, which says what there is; `what` is the word for a preset where this is asked."""
        try:
            return self._found[name]
        except KeyError:
            raise self._missing(name, what) from None

    def find(self, name: str) -> Preset | None:
        return self._found.get(name)

    def behind(self, name: str) -> tuple[str, ...]:
        """The files of later folders that have a preset of this name too."""
        return tuple(self._behind.get(name, ()))

    def is_from(self, preset: Preset, folders: Collection[Path | str]) -> bool:
        """Whether it, and all that it builds on, comes from these folders: what a project brings is a stranger's."""
        places = {os.fspath(folder) for folder in folders}
        seen: set[str] = set()
        ahead: list[Preset | None] = [preset]
        while ahead:
            one = ahead.pop()
            if one is None or one.name in seen:
                continue
            if one.path.rpartition("/")[0] not in places:
                return False
            seen.add(one.name)
            ahead += map(self.find, one.parents)
        return True

    def __iter__(self) -> Iterator[Preset]:
        """In the order of their names."""
        return iter([self._found[name] for name in self.names])

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def _missing(self, name: str, what: str) -> NotFoundError:
        by_lower = {known.lower(): known for known in self.names}
        near = [by_lower[word] for word in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
        there = f"there are {', '.join(self.names)}" if self._found else "there is none at all"
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        broken = [problem for problem in self.problems if os.path.basename(problem.path) == f"{name}{SUFFIX}"]  # noqa: PTH119
        because = f"; {broken[0]}" if broken else ""
        return NotFoundError(f"there is no {what} {name!r}{because}", hint=f"{meant}{there}", near=near)


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
    """Where a project keeps presets: in the current folder, and in all above up to the root of the repository."""
    above = (cwd, *cwd.parents)
    root = next((at for at, folder in enumerate(above) if (folder / ".git").exists()), 0)
    return tuple(
        folder / name for folder in above[: root + 1] for name in (f".{tool}/agents", ".claude/agents", "agents")
    )


def load_presets(folders: Sequence[Path | str], *, trusted: Collection[Path | str] = ()) -> Presets:
    """The presets of the folders, in this order; a folder that is not there holds none.

    A link that leads out of its folder is followed in the `trusted` ones only: a project that somebody cloned must not
    choose which of the user's files become a prompt.
    """
    found: dict[str, Preset] = {}
    problems: list[Problem] = []
    lines: dict[str, int] = {}
    behind: dict[str, list[str]] = {}
    trusts = {os.fspath(folder) for folder in trusted}
    for path in folders:
        place = os.fspath(path)
        here: dict[str, Preset] = {}
        for preset in _read_folder(place, problems, lines, follows=place in trusts):
            if preset.name in here:
                first = here[preset.name].path
                problems.append(Problem(preset.path, f"the name {preset.name!r} is taken by {first}"))
                continue
            here[preset.name] = preset
        for name in here.keys() & found.keys():
            behind.setdefault(name, []).append(here[name].path)
        found = here | found
    whole, flaws = inherit(found)
    problems += [Problem(preset.path, reason, lines.get(preset.path, 0)) for preset, reason in flaws]
    return Presets(whole, problems, behind)


def _read_folder(place: str, problems: list[Problem], lines: dict[str, int], *, follows: bool) -> Iterator[Preset]:
    """Presets as their files say them; `lines` takes where each names its parents."""
    real = os.path.realpath(place)
    try:
        entries = os.listdir(real)  # noqa: PTH208 - names are wanted, not paths
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(Problem(place, _reason(error)))
        return
    names = sorted(name for name in entries if _is_wanted(name))
    if len(names) > FILES:
        problems.append(Problem(place, f"it holds {len(names)} files, of which the first {FILES} are read"))
    for name in names[:FILES]:
        read = _read_preset(real, name, f"{place}/{name}", lines, follows=follows)
        if isinstance(read, Preset):
            yield read
        else:
            problems.append(read)


def _read_preset(folder: str, name: str, path: str, lines: dict[str, int], *, follows: bool) -> Preset | Problem:
    try:
        inside = "" if follows else folder
        text = read_small_file(f"{folder}/{name}", size_bytes=SIZE_BYTES, inside=inside).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Problem(path, "it is not UTF-8", error.object.count(b"\n", 0, error.start) + 1)
    except UnusableFileError as error:
        return Problem(path, str(error))
    except OSError as error:
        return Problem(path, _reason(error))
    except SegueError as error:
        return Problem(path, str(error).rpartition(": ")[2])
    try:
        document = read_document(text)
        if not document.fields and not document.body:
            return Problem(path, "it is empty")
        lines[path] = _line_of(text, "parents")
        return preset_of(document.fields, document.body, name=name.removesuffix(SUFFIX), path=path)
    except InvalidFrontMatterError as error:
        return Problem(path, str(error), error.line)
    except InvalidFieldError as error:
        return Problem(path, str(error), _line_of(text, error.field))


def _is_wanted(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".") and name != "README.md"


def _line_of(text: str, field: str) -> int:
    lines = text.replace("\r\n", "\n").split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.startswith(f"{field}:")), 0)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
