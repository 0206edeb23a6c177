"""What the verbs of `segue gptel` share: the store, the session that is meant, and folders of activities."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.console import options
from segue.errors import NotFoundError, SegueError, UsageError
from segue.user_folders import config_path, configured_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from segue.dialects.gptel.lifecycle import Sessions
    from segue.dialects.gptel.paths import BranchPath

F = TypeVar("F", bound="Callable[..., object]")
_SCHEME = "gptel:"
_ROOT = "~/.gptel/sessions"


def store_option(function: F) -> F:
    return click.option(
        "--store",
        "root",
        metavar="URL",
        callback=_root,
        help=f"Store URL, as {_SCHEME}PATH. [env: SEGUE_STORE] [default: {_SCHEME}{_ROOT}]",
    )(function)


def _root(ctx: click.Context, param: click.Parameter, value: str | None) -> str:  # noqa: ARG001 - click's signature
    usual = os.environ.get("SEGUE_STORE") or configured_store()
    url = value or (usual if usual.startswith(_SCHEME) else _SCHEME + _ROOT)
    if not url.startswith(_SCHEME):
        from segue.formats.store_url import hide_password

        shown = hide_password(url)
        raise UsageError(f"{shown} is not a store of gptel sessions", hint=f"name a folder, as in {_SCHEME}{_ROOT}")
    return os.path.abspath(Path(url.removeprefix(_SCHEME)).expanduser())  # noqa: PTH100 - links stay as they are


def target_argument(function: F) -> F:
    return click.argument("target", metavar="PATH|ID", type=options.text, shell_complete=complete_ids)(function)


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ids, or files if there is a slash."""
    from click.shell_completion import CompletionItem

    from segue.dialects.gptel.store import GptelStore

    if "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    try:
        found = sorted(GptelStore(ctx.params.get("root") or _root(ctx, param, None)).ids())
    except SegueError:
        return []  # a shell that completes has no place for complaints
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def activities_option(help_text: str) -> Callable[[F], F]:
    return click.option("--activities", metavar="FOLDER", callback=_absolute, help=help_text)


def _absolute(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001 - click's
    return os.path.abspath(Path(options.text(value)).expanduser()) if value else None  # noqa: PTH100


def open_sessions(root: str, editor_presets: tuple[str, ...] = ()) -> Sessions:
    from segue.console.surface import here, segue_presets
    from segue.dialects.gptel.lifecycle import Sessions

    presets = segue_presets(here()).load()
    return Sessions(root, presets, editor_presets=editor_presets, profiles=[config_path().parent / "scopes"])


def find_branch_path(target: str, root: str) -> BranchPath:
    """The branch of a path (a conversation, branch, session or activity), or the current branch of a session id."""
    from segue.dialects.gptel.format.names import ACTIVITY, BRANCHES, SESSION
    from segue.dialects.gptel.paths import BranchPath, parse_branch_path
    from segue.library import open as open_library

    path = os.path.abspath(Path(target).expanduser())  # noqa: PTH100 - links stay as they are
    if (found := parse_branch_path(path)) is not None:
        return found
    if "/" not in target and not Path(path).is_dir():
        return BranchPath(f"{root}/{open_library(_SCHEME + root).resolve(target)}", "")
    for branch_path in (
        parse_branch_path(f"{path}/{SESSION}"),
        BranchPath(path, ""),
        BranchPath(f"{path}/{ACTIVITY}", ""),
    ):
        if branch_path is not None and Path(branch_path.session_dir, BRANCHES).is_dir():
            return branch_path
    raise NotFoundError(f"{target} is not part of a session", hint=f"a session has branches/NAME/{SESSION}")


def to_json(value: object) -> object:
    from msgspec import to_builtins

    return to_builtins(value)
