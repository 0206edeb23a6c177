from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.console.group import Group
from segue.errors import NotFoundError, SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click.shell_completion import CompletionItem

    from segue.dialects.gptel.lifecycle import Sessions
    from segue.dialects.gptel.opening import OpenedBranch
    from segue.dialects.gptel.paths import BranchPath

F = TypeVar("F", bound="Callable[..., object]")
_SCHEME = "gptel:"
_ROOT = "~/.gptel/sessions"


def _store(function: F) -> F:
    return click.option(
        "--store",
        "root",
        metavar="URL",
        callback=_root,
        help=f"Where the sessions are: {_SCHEME}PATH, unless SEGUE_STORE says so; {_SCHEME}{_ROOT} by itself.",
    )(function)


def _root(ctx: click.Context, param: click.Parameter, value: str | None) -> str:  # noqa: ARG001 - click's signature
    usual = os.environ.get("SEGUE_STORE", "")
    url = value or (usual if usual.startswith(_SCHEME) else _SCHEME + _ROOT)
    if not url.startswith(_SCHEME):
        raise UsageError(f"{url} is no place for sessions of gptel", hint=f"name a folder, as in {_SCHEME}{_ROOT}")
    return os.path.abspath(Path(url.removeprefix(_SCHEME)).expanduser())  # noqa: PTH100 - links stay as they are


