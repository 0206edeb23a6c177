"""The command `aur spawn`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from segue.console import exit_codes, output
from segue.dialects.aurora.config import load_config
from segue.dialects.aurora.paths import AuroraPaths
from segue.errors import UsageError
from segue.model import STATUSES, Status

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from segue.dialects.aurora.config import AuroraConfig
    from segue.library import Library

_LONGEST_DAYS = 36_500
_EXAMPLES = (
    "aur spawn -i",
    "aur spawn -i --agent qa-test --session my-review",
    "aur spawn --resume my-review",
    "aur spawn --list-sessions --agent qa-test --status interrupted",
    "aur spawn --clean-sessions 30 --dry-run",
)


def _complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from segue.console.completion import complete_sessions, session_item
    from segue.library import open as open_library

    def find() -> list[CompletionItem]:
        with open_library(f"journal:{AuroraPaths(Path.home()).sessions}") as library:
            return [session_item(head.id, head.title or head.agent) for head in library.list()]

    return complete_sessions(find)(ctx, param, incomplete)


class SpawnCommand(click.Command):
    """Shows examples below its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Examples"):
            for example in _EXAMPLES:
                formatter.write(f"  {example}\n")


class SpawnOptions(Struct, frozen=True, kw_only=True):
    """The options of one call."""

    interactive: bool
    agent: str | None
    session: str | None
    resume: str | None
    list_sessions: bool
    status: Status | None
    delete_session: str | None
    yes: bool
    clean_sessions: int | None
    dry_run: bool
    as_json: bool

    def action(self) -> str:
        """The option that names the action. UsageError if there is none, or several, or other options do not fit."""
        given = {
            "--interactive": self.interactive or (self.session is not None and self.resume is None),
            "--resume": self.resume is not None,
            "--list-sessions": self.list_sessions,
            "--delete-session": self.delete_session is not None,
            "--clean-sessions": self.clean_sessions is not None,
        }
        actions = [name for name, is_given in given.items() if is_given]
        if actions == ["--interactive", "--resume"]:
            actions = ["--resume"]
        if not actions:
            hint = "start a conversation with aur spawn -i; see aur spawn --help"
            raise UsageError("nothing to do", hint=hint)
        if len(actions) > 1:
            raise UsageError(f"{' and '.join(actions)} cannot be combined", hint="use one of them")
        for name, (is_given, fitting) in self._other_options().items():
            if is_given and actions[0] not in fitting:
                hint = f"use it with {' or '.join(fitting)}"
                raise UsageError(f"{name} cannot be combined with {actions[0]}", hint=hint)
        return actions[0]

    def _other_options(self) -> dict[str, tuple[bool, tuple[str, ...]]]:
        """Every other option: whether it is given, and the actions that it fits."""
        return {
            "--agent": (self.agent is not None, ("--interactive", "--resume", "--list-sessions")),
            "--session": (self.session is not None, ("--interactive",)),
            "--status": (self.status is not None, ("--list-sessions",)),
            "--yes": (self.yes, ("--delete-session",)),
            "--dry-run": (self.dry_run, ("--clean-sessions",)),
            "--json": (self.as_json, ("--list-sessions", "--delete-session", "--clean-sessions")),
        }


@click.group("aur", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-V", "--version", is_flag=True, help="Print the version.")
@click.pass_context
def app(ctx: click.Context, *, version: bool) -> int:
    """Aurora's conversations with agents, saved by Segue."""
    if version:
        from segue._version import __version__

        output.line(f"aur {__version__}")
    elif ctx.invoked_subcommand is None:
        output.text(ctx.get_help())
    return exit_codes.Exit.DONE


@app.command("spawn", cls=SpawnCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-i", "--interactive", is_flag=True, help="Start an interactive conversation.")
@click.option("--agent", metavar="NAME", help="Preset or agent that answers.")
@click.option("--session", metavar="ID", help="Id of the new session.")
@click.option(
    "--resume",
    metavar="ID",
    shell_complete=_complete_sessions,
    help="Resume a session, by its id, its beginning or end, or words of its title.",
)
@click.option("--list-sessions", is_flag=True, help="List the sessions, the last active first.")
@click.option("--status", type=click.Choice(STATUSES), help="With --list-sessions: only sessions with this status.")
@click.option(
    "--delete-session",
    metavar="ID",
    shell_complete=_complete_sessions,
    help="Delete a session; asks first at a terminal.",
)
@click.option("-y", "--yes", is_flag=True, help="With --delete-session: delete without asking.")
@click.option(
    "--clean-sessions",
    metavar="DAYS",
    type=click.IntRange(1, _LONGEST_DAYS),
    help="Delete sessions without activity for DAYS days.",
)
@click.option("--dry-run", is_flag=True, help="With --clean-sessions: only show what would be deleted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors; not in conversations.")
def spawn(**options: object) -> int | None:
    """Chat with an agent, resume a session, manage sessions.

    Sessions are stored in ~/.aurora/spawn/sessions, one journal per session. ~/.aurora/config.json has the settings
    under spawner.interactive: session_expiry_days, max_tokens, trim_strategy, auto_save_turns.
    """
    chosen = msgspec.convert(options, SpawnOptions)
    action = chosen.action()
    from segue.console.traces import forget
    from segue.library import Library
    from segue.library import open as open_library

    paths = AuroraPaths(Path.home())
    config, warnings = load_config(paths.config)
    for warning in warnings:
        output.warn(warning)
    store = open_library(f"journal:{paths.sessions}").store
    with Library(store, forget=forget) as library:
        if action in {"--interactive", "--resume"}:
            from segue.dialects.aurora.chat import AuroraChat

            chat = AuroraChat(library, paths, config)
            if chosen.resume is not None:
                return chat.resume(chosen.resume, chosen.agent or "")
            return chat.start(chosen.agent or "", chosen.session)
        return _manage(library, chosen, config)


def _manage(library: Library, options: SpawnOptions, config: AuroraConfig) -> int | None:
    from segue.dialects.aurora import sessions
    from segue.dialects.aurora.expiry import BackgroundExpiry

    if options.clean_sessions is not None:  # the age is given here, not in the configuration
        sessions.clean(library, options.clean_sessions, dry_run=options.dry_run, as_json=options.as_json)
        return None
    code = None
    if options.delete_session is not None:
        code = sessions.delete(library, options.delete_session, yes=options.yes, as_json=options.as_json)
    else:
        sessions.show_list(library, agent=options.agent, status=options.status, as_json=options.as_json)
    with BackgroundExpiry(library.store.url, config.session_expiry_days):
        return code
