"""`segue resume --with` and `--from`: an AI tool continues a session, and its replies are imported."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.cli._frameworks import command_for
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.surface import here
from segue.errors import NotFoundError, SegueError, UsageError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from segue.cli._external import ExternalMatch
    from segue.integrations import Integration, Launch, LaunchOptions
    from segue.library import Library
    from segue.session import LiveSession
    from segue.transfer.handover import Handover, ImportedReplies
    from segue.trust import Marks


def resume_in_tool(library: Library, id: str, name: str, *, model: str, printed: bool, force: bool) -> int:
    """Hand the session over, run the tool, and import its replies; or print the command for it."""
    from segue.integrations.registry import launchable

    integration = launchable().get(name)
    options = _launch_options(name, model=model, printed=printed)
    session = library.open(id)
    try:
        folder = _choose_folder(session, name)
        if folder is None:
            return Exit.DECLINED
        options = replace(options, cwd=folder)
        _import_replies(library, session, options)
        handover = _prepare(session, integration, name, options)
        session.resume(force=force)
        session.pause()  # it is not locked while the tool runs
    finally:
        session.release()
    _report(handover, name)
    if printed:
        output.write_raw(f"{_command_line(handover.launch)}\n")
        if integration is not None:
            output.warn(f"to import the replies later: {command_for(library, 'resume', id, '--from', name)}")
        return Exit.DONE
    failed = _run(handover.launch, name)
    if integration is None:
        return Exit.NO_ANSWER if failed else Exit.DONE
    count = import_from_tool(library, id, name)
    return Exit.NO_ANSWER if failed and not count else Exit.DONE


def _choose_folder(session: LiveSession, name: str) -> Path | None:
    """The folder of the session if this user has used it, else the current one; None if the user wants neither.

    Sessions travel: one that was made elsewhere does not decide alone where a tool starts.
    """
    from segue.console.paths import machine_trust
    from segue.project import folder_of

    current, recorded, trust = here(), folder_of(session.overview), machine_trust()
    folder = Path(recorded)
    if not folder.is_absolute() or recorded == os.path.realpath(current):
        trust.note_folder(os.path.realpath(current))
        return current
    shown = one_line(recorded)
    if not folder.is_dir():
        output.warn(f"{shown}, the folder of this session, does not exist here")
        if output.stdin_is_tty() and not output.confirm(f"Start {name} in {current}?", yes=False):
            return None
        output.warn(f"{name} starts in {current}")
        return current
    if not trust.has_used(recorded) and not _is_from_here(session):
        reason = f"names the folder {shown}, which you have not used with Segue"
        if not _confirm(f"This session {reason}. Start {name} there?"):
            output.warn(f"this session {reason}; {name} starts in {current}")
            return current
        trust.note_folder(recorded)
    output.warn(f"{name} starts in {shown}, the folder of this session")
    return folder


def _is_from_here(session: LiveSession) -> bool:
    """Whether it was imported from an AI tool on this machine."""
    about = session.overview
    tool, origin = about.extra.get("tool"), about.extra.get("origin")
    if not isinstance(tool, str) or not isinstance(origin, str):
        return False
    return _marks(session).is_import_of(tool, origin, about.created_at)


def resume_native(external: ExternalMatch, *, model: str, printed: bool) -> int:
    """Let a tool continue a session of its own, in the folder of that session; or print the command for it."""
    integration = external.integration
    options = _launch_options(integration.name, model=model, printed=printed)
    if (folder := Path(external.folder)).is_absolute():
        if folder.is_dir():
            options = replace(options, cwd=folder)
        else:
            output.warn(f"{folder} does not exist any more; {integration.name} starts in {options.cwd}")
    launch = integration.resume(external.id, options)
    if launch is None:
        raise NotFoundError(f"{integration.name} no longer has session {external.id}", hint="list all with: segue list")
    if printed:
        output.write_raw(f"{_command_line(launch)}\n")
        return Exit.DONE
    output.warn(f"{integration.name} continues its own session {external.id}")
    return Exit.NO_ANSWER if _run(launch, integration.name) else Exit.DONE


def import_from_tool(library: Library, id: str, name: str) -> int:
    """Import the replies of a tool; returns how many turns are new."""
    from segue.integrations.registry import launchable
    from segue.transfer.handover import import_replies, record_handover
    from segue.transfer.linked_session import find_linked_session

    known = launchable()
    if name not in known:
        raise NotFoundError(f"cannot import replies from {name!r:.40}", hint=f"use one of {', '.join(known)}")
    session = library.open(id)
    try:
        linked = find_linked_session(session.overview, name)
        if linked is None:
            raise NotFoundError(
                f"session {session.id} was never handed over to {name}",
                hint=f"hand it over with: {command_for(library, 'resume', id, '--with', name)}",
            )
        if not linked.is_agreed(marks := _marks(session), _confirm):
            raise UsageError(
                f"session {session.id} was not handed over to {name} on this machine, so nothing is imported",
                hint="run it at a terminal, and confirm",
            )
        found = import_replies(library, session, known[name], linked.native_id, _read_options())
        if found.transcript.native_id not in {"", linked.native_id}:  # the tool continued it under another id
            record_handover(session, name, found.transcript.native_id, marks)
    finally:
        session.release()
    _report_replies(found, name)
    if not found.turns:
        output.warn(f"no new turns in {name}")
    return len(found.turns)


def import_pending_replies(library: Library, id: str) -> None:
    """Import the replies of the last tool before the session is resumed here."""
    if library.store.overview(id).overrides.get("tool_session"):
        session = library.open(id)
        try:
            _import_replies(library, session, _read_options())
        finally:
            session.release()


def _import_replies(library: Library, session: LiveSession, options: LaunchOptions) -> None:
    """If the replies cannot be read, warn: the conversation continues, and they can be imported later."""
    from segue.integrations.registry import launchable
    from segue.transfer.handover import import_latest_replies
    from segue.transfer.linked_session import find_linked_session

    linked, marks = find_linked_session(session.overview), _marks(session)
    if linked is None or linked.tool not in launchable():
        return
    name = linked.tool
    if not linked.is_agreed(marks, _confirm):
        output.warn(f"this session was not handed over to {name} on this machine, so nothing is imported")
        return
    try:
        found = import_latest_replies(library, session, options, marks=marks)
    except SegueError as error:
        output.warn(f"cannot import the replies from {name}: {error}")
        return
    if found is not None and found.transcript.native_id:
        _report_replies(found, name)


def _launch_options(name: str, *, model: str, printed: bool) -> LaunchOptions:
    from segue.integrations import LaunchOptions

    headless = not printed and not output.stdin_is_tty()
    return LaunchOptions(
        cwd=here(), environ=os.environ, prompt=_read_prompt(name) if headless else "", headless=headless, model=model
    )


def _read_options() -> LaunchOptions:
    from segue.integrations import LaunchOptions

    return LaunchOptions(cwd=here(), environ=os.environ)


def _read_prompt(name: str) -> str:
    text = (sys.stdin.read() if sys.stdin is not None else "").strip()
    if not text:
        raise UsageError(f"stdin is not a terminal, so {name} needs a message", hint="pipe one in, or use --print")
    return text


def _prepare(session: LiveSession, integration: Integration | None, name: str, options: LaunchOptions) -> Handover:
    from segue.transfer.handover import hand_over, hand_over_as_text, record_handover

    if integration is None:
        return hand_over_as_text(session, name, options)
    marks = _marks(session)
    handover = hand_over(session, integration, options, marks=marks)
    record_handover(session, integration.name, handover.launch.native_id, marks)
    return handover


def _run(launch: Launch, name: str) -> bool:
    """Whether it failed."""
    code = launch.run(os.environ)
    if code:
        output.warn(f"{name} exited with {code}")
    return bool(code)


def _report(handover: Handover, name: str) -> None:
    if handover.is_return:
        output.warn(f"{name} continues its existing session, which is up to date")
        return
    for loss in handover.losses:
        output.warn(f"for {name}: {loss}")
    count = len(handover.losses)
    lost = f"{count} {'loss' if count == 1 else 'losses'} listed above" if count else "nothing lost"
    output.warn(f"handed over to {name}, {lost}")
    if not handover.launch.native_id:
        output.warn(f"the replies of {name} cannot be imported")


def _report_replies(found: ImportedReplies, name: str) -> None:
    for damage in found.transcript.damages:
        output.warn(f"cannot read all replies from {name}: {damage}")
    if count := len(found.turns):
        output.warn(f"imported {count:,} turn{'' if count == 1 else 's'} from {name}")


def _marks(session: LiveSession) -> Marks:
    from segue.console.paths import trust_folder
    from segue.trust import Trust

    return Trust(trust_folder()).of(session.store.url, session.id)


def _confirm(question: str) -> bool:
    return output.stdin_is_tty() and output.confirm(question, yes=False)


def _command_line(launch: Launch) -> str:
    """The launch as a shell command; `cd` first, since most tools find their sessions by the folder."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in launch.environ.items()]
    return f"cd {shlex.quote(launch.cwd)} && {' '.join([*variables, shlex.join(launch.argv)])}"
