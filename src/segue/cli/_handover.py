"""`segue resume --with` and `--from`: a session goes on in an AI tool, and what was said there comes back."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.surface import here
from segue.errors import NotFoundError, SegueError, UsageError

if TYPE_CHECKING:
    from segue.cli._external import ExternalMatch
    from segue.integrations import Integration, Launch
    from segue.library import Library
    from segue.session import LiveSession
    from segue.transfer.handover import Handover, How, ReturnedTurns
    from segue.trust import Marks


def resume_in_tool(library: Library, id: str, name: str, *, model: str, printed: bool, force: bool) -> int:
    """Hand the session over, let the tool run, and take back what was said; or print the command that would."""
    from segue.integrations import INTEGRATIONS

    tool = INTEGRATIONS.get(name)
    how: How = {
        "cwd": here(),
        "environ": os.environ,
        "prompt": "" if printed or output.stdin_is_tty() else _piped(name),
        "headless": not printed and not output.stdin_is_tty(),
        "model": model,
    }
    session = library.open(id)
    try:
        _catch_up(library, session)
        handover = _prepared(session, tool, name, how)
        session.resume(force=force)
        session.pause()  # for as long as the tool has it, nobody here does
    finally:
        session.release()
    _report(handover, name)
    launch = handover.launch
    if printed:
        output.write_raw(f"{_line(launch)}\n")
        if tool is not None:
            output.warn(f"what is said there comes back with {_again(library, id, '--from', name)}, or the next resume")
        return Exit.DONE
    code = launch.run(os.environ)
    if code:
        output.warn(f"{name} ended with {code}")
    if tool is None:
        return Exit.NO_ANSWER if code else Exit.DONE
    count = import_from_tool(library, id, name)
    return Exit.NO_ANSWER if code and not count else Exit.DONE


def resume_native(kept: ExternalMatch, *, model: str, printed: bool) -> int:
    """Let a tool go on with a session of its own, where it was held; or print the command that would."""
    from segue.integrations import INTEGRATIONS

    tool, cwd = INTEGRATIONS[kept.tool], here()
    if (folder := Path(kept.folder)).is_absolute():
        if folder.is_dir():
            cwd = folder
        else:
            output.warn(f"{folder} is not there any more; {tool.name} starts in {cwd}")
    launch = tool.resume(
        kept.id,
        cwd=cwd,
        environ=os.environ,
        prompt="" if printed or output.stdin_is_tty() else _piped(tool.name),
        headless=not printed and not output.stdin_is_tty(),
        model=model,
    )
    if launch is None:
        raise NotFoundError(f"{tool.name} has no session {kept.id} any more", hint="segue list shows all")
    if printed:
        output.write_raw(f"{_line(launch)}\n")
        return Exit.DONE
    output.warn(f"{tool.name} goes on with its own session {kept.id}")
    code = launch.run(os.environ)
    if code:
        output.warn(f"{tool.name} ended with {code}")
    return Exit.NO_ANSWER if code else Exit.DONE


def import_from_tool(library: Library, id: str, name: str) -> int:
    """Record what was said in the tool since; how many turns that were."""
    from segue.integrations import INTEGRATIONS
    from segue.integrations.link import link_of
    from segue.transfer.handover import record_handover, take_back

    tool = INTEGRATIONS.get(name)
    if tool is None:
        raise NotFoundError(
            f"Segue does not read what is said in {name!r:.40}", hint=f"it does for {', '.join(INTEGRATIONS)}"
        )
    session = library.open(id)
    try:
        link = link_of(session.overview, name)
        if link is None:
            raise NotFoundError(
                f"session {session.id} was never handed over to {name}",
                hint=f"{_again(library, id, '--with', name)} does it",
            )
        if not link.is_agreed(marks := _marks(session), _confirm):
            raise UsageError(
                f"session {session.id} was not handed over to {name} here, so nothing is copied from there",
                hint="do it at a terminal, and say yes",
            )
        found = take_back(library, session, tool, link.native_id, cwd=here(), environ=os.environ)
        if found.transcript.native_id not in {"", link.native_id}:  # the tool went on under another name
            record_handover(session, name, found.transcript.native_id, marks)
    finally:
        session.release()
    _notify(found, name)
    if not found.turns:
        output.warn(f"nothing new was said in {name}")
    return len(found.turns)


def catch_up(library: Library, id: str) -> None:
    """Take back what was said in a tool since, before the session goes on here."""
    if library.store.overview(id).overrides.get("tool_session"):
        session = library.open(id)
        try:
            _catch_up(library, session)
        finally:
            session.release()


def _catch_up(library: Library, session: LiveSession) -> None:
    """What cannot be read costs a warning: the conversation goes on without it, and it can be taken back later."""
    from segue.integrations import INTEGRATIONS
    from segue.integrations.link import link_of
    from segue.transfer.handover import catch_up

    link, marks = link_of(session.overview), _marks(session)
    if link is None or link.tool not in INTEGRATIONS:
        return
    name = link.tool
    if not link.is_agreed(marks, _confirm):
        output.warn(f"this session was not handed over to {name} here, so nothing is copied from there")
        return
    try:
        found = catch_up(library, session, cwd=here(), environ=os.environ, marks=marks)
    except SegueError as error:
        output.warn(f"what was said in {name} cannot be read: {error}")
        return
    if found is not None and found.transcript.native_id:
        _notify(found, name)


def _notify(found: ReturnedTurns, name: str) -> None:
    for damage in found.transcript.damages:
        output.warn(f"what was said in {name} cannot be read whole: {damage}")
    if count := len(found.turns):
        output.warn(f"{count:,} turn{'' if count == 1 else 's'} came back from {name}")


def _prepared(session: LiveSession, tool: Integration | None, name: str, how: How) -> Handover:
    from segue.transfer.handover import hand_document, hand_over, record_handover

    if tool is None:
        return hand_document(session, name, how)
    marks = _marks(session)
    handover = hand_over(session, tool, how, marks=marks)
    record_handover(session, tool.name, handover.launch.native_id, marks)
    return handover


def _marks(session: LiveSession) -> Marks:
    from segue.console.paths import trust_folder
    from segue.trust import Trust

    return Trust(trust_folder()).of(session.store.url, session.id)


def _confirm(question: str) -> bool:
    return output.stdin_is_tty() and output.confirm(question, yes=False)


def _report(handover: Handover, name: str) -> None:
    if handover.is_return:
        output.warn(f"{name} goes on in its own session, where nothing was missed")
        return
    for loss in handover.losses:
        output.warn(f"for {name}: {loss}")
    output.warn(
        f"handed over to {name}; losses: {f'{len(handover.losses)}, named above' if handover.losses else 'none'}"
    )
    if not handover.launch.native_id:
        output.warn(f"what is said in {name} does not come back")


def _piped(name: str) -> str:
    said = (sys.stdin.read() if sys.stdin is not None else "").strip()
    if not said:
        raise UsageError(
            f"there is no terminal to open {name} at", hint="pipe in what you want to say there, or say --print"
        )
    return said


def _line(launch: Launch) -> str:
    """As one types it; `cd` first, since most tools find their sessions by the folder."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in launch.environ.items()]
    return f"cd {shlex.quote(launch.cwd)} && {' '.join([*variables, shlex.join(launch.argv)])}"


def _again(library: Library, id: str, *words: str) -> str:
    """The command, with the store where the call named one."""
    said = click.get_current_context().get_parameter_source("library") is click.core.ParameterSource.COMMANDLINE
    return shlex.join(["segue", "resume", id, *words, *(("--store", library.store.url) if said else ())])
