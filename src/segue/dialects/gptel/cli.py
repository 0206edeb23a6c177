"""The commands of `segue gptel`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.clock import utc_now
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.console.group import Group
from segue.dialects.gptel.arguments import (
    activities_option,
    complete_ids,
    find_branch_path,
    open_sessions,
    store_option,
    target_argument,
    to_json,
)
from segue.dialects.gptel.editor_cli import EDITOR_VERBS
from segue.dialects.gptel.setting_arguments import NONE, parse_changes
from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.dialects.gptel.branch_details import BranchDetails
    from segue.dialects.gptel.lifecycle import Sessions
    from segue.dialects.gptel.paths import BranchPath

F = TypeVar("F", bound="Callable[..., object]")


def _editor_presets(function: F) -> F:
    return click.option(
        "--editor-preset",
        "editor_presets",
        metavar="NAME",
        multiple=True,
        type=options.text,
        help="Accept a preset that only the editor defines.",
    )(function)


def _preset(**settings: object) -> Callable[[F], F]:
    return click.option("--preset", metavar="NAME", type=options.text, **settings)  # type: ignore[arg-type]  # click's


@options.verb(
    'segue gptel new "API Integration"',
    'emacs "$(segue gptel new "API Integration" --preset executor)"',
    "segue gptel new Planning --activity ~/emacs-activities/planning-2026-11-15",
    "segue gptel new Planning --activities ~/emacs-activities",
    name="new",
)
@click.argument("name", metavar="NAME", type=options.text)
@_preset(default=None, help="Preset of the session. [default: executor]")
@click.option(
    "--activity", metavar="FOLDER", type=options.text, help="Create it inside an activity, in FOLDER/session."
)
@activities_option("Create it inside a new activity, in FOLDER/NAME-DATE/session.")
@_editor_presets
@store_option
@options.as_json
def new(
    *,
    name: str,
    preset: str | None,
    activity: str | None,
    activities: str | None,
    editor_presets: tuple[str, ...],
    root: str,
    as_json: bool,
) -> None:
    """Start a session and print the path of its conversation."""
    from segue.dialects.gptel.format.names import new_activity_name
    from segue.presets import DEFAULT

    if activity and activities:
        raise UsageError("--activity and --activities exclude each other", hint="use one of them")
    folder = os.path.abspath(Path(activity).expanduser()) if activity else ""  # noqa: PTH100
    if activities:
        folder = f"{activities}/{new_activity_name(name, utc_now())}"
    made = open_sessions(root, editor_presets).create(name, preset=preset or DEFAULT, activity=folder)
    _print_details(made, as_json=as_json, sentence=f"created {made.session_id} with the preset {made.preset}")


@options.verb(
    "segue gptel open ~/.gptel/sessions/api-integration-20261115130000/branches/main/session.md --json",
    "segue gptel open api-integration --json",
    name="open",
)
@target_argument
@_editor_presets
@store_option
@options.as_json
def open_(*, target: str, editor_presets: tuple[str, ...], root: str, as_json: bool) -> None:
    """Show the preset, the settings and the scope of a session.

    With --json it prints all that an editor needs. For a file that does not belong to a session the exit code is 3.
    """
    details = open_sessions(root, editor_presets).open(find_branch_path(target, root))
    if as_json:
        output.data(to_json(details))
        return
    for warning in details.warnings:
        output.warn(warning)
    for name in ("session_id", "branch_name", "branch_dir", "state", "preset"):
        output.line(("dim", f"{name.replace('_', ' ')}: "), str(getattr(details, name) or "none"))
    for name, value in details.settings.items():
        if value is not None or name in details.overrides:
            is_none = value is None or value == []
            shown = NONE if is_none else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            mark = " (saved)" if name in details.overrides else ""
            output.line(("dim", f"{name.replace('_', ' ')}{mark}: "), shown.split("\n")[0])


@options.verb(
    "segue gptel save api-integration",
    "segue gptel save api-integration --set temperature=0.8 --set model=gpt-4o",
    "segue gptel save api-integration --set tools=none --unset temperature",
    name="save",
)
@target_argument
@click.option(
    "--set",
    "changes",
    metavar="NAME=VALUE",
    multiple=True,
    type=options.text,
    help="Set a setting; the VALUE none turns it off, and wins over the preset.",
)
@click.option(
    "--unset",
    metavar="NAME",
    multiple=True,
    type=options.text,
    help="Reset a setting to the value of the preset.",
)
@_preset(default=None, help="Switch to another preset.")
@_editor_presets
@store_option
@options.as_json
def save(
    *,
    target: str,
    changes: tuple[str, ...],
    unset: tuple[str, ...],
    preset: str | None,
    editor_presets: tuple[str, ...],
    root: str,
    as_json: bool,
) -> None:
    """Record what was typed, and save the changed settings.

    Only settings that differ from the preset are written.
    """
    values, reset = parse_changes(changes, unset)
    sessions = open_sessions(root, editor_presets)
    saved = sessions.save(find_branch_path(target, root), values, unset=reset, preset=preset)
    differing = ", ".join(saved.overrides) or "nothing"
    _print_details(saved, as_json=as_json, sentence=f"saved {saved.session_id}; differs from its preset: {differing}")


@options.verb(
    "segue gptel branch api-integration other-way",
    "segue gptel branch api-integration other-way --at 3 --exclude",
    "segue gptel branch api-integration other-way --rename better-way",
    "segue gptel branch api-integration 20261115130000-other-way --delete --yes",
    name="branch",
)
@target_argument
@click.argument("name", metavar="NAME", type=options.text)
@click.option("--at", metavar="TURN", type=int, help="Start at this turn of the user.")
@click.option(
    "--position", metavar="CHARACTER", type=int, help="Start at the user's turn at this position of the text."
)
@click.option("--exclude", is_flag=True, help="Start before that turn.")
@click.option("--stay", is_flag=True, help="Do not switch to the new branch.")
@click.option("--delete", is_flag=True, help="Delete the branch NAME instead.")
@click.option("--rename", metavar="NEW", type=options.text, help="Rename the branch NAME instead.")
@options.yes
@store_option
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
    rename: str | None,
    yes: bool,
    root: str,
    as_json: bool,
) -> int:
    """Create a branch and print the path of its conversation.

    The branch has the same preset and settings. With --delete or --rename, an existing branch is changed instead.
    """
    if at is not None and position is not None:
        raise UsageError("--at and --position exclude each other", hint="use one of them")
    sessions, branch_path = open_sessions(root), find_branch_path(target, root)
    if rename is not None:
        if delete:
            raise UsageError("--delete and --rename exclude each other", hint="use one of them")
        path = branch_path._replace(branch_name=_branch_name(sessions, branch_path, name))
        renamed = sessions.rename_branch(path, rename)
        _print_details(renamed, as_json=as_json, sentence=f"renamed {path.branch_name} to {renamed.branch_name}")
        return Exit.DONE
    if not delete:
        made = sessions.branch(branch_path, name, at=at, position=position, exclude=exclude, switch=not stay)
        _print_details(
            made, as_json=as_json, sentence=f"created {made.branch_name}" + ("" if stay else ", now the current branch")
        )
        return Exit.DONE
    doomed = branch_path._replace(branch_name=_branch_name(sessions, branch_path, name))
    if not output.confirm(f"Delete the branch {doomed.branch_name}?", yes=yes):
        return Exit.DECLINED
    deleted = sessions.delete_branch(doomed)
    if as_json:
        output.data({"deleted": deleted})
    else:
        output.note(f"deleted {deleted}")
    return Exit.DONE


@options.verb("segue gptel branches api-integration", "segue gptel branches api-integration --json", name="branches")
@target_argument
@store_option
@options.as_json
def branches(*, target: str, root: str, as_json: bool) -> None:
    """List the branches of a session and their parents.

    A star marks the current branch.
    """
    from segue.console.durations import time_formatter

    found = open_sessions(root).branches(find_branch_path(target, root))
    if as_json:
        output.data([to_json(one) for one in found])
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
@click.argument("targets", metavar="[PATH|ID]...", nargs=-1, type=options.text, shell_complete=complete_ids)
@_editor_presets
@store_option
@options.as_json
def migrate(*, targets: tuple[str, ...], editor_presets: tuple[str, ...], root: str, as_json: bool) -> None:
    """Bring older sessions up to date.

    Without an argument, all sessions are migrated. The old files stay.
    """
    from segue.dialects.gptel.store import GptelStore

    sessions = open_sessions(root, editor_presets)
    names: Iterable[str] = targets or sorted(GptelStore(root).ids())
    done = [made for name in names if (made := sessions.migrate(find_branch_path(name, root))) is not None]
    if as_json:
        output.data([to_json(one) for one in done])
        return
    for one in done:
        for warning in one.warnings:
            output.warn(warning)
        output.line(one.session_id)
    output.note(f"{len(done)} session{'' if len(done) == 1 else 's'} migrated")


command = Group(
    "gptel",
    [new, open_, save, branch, branches, migrate, *EDITOR_VERBS],
    help="Manage sessions that you edit in Emacs.\n\nA session is named by its id, or by any path inside it.",
)


def _branch_name(sessions: Sessions, branch_path: BranchPath, name: str) -> str:
    """The branch with this name, or the only one with this name after its timestamp."""
    names = [one.name for one in sessions.branches(branch_path)]
    found = [name] if name in names else [one for one in names if one.partition("-")[2] == name]
    if len(found) == 1:
        return found[0]
    raise NotFoundError(
        f"{len(found)} branches are called {name}" if found else f"there is no branch {name}",
        hint=f"there are {', '.join(names)}",
    )


def _print_details(details: BranchDetails, *, as_json: bool, sentence: str) -> None:
    from segue.dialects.gptel.format.names import SESSION

    if as_json:
        output.data(to_json(details))
        return
    for warning in details.warnings:
        output.warn(warning)
    output.line(f"{details.branch_dir}/{SESSION}")
    output.note(sentence)
