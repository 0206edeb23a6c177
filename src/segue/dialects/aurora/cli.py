"""`aur spawn`: what is asked for, and nothing else."""

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


class Spawn(click.Command):
    """With examples under its options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Examples"):
            for example in _EXAMPLES:
                formatter.write(f"  {example}\n")


class Asked(Struct, frozen=True, kw_only=True):
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
        """The one thing that is asked for; UsageError if it is none, or several, or options do not go with it."""
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
            hint = "aur spawn -i begins a conversation; aur spawn --help shows all"
            raise UsageError("there is nothing to do", hint=hint)
        if len(actions) > 1:
            raise UsageError(f"{' and '.join(actions)} do not go together", hint="say one of them")
        for name, (is_given, homes) in self._belongings().items():
            if is_given and actions[0] not in homes:
                raise UsageError(f"{name} does not go with {actions[0]}", hint=f"it goes with {' or '.join(homes)}")
        return actions[0]

    def _belongings(self) -> dict[str, tuple[bool, tuple[str, ...]]]:
        """Every other option: whether it is given, and what it goes with."""
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
    """Aurora's conversations with agents, kept by Segue."""
    if version:
        from segue._version import __version__

        output.line(f"aur {__version__}")
    elif ctx.invoked_subcommand is None:
        output.text(ctx.get_help())
    return exit_codes.Exit.DONE


@app.command("spawn", cls=Spawn, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-i", "--interactive", is_flag=True, help="Begin a conversation of many turns.")
@click.option("--agent", metavar="NAME", help="Who answers: a preset of the project or of yours, or an agent.")
@click.option("--session", metavar="ID", help="The id of the session that begins.")
@click.option("--resume", metavar="ID", help="Come back to a session; its beginning is enough if only one begins so.")
@click.option("--list-sessions", is_flag=True, help="Show the sessions, the last active first.")
@click.option("--status", type=click.Choice(STATUSES), help="With --list-sessions: only those.")
@click.option("--delete-session", metavar="ID", help="Delete a session; at a terminal you are asked first.")
@click.option("-y", "--yes", is_flag=True, help="With --delete-session: do not ask.")
@click.option(
    "--clean-sessions",
    metavar="DAYS",
    type=click.IntRange(1, _LONGEST_DAYS),
    help="Delete sessions without activity for so many days.",
)
@click.option("--dry-run", is_flag=True, help="With --clean-sessions: only say what would be deleted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, also for errors; not for conversations.")
def spawn(**options: object) -> int | None:
    """Hold a conversation with an agent, come back to it, and look after the sessions.

    They are in ~/.aurora/spawn/sessions, one journal each. ~/.aurora/config.json is read for spawner.interactive:
    session_expiry_days, max_tokens, trim_strategy, auto_save_turns.
    """
    asked = msgspec.convert(options, Asked)
    action = asked.action()
    from segue.console.traces import forget
    from segue.library import Library
    from segue.library import open as open_library

    places = AuroraPaths(Path.home())
    settings, warnings = load_config(places.config)
    for warning in warnings:
        output.warn(warning)
    store = open_library(f"journal:{places.sessions}").store
    with Library(store, forget=forget) as library:
        if action in {"--interactive", "--resume"}:
            from segue.dialects.aurora.chat import AuroraChat

            talk = AuroraChat(library, places, settings)
            if asked.resume is not None:
                return talk.come_back(asked.resume, asked.agent or "")
            return talk.begin(asked.agent or "", asked.session)
        return _look_after(library, asked, settings)


def _look_after(library: Library, asked: Asked, settings: AuroraConfig) -> int | None:
    from segue.dialects.aurora import sessions
    from segue.dialects.aurora.expiry import Expiry

    if asked.clean_sessions is not None:  # how old is too old is said here, and not in the settings
        sessions.clean(library, asked.clean_sessions, dry_run=asked.dry_run, as_json=asked.as_json)
        return None
    code = None
    if asked.delete_session is not None:
        code = sessions.delete(library, asked.delete_session, yes=asked.yes, as_json=asked.as_json)
    else:
        sessions.show_list(library, agent=asked.agent, status=asked.status, as_json=asked.as_json)
    with Expiry(library.store.url, settings.session_expiry_days):
        return code
