"""Whether a repository was created or trusted on this machine, and what it would run then.

The repository's folder has a name file, and the user's trust marks have its counterpart. So neither another repository
in the same place nor a copy elsewhere counts as the trusted one.
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

# Settings that every repository may have, and that never name a program.
_PLAIN = re.compile(
    rb"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree"
    rb"|autocrlf|eol|safecrlf|quotepath)|user\.(?:name|email)|remote\..*\.(?:url|pushurl|fetch)"
    rb"|branch\..*\.(?:remote|merge|rebase)|submodule\.(?:.*\.)?(?:url|active)|extensions\.objectformat"
    rb"|init\.defaultbranch|pull\.rebase|push\.default",
    re.DOTALL,
)


def is_trusted(location: RepositoryLocation | None, trust: Trust) -> bool:
    if location is None:
        return False
    name = read_text(location.common / _NAME_FILE)
    return bool(name) and _marks(location, trust).has(_PART, name)


def trust_repository(location: RepositoryLocation, trust: Trust) -> None:
    """Let git run the programs of this repository from now on. StorageError if that cannot be saved."""
    folder = Folder(str(location.common))
    with suppress(FileExistsError):
        folder.create(_NAME_FILE, secrets.token_hex(16).encode())
    _marks(location, trust).put(_PART, read_text(location.common / _NAME_FILE))


def find_programs(git: Git) -> list[str]:
    """What a commit may run besides git: the hooks, and the settings of the repository that may name a program.

    Not every one of these settings names a program, but all that do are among them. Runs none of it.
    """
    folder = git.location.common / "hooks"
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    hooks = [path.name for path in there if path.suffix != ".sample" and os.access(path, os.X_OK)]
    try:
        settings = git.settings()
    except ValueError as error:
        return [str(error)]
    unusual = {name for scope, name in settings if scope in {b"local", b"worktree"} and not _PLAIN.fullmatch(name)}
    return [one_line(f"the hook {name}") for name in hooks] + [one_line(os.fsdecode(name)) for name in sorted(unusual)]


def _marks(location: RepositoryLocation, trust: Trust) -> Marks:
    return trust.of(f"git:{location.common}", "")
