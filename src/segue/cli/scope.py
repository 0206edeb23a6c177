from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.console.group import Group
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.library import Library
    from segue.model import JsonObject
    from segue.permissions import Action, Permissions, ResolvedScope, Verdict

F = TypeVar("F", bound="Callable[..., object]")


def _targets(what: str) -> Callable[[F], F]:
    """`--read`, `--write` and `--shell`, of which each call has one."""

    def add(function: F) -> F:
        for action, kind, doing in (("shell", "COMMAND", "run"), ("write", "PATH", "write"), ("read", "PATH", "read")):
            metavar = kind if what == "target" else "PATTERN"
            function = click.option(f"--{action}", metavar=metavar, type=options.text, help=f"What to {doing}.")(
                function
            )
        return function

    return add


def _surroundings(function: F) -> F:
    function = click.option(
        "--trust-project", "trusts", is_flag=True, help="Let a preset of the project bring the scope it asks for."
    )(function)
    function = click.option(
        "--profile", metavar="NAME", default="", type=options.text, help="The profile of a session that has no scope."
    )(function)
    return click.option(
        "--project", metavar="FOLDER", type=click.Path(path_type=Path), help="The root of the project."
    )(function)


@options.verb(
    "segue scope check qa-2026 --read notes.md",
    "segue scope check qa-2026 --shell 'git status && ls' --json",
    name="check",
)
@options.session
@_targets("target")
@_surroundings
@options.library
@options.as_json
def check(
    *,
    library: Library,
    id: str,
    read: str | None,
    write: str | None,
    shell: str | None,
    project: Path | None,
    profile: str,
    trusts: bool,
    as_json: bool,
) -> int:
    """Ask whether a tool may do something: 0 is yes, 1 is no.

    What was allowed once is used up by this.
    """
    action, target = _one(read, write, shell)
    permissions = _permissions(library, id, project, profile, trusts=trusts)
    verdict = permissions.check(action, target, cwd=_here())
    if as_json:
        output.data(_plain(permissions.session_id, verdict))
    elif verdict.allowed:
        output.line(("green", "yes"), f": {verdict.reason}")
    else:
        output.line(("red", "no"), f": {verdict.reason}")
        _tell_of_strange(permissions)
    return Exit.DONE if verdict.allowed else Exit.DECLINED


@options.verb("segue scope show qa-2026", "segue scope show qa-2026 > scope.yml", name="show")
@options.session
@_surroundings
@options.library
@options.as_json
def show(*, library: Library, id: str, project: Path | None, profile: str, trusts: bool, as_json: bool) -> None:
    """Print the scope of a session, and where it comes from."""
    from segue.permissions.scope import fields_of, write_scope

    permissions = _permissions(library, id, project, profile, trusts=trusts)
    current = permissions.current()
    if as_json:
        about: JsonObject = {"id": permissions.session_id, "source": current.source, "place": current.path or None}
        output.data({**about, "scope": fields_of(current.scope)})
    else:
        output.line(("dim", f"# {_origin(current)}"))
        output.text(write_scope(current.scope))
        _tell_of_strange(permissions)


@options.verb(
    "segue scope allow qa-2026 --read 'docs/**'",
    "segue scope allow qa-2026 --shell 'git log *'",
    "segue scope allow qa-2026 --write notes.md --once",
    name="allow",
)
@options.session
@_targets("pattern")
@click.option("--once", is_flag=True, help="Exactly this, one time, and never again.")
@_surroundings
@options.library
@options.as_json
def allow(
    *,
    library: Library,
    id: str,
    read: str | None,
    write: str | None,
    shell: str | None,
    once: bool,
    project: Path | None,
    profile: str,
    trusts: bool,
    as_json: bool,
) -> None:
    """Add a pattern to the scope of a session, or allow something once."""
    action, target = _one(read, write, shell)
    permissions = _permissions(library, id, project, profile, trusts=trusts)
    was_allowed = once and permissions.allow_once(action, target, cwd=_here()).allowed
    added = not was_allowed if once else permissions.add(action, target)
    name = permissions.session_id
    if as_json:
        output.data({"id": name, "action": action, "target": target, "once": once, "added": added})
    else:
        output.note(f"{name} may {action} {target}{' once' if once else ''}" if added else "that was allowed already")


@options.verb("segue scope set qa-2026 scope.yml", "segue scope set qa-2026 - < scope.yml", name="set")
@options.session
@click.argument("file", metavar="FILE", type=options.text)
@options.library
def set_(*, library: Library, id: str, file: str) -> None:
    """Make a YAML file the scope of a session; - reads it from stdin."""
    from segue.permissions.profiles import SIZE_BYTES, decode_scope, read_scope_text

    path = "stdin" if file == "-" else file
    data = sys.stdin.buffer.read(SIZE_BYTES + 1) if file == "-" else _read(file, SIZE_BYTES)
    text = decode_scope(path, data)
    read_scope_text(path, text)
    permissions = _permissions(library, id, None, "")
    permissions.set_scope(text)
    output.note(f"{permissions.session_id} has a new scope")


