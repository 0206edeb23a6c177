"""Whether a repository was made or trusted here, and what it would run then.

A name in the repository's folder and a mark of the user's belong together: so neither another repository in the same
place nor a copy elsewhere is taken for the one that was trusted.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.durable.folder import Folder
from segue.formats.terminal import one_line
from segue.git.location import read_text

if TYPE_CHECKING:
    from segue.git.command import Git
    from segue.git.location import RepositoryLocation
    from segue.trust import Marks, Trust

_NAME_FILE = "segue-name"
_PART = "repository"

# What every repository has, or may have, and what names no program, wherever it comes from.
_PLAIN = re.compile(
    rb"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree"
    rb"|autocrlf|eol|safecrlf|quotepath)|user\.(?:name|email)|remote\..*\.(?:url|pushurl|fetch)"
    rb"|branch\..*\.(?:remote|merge|rebase)|submodule\.(?:.*\.)?(?:url|active)|extensions\.objectformat"
    rb"|init\.defaultbranch|pull\.rebase|push\.default",
    re.DOTALL,
)


def is_trusted(place: RepositoryLocation | None, trust: Trust) -> bool:
    if place is None:
        return False
    name = read_text(place.common / _NAME_FILE)
    return bool(name) and _marks(place, trust).has(_PART, name)


def trust_repository(place: RepositoryLocation, trust: Trust) -> None:
    """Let it run from now on what git would run for it. StorageError if that cannot be kept."""
    folder = Folder(str(place.common))
    with suppress(FileExistsError):
        folder.create(_NAME_FILE, secrets.token_hex(16).encode())
    _marks(place, trust).put(_PART, read_text(place.common / _NAME_FILE))


def find_programs(git: Git) -> list[str]:
    """What a commit may run besides git: the hooks that are there, and settings of the repository that are not plain.

    Some of these settings may name no program; all that do are among them. Runs none of it.
    """
    folder = git.place.common / "hooks"
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    hooks = [path.name for path in there if path.suffix != ".sample" and os.access(path, os.X_OK)]
    try:
        settings = git.settings()
    except ValueError as error:
        return [str(error)]
    odd = {name for scope, name in settings if scope in {b"local", b"worktree"} and not _PLAIN.fullmatch(name)}
    return [one_line(f"the hook {name}") for name in hooks] + [one_line(os.fsdecode(name)) for name in sorted(odd)]


def _marks(place: RepositoryLocation, trust: Trust) -> Marks:
    return trust.of(f"git:{place.common}", "")