def _target(function: F) -> F:
    return click.argument("target", metavar="PATH|ID", type=options.text, shell_complete=_complete)(function)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids; and files, from the first slash on."""
    from click.shell_completion import CompletionItem

    from segue.dialects.gptel.store import GptelStore

    if "/" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    try:
        found = sorted(GptelStore(ctx.params.get("root") or _root(ctx, param, None)).ids())
    except SegueError:
        return []  # a shell that completes has no place for complaints
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _preset(**settings: object) -> Callable[[F], F]:
    return click.option("--preset", metavar="NAME", type=options.text, **settings)  # type: ignore[arg-type]  # click's


@options.verb(
    'segue gptel new "API Integration"',
    'emacs "$(segue gptel new "API Integration" --preset executor)"',
    "segue gptel new Planning --activity ~/emacs-activities/planning-2026-11-15",
    name="new",
)
@click.argument("name", metavar="NAME", type=options.text)
@_preset(default=None, help="The preset to begin with; executor if none is named.")
@click.option("--activity", metavar="FOLDER", type=options.text, help="Make it inside an activity, in FOLDER/session.")
@_store
@options.as_json
def new(*, name: str, preset: str | None, activity: str | None, root: str, as_json: bool) -> None:
    """Start a session and print the path of its conversation."""
    from segue.presets import DEFAULT

    folder = os.path.abspath(Path(activity).expanduser()) if activity else ""  # noqa: PTH100
    made = _sessions(root).create(name, preset=preset or DEFAULT, activity=folder)
    _notify(made, as_json=as_json, sentence=f"{made.session_id} has the preset {made.preset}")


@options.verb(
    "segue gptel open ~/.gptel/sessions/api-integration-20261115130000/branches/main/session.md --json",
    "segue gptel open api-integration --json",
    name="open",
)
@_target
@_store
@options.as_json
def open_(*, target: str, root: str, as_json: bool) -> None:
    """Show what holds in a session: its preset, what differs from it, and its scope.

    With --json it is all that an editor needs. Files that belong to no session end with code 3.
    """
    opened = _sessions(root).open(_place(target, root))
    if as_json:
        output.data(_plain(opened))
        return
    for warning in opened.warnings:
        output.warn(warning)
    for name in ("session_id", "branch_name", "branch_dir", "state", "preset"):
        output.line(("dim", f"{name.replace('_', ' ')}: "), str(getattr(opened, name) or "none"))
    for name, value in opened.settings.items():
        if value is not None:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            mark = " (saved)" if name in opened.overrides else ""
            output.line(("dim", f"{name.replace('_', ' ')}{mark}: "), shown.split("\n")[0])


@options.verb(
    "segue gptel save api-integration",
    "segue gptel save api-integration --set temperature=0.8 --set model=gpt-4o",
    "segue gptel save api-integration --set temperature=",
    name="save",
)
@_target
@click.option(
    "--set", "changes", metavar="NAME=VALUE", multiple=True, type=options.text, help="A setting; none is the preset's."
)
@_preset(default=None, help="Go on with another preset.")
@_store
@options.as_json
def save(*, target: str, changes: tuple[str, ...], preset: str | None, root: str, as_json: bool) -> None:
    """Take in what was typed, and write only what differs from the preset."""
    saved = _sessions(root).save(_place(target, root), _changes(changes), preset=preset)
    differing = ", ".join(saved.overrides) or "nothing"
    _notify(saved, as_json=as_json, sentence=f"{saved.session_id} is saved; {differing} differs from its preset")


@options.verb(
    "segue gptel branch api-integration other-way",
    "segue gptel branch api-integration other-way --at 3 --exclude",
    "segue gptel branch api-integration 20261115130000-other-way --delete --yes",
    name="branch",
)
@_target
@click.argument("name", metavar="NAME", type=options.text)
@click.option("--at", metavar="TURN", type=int, help="Go on from this turn of the user.")
@click.option("--position", metavar="CHARACTER", type=int, help="Go on from the user's turn at this place of the text.")
@click.option("--exclude", is_flag=True, help="Leave that turn out.")
@click.option("--stay", is_flag=True, help="Stay in the present branch.")
@click.option("--delete", is_flag=True, help="Delete the branch NAME instead.")
@options.yes
@_store
@options.as_json
def branch(
    *,
    target: str,
    name: str,
    at: int | None,
    position: int | None,
    exclude: bool,
    stay: bool,
    delete: bool,
    yes: bool,
    root: str,
    as_json: bool,
) -> int:
    """Begin a branch and print the path of its conversation; it keeps the preset and what differs from it."""
    if at is not None and position is not None:
        raise UsageError("--at and --position say the same thing twice", hint="name one of them")
    sessions, place = _sessions(root), _place(target, root)
    if not delete:
        made = sessions.branch(place, name, at=at, position=position, exclude=exclude, switch=not stay)
        _notify(
            made, as_json=as_json, sentence=f"{made.branch_name} {'is there' if stay else 'is the current branch now'}"
        )
        return Exit.DONE
    doomed = place._replace(branch_name=_branch_name(sessions, place, name))
    if not output.confirm(f"Delete the branch {doomed.branch_name}?", yes=yes):
        return Exit.DECLINED
    deleted = sessions.delete_branch(doomed)
    if as_json:
        output.data({"deleted": deleted})
    else:
        output.note(f"{deleted} is deleted")
    return Exit.DONE


@options.verb("segue gptel branches api-integration", "segue gptel branches api-integration --json", name="branches")
@_target
@_store
@options.as_json
def branches(*, target: str, root: str, as_json: bool) -> None:
    """Show the branches of a session and what they grew from; a star marks the current one."""
    from segue.console.durations import time_formatter

    found = _sessions(root).branches(_place(target, root))
    if as_json:
        output.data([_plain(one) for one in found])
        return
    when = time_formatter()
    rows = [
        (
            "*" if one.current else "",
            one.name,
            f"{one.parent} at {one.at}" if one.parent else "",
            str(one.turn_count),
            when(one.created),
        )
        for one in found
    ]
    output.table(("", "BRANCH", "FROM", "TURNS", "CREATED"), rows, stretch=1)


@options.verb("segue gptel migrate", "segue gptel migrate old-session --json", name="migrate")
@click.argument("targets", metavar="[PATH|ID]...", nargs=-1, type=options.text, shell_complete=_complete)
@_store
@options.as_json
def migrate(*, targets: tuple[str, ...], root: str, as_json: bool) -> None:
    """Bring sessions of an older kind up to date: these, or all. The old files stay."""
    from segue.dialects.gptel.store import GptelStore

    sessions = _sessions(root)
    names: Iterable[str] = targets or sorted(GptelStore(root).ids())
    done = [made for name in names if (made := sessions.migrate(_place(name, root))) is not None]
    if as_json:
        output.data([_plain(one) for one in done])
        return
    for one in done:
        for warning in one.warnings:
            output.warn(warning)
        output.line(one.session_id)
    output.note(f"{len(done)} session{'' if len(done) == 1 else 's'} migrated")


command = Group(
    "gptel",
    [new, open_, save, branch, branches, migrate],
    help="Keep sessions that you edit in Emacs.\n\nA session is named by its id, or by any path inside it.",
)


def _sessions(root: str) -> Sessions:
    from segue.console.settings import config_path
    from segue.console.surface import here, segue_presets
    from segue.dialects.gptel.lifecycle import Sessions

    return Sessions(root, segue_presets(here()).load(), profiles=[config_path().parent / "scopes"])


def _place(target: str, root: str) -> BranchPath:
    """Of a conversation, a branch, a session or an activity by its path, or of a session by its id."""
    from segue.dialects.gptel.format.names import ACTIVITY, BRANCHES, SESSION
    from segue.dialects.gptel.paths import BranchPath, find_place
    from segue.library import open as open_library

    path = os.path.abspath(Path(target).expanduser())  # noqa: PTH100 - links stay as they are
    if (found := find_place(path)) is not None:
        return found
    if "/" not in target and not Path(path).is_dir():
        return BranchPath(f"{root}/{open_library(_SCHEME + root).resolve(target)}", "")
    for place in (find_place(f"{path}/{SESSION}"), BranchPath(path, ""), BranchPath(f"{path}/{ACTIVITY}", "")):
        if place is not None and Path(place.session_dir, BRANCHES).is_dir():
            return place
    raise NotFoundError(f"{target} is no part of a session", hint=f"a session has branches/NAME/{SESSION}")


def _branch_name(sessions: Sessions, place: BranchPath, name: str) -> str:
    """The branch with this name, or the only one with this name behind its timestamp."""
    names = [one.name for one in sessions.branches(place)]
    found = [name] if name in names else [one for one in names if one.partition("-")[2] == name]
    if len(found) == 1:
        return found[0]
    raise NotFoundError(
        f"{len(found)} branches are called {name}" if found else f"there is no branch {name}",
        hint=f"there are {', '.join(names)}",
    )


def _changes(given: tuple[str, ...]) -> dict[str, object]:
    """Numbers and lists as JSON has them, and anything else as it stands."""
    changes: dict[str, object] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"{one!r:.60} is no setting", hint="write NAME=VALUE, as in temperature=0.8")
        changes[name.replace("-", "_")] = _value(name.replace("-", "_"), value)
    return changes


def _value(name: str, text: str) -> object:
    if not text:
        return None
    if name == "tools":
        return [tool.strip() for tool in text.split(",") if tool.strip()]
    if name not in {"temperature", "max_tokens", "num_messages"}:
        return text
    try:
        return float(text) if name == "temperature" else int(text)
    except ValueError:
        raise UsageError(f"{name} must be a number, not {text!r:.40}") from None


def _notify(opened: OpenedBranch, *, as_json: bool, sentence: str) -> None:
    from segue.dialects.gptel.format.names import SESSION

    if as_json:
        output.data(_plain(opened))
        return
    for warning in opened.warnings:
        output.warn(warning)
    output.line(f"{opened.branch_dir}/{SESSION}")
    output.note(sentence)


def _plain(value: object) -> object:
    from msgspec import to_builtins

    return to_builtins(value)
