from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from segue.cli._lookup import find_stored
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.console.group import Group
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.cli._lookup import Words
    from segue.library import Library
    from segue.model import JsonObject
    from segue.permissions import Action, Permissions, ResolvedScope, Verdict

F = TypeVar("F", bound="Callable[..., object]")


def _target_options(*, patterns: bool) -> Callable[[F], F]:
    """The options `--read`, `--write` and `--shell`; each call has one of them."""

    def add(function: F) -> F:
        for action, kind, doing in (("shell", "command", "run"), ("write", "path", "write"), ("read", "path", "read")):
            metavar = "PATTERN" if patterns else kind.upper()
            help_text = f"Pattern of {kind}s to {doing}." if patterns else f"{kind.capitalize()} to {doing}."
            function = click.option(f"--{action}", metavar=metavar, type=options.text, help=help_text)(function)
        return function

    return add


def _scope_options(function: F) -> F:
    function = click.option(
        "--trust-project", is_flag=True, help="Use the scope of a preset that comes with the project."
    )(function)
    function = click.option(
        "--profile",
        metavar="NAME",
        default="",
        type=options.text,
        help="Scope profile to use if the session has no scope.",
    )(function)
    return click.option(
        "--project",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Project root. [default: the current repository]",
    )(function)


@options.verb(
    "segue scope check qa-2026 --read notes.md",
    "segue scope check qa-2026 --shell 'git status && ls' --json",
    name="check",
)
@options.session
@_target_options(patterns=False)
@_scope_options
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
    trust_project: bool,
    as_json: bool,
) -> int:
    """Check whether a tool may do something (exit 0 or 1).

    The exit code is 0 if it is allowed and 1 if not. The check uses up a permission that was granted once.
    """
    action, target = _single_target(read, write, shell)
    permissions = _permissions(library, id, project, profile, trust_project=trust_project)
    verdict = permissions.check(action, target, cwd=_here())
    if as_json:
        output.data(_verdict_json(permissions, verdict))
    elif verdict.allowed:
        output.line(("green", "yes"), f": {verdict.reason}")
    else:
        output.line(("red", "no"), f": {verdict.reason}")
        _warn_if_untrusted(permissions)
    return Exit.DONE if verdict.allowed else Exit.DECLINED


@options.verb("segue scope show qa-2026", "segue scope show qa-2026 > scope.yml", name="show")
@options.session
@_scope_options
@options.library
@options.as_json
def show(*, library: Library, id: str, project: Path | None, profile: str, trust_project: bool, as_json: bool) -> None:
    """Print the scope of a session and its source."""
    from segue.permissions.scope import fields_of, write_scope

    permissions = _permissions(library, id, project, profile, trust_project=trust_project)
    current = permissions.current()
    if as_json:
        source: JsonObject = {"id": permissions.session_id, "source": current.source, "place": current.path or None}
        output.data({**source, "scope": fields_of(current.scope)})
    else:
        output.line(("dim", f"# {_describe_source(current)}"))
        output.text(write_scope(current.scope))
        _warn_if_untrusted(permissions)


@options.verb(
    "segue scope allow qa-2026 --read 'docs/**'",
    "segue scope allow qa-2026 --shell 'git log *'",
    "segue scope allow qa-2026 --write notes.md --once",
    name="allow",
)
@options.session
@_target_options(patterns=True)
@click.option("--once", is_flag=True, help="Allow exactly this, one time.")
@_scope_options
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
    trust_project: bool,
    as_json: bool,
) -> None:
    """Add a pattern to a scope, or allow something once."""
    action, target = _single_target(read, write, shell)
    permissions = _permissions(library, id, project, profile, trust_project=trust_project)
    was_allowed = once and permissions.allow_once(action, target, cwd=_here()).allowed
    added = not was_allowed if once else permissions.add(action, target)
    name = permissions.session_id
    if as_json:
        output.data({"id": name, "action": action, "target": target, "once": once, "added": added})
    else:
        output.note(f"{name} may {action} {target}{' once' if once else ''}" if added else "it is allowed already")


@options.verb("segue scope set qa-2026 scope.yml", "segue scope set qa-2026 - < scope.yml", name="set")
@options.first_session
@click.argument("file", metavar="FILE", type=options.text)
@options.library
def set_(*, library: Library, id: str, file: str) -> None:
    """Set the scope of a session from a YAML file (- is stdin)."""
    from segue.permissions.profiles import SIZE_BYTES, decode_scope

    path = "stdin" if file == "-" else file
    data = sys.stdin.buffer.read(SIZE_BYTES + 1) if file == "-" else _read(file, SIZE_BYTES)
    text = decode_scope(path, data)
    permissions = _permissions(library, id, None, "")
    permissions.set_scope(text, source=path)
    output.note(f"{permissions.session_id} has a new scope")