@options.verb("segue scope hook qa-2026", "segue scope hook qa-2026 --grant", name="hook")
@options.session
@click.option("--grant", is_flag=True, help="Let what is in scope run without a question.")
@_surroundings
@options.library
def hook(*, library: Library, id: str, grant: bool, project: Path | None, profile: str, trusts: bool) -> None:
    """Answer a PreToolUse hook of Claude Code, on stdin and stdout.

    What is out of scope is denied. What is in scope is left to Claude Code's own rules, which --grant skips. Tools that
    no scope knows of are asked about. If anything goes wrong here, the answer is no.
    """
    from segue.permissions.hook import SIZE_BYTES, answer_call, deny_error

    try:
        root = project or Path(os.environ.get("CLAUDE_PROJECT_DIR") or _here())
        permissions = _permissions(library, id, root, profile, trusts=trusts)
        answer = answer_call(sys.stdin.buffer.read(SIZE_BYTES + 1), permissions, grants=grant)
    except Exception as error:  # noqa: BLE001 - any other end of a hook lets the tool run
        answer = deny_error(error)
    output.data_line(answer)


command = Group(
    "scope",
    [check, show, allow, set_, hook],
    help="Ask what an agent's tools may touch, and change it.\n\nWhat no pattern allows is denied, and deny wins.",
)


def _one(read: str | None, write: str | None, shell: str | None) -> tuple[Action, str]:
    given: list[tuple[Action, str | None]] = [("read", read), ("write", write), ("shell", shell)]
    found = [(action, target) for action, target in given if target is not None]
    if len(found) != 1:
        raise UsageError("this needs one of --read, --write and --shell", hint="segue scope --help shows how")
    return found[0]


def _permissions(library: Library, id: str, project: Path | None, profile: str, *, trusts: bool = False) -> Permissions:
    from platformdirs import user_state_path

    from segue.console.paths import trust_folder
    from segue.console.settings import config_path
    from segue.console.surface import project_root, protected_places, segue_presets
    from segue.permissions import DENY_ALL, Permissions, preset_scope, resolve_scope
    from segue.trust import Trust

    name = library.resolve(id)
    root = Path(project).absolute() if project is not None else project_root(Path(_here()))

    def fallback() -> ResolvedScope:
        folders = [config_path().parent / "scopes"]
        used = library.overview(name).preset
        if used is None or profile:
            return resolve_scope(profile=profile, folders=folders)
        sources = segue_presets(root)
        presets = sources.load()
        preset = presets.find(used.name)
        if preset is None:
            return DENY_ALL
        if not trusts and not presets.is_from(preset, sources.trusted):
            output.warn(
                f"the scope of {preset.name} is not used, since it comes with the project; --trust-project does"
            )
            return DENY_ALL
        said = preset_scope(preset.extra, preset.path)
        return resolve_scope(profile=preset.scope_profile, folders=folders, own=said)

    return Permissions(
        library.store,
        name,
        project_root=str(root),
        home=str(Path.home()),
        state=str(user_state_path("segue") / "scope"),
        fallback=fallback,
        marks=Trust(trust_folder()).of(library.store.url, name),
        protected=protected_places().with_store(library.store.url, name, root=str(root)),
    )


def _tell_of_strange(permissions: Permissions) -> None:
    """That the session has a scope which does not hold."""
    found = permissions.recorded()
    if found is not None and not permissions.is_trusted(found):
        output.warn(f"it has a scope that was not set here; segue trust {permissions.session_id} shows it and asks")


def _here() -> str:
    from segue.console.surface import here

    return str(here())


def _read(file: str, size_bytes: int) -> bytes:
    from segue.durable.small_file import UnusableFileError, read_small_file

    try:
        return read_small_file(file, size_bytes=size_bytes)
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}", hint="check the path") from None
    except UnusableFileError as error:
        raise UsageError(f"{file}: {error}", hint="name another file") from None


def _origin(current: ResolvedScope) -> str:
    match current.source:
        case "explicit":
            return f"the session's own scope{f', in {current.path}' if current.path else ''}"
        case "profile" | "preset":
            return f"from the {current.source} in {current.path}"
        case "none":
            return "nobody gave this session a scope, so nothing is allowed"


def _plain(session_id: str, verdict: Verdict) -> JsonObject:
    return {
        "id": session_id,
        "allowed": verdict.allowed,
        "action": verdict.action,
        "target": verdict.target,
        "reason": verdict.reason,
        "pattern": verdict.pattern or None,
        "once": verdict.is_once,
        "place": verdict.real_path or None,
    }