@options.verb("segue scope hook qa-2026", "segue scope hook qa-2026 --grant", name="hook")
@options.session
@click.option("--grant", is_flag=True, help="Allow calls within the scope without a question.")
@_scope_options
@options.library
def hook(*, library: Library, id: str, grant: bool, project: Path | None, profile: str, trust_project: bool) -> None:
    """Answer a PreToolUse hook of Claude Code (stdin, stdout).

    Calls out of scope are denied. Calls within the scope are left to the rules of Claude Code, or allowed with --grant.
    For tools that scopes have no rules for, the user is asked. After any error the answer is no.
    """
    from segue.permissions.hook import SIZE_BYTES, answer_call, deny_error

    try:
        root = project or Path(os.environ.get("CLAUDE_PROJECT_DIR") or _here())
        permissions = _permissions(library, id, root, profile, trust_project=trust_project, words="never")
        answer = answer_call(sys.stdin.buffer.read(SIZE_BYTES + 1), permissions, grants=grant)
    except Exception as error:  # noqa: BLE001 - if a hook fails, the tool runs
        answer = deny_error(error)
    output.data_line(answer)


command = Group(
    "scope",
    [check, show, allow, set_, hook],
    help="Show and change what the tools of an agent may do.\n\nWhat no pattern allows is denied, and deny wins.",
)


def _single_target(read: str | None, write: str | None, shell: str | None) -> tuple[Action, str]:
    given: list[tuple[Action, str | None]] = [("read", read), ("write", write), ("shell", shell)]
    found = [(action, target) for action, target in given if target is not None]
    if len(found) != 1:
        raise UsageError("exactly one of --read, --write and --shell is needed", hint="see segue scope --help")
    return found[0]


def _permissions(
    library: Library,
    id: str,
    project: Path | None,
    profile: str,
    *,
    trust_project: bool = False,
    words: Words = "ask",
) -> Permissions:
    from platformdirs import user_state_path

    from segue.console.paths import trust_folder
    from segue.console.surface import project_root, protected_places, segue_presets
    from segue.permissions import Permissions
    from segue.tools.preset_scopes import scope_for_session
    from segue.trust import Trust
    from segue.user_folders import config_path

    found = find_stored(library, id, words=words)
    library, name = found.library, found.id
    root = Path(project).absolute() if project is not None else project_root(Path(_here()))
    return Permissions(
        library.store,
        name,
        project_root=str(root),
        home=str(Path.home()),
        state=str(user_state_path("segue") / "scope"),
        fallback=lambda: scope_for_session(
            library.overview(name),
            segue_presets(root),
            [config_path().parent / "scopes"],
            profile=profile,
            trust_project=trust_project,
            on_untrusted=lambda preset: output.warn(
                f"the scope of the preset {preset.name} is ignored, because it comes with the project; "
                "use --trust-project"
            ),
        ),
        marks=Trust(trust_folder()).of(library.store.url, name),
        protected=protected_places().with_store(library.store.url, name, root=str(root)),
    )


def _warn_if_untrusted(permissions: Permissions) -> None:
    """Warn if the session has a scope that does not apply."""
    if not _is_trusted(permissions):
        output.warn(
            f"its own scope was not set here, so it is ignored; review it with segue trust {permissions.session_id}"
        )


def _is_trusted(permissions: Permissions) -> bool:
    """Whether the session's own scope applies, or it has none."""
    found = permissions.recorded()
    return found is None or permissions.is_trusted(found)


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
        raise UsageError(f"{file}: {error}", hint="use another file") from None


def _describe_source(current: ResolvedScope) -> str:
    match current.source:
        case "explicit":
            return f"the session's own scope{f', in {current.path}' if current.path else ''}"
        case "profile" | "preset":
            return f"from the {current.source} in {current.path}"
        case "none":
            return "this session has no scope, so nothing is allowed"


def _verdict_json(permissions: Permissions, verdict: Verdict) -> JsonObject:
    return {
        "id": permissions.session_id,
        "allowed": verdict.allowed,
        "action": verdict.action,
        "target": verdict.target,
        "reason": verdict.reason,
        "pattern": verdict.pattern or None,
        "once": verdict.is_once,
        "place": verdict.real_path or None,
        "trusted": _is_trusted(permissions),
    }
