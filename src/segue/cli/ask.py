from __future__ import annotations

import os
import select
import sys
from io import BytesIO
from typing import TYPE_CHECKING

import click

from segue.chat.terminal.script import ScriptTerminal
from segue.cli._frameworks import check_no_program, check_not_framework
from segue.cli._lookup import find_stored
from segue.console import options, output
from segue.console.paths import origin_here
from segue.console.recent import record_session
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from segue.chat.conversation import Conversation
    from segue.cli._lookup import FoundSession
    from segue.library import Library
    from segue.surface import Terminal

_STDIN = "standard input"
_PIECE = 1 << 16
_PATIENCE_SECONDS = 3.0


@options.verb(
    'segue ask "Why does login fail?"',
    'segue ask "What is wrong here?" < error.log',
    'git diff | segue ask --agent reviewer "Review this"',
    'segue ask -c "And if the clock is wrong?"',
    'segue ask --session login "And if the clock is wrong?"',
)
@click.argument("question", metavar="[QUESTION]", required=False, type=options.text)
@click.option(
    "--session",
    "id",
    cls=options.SessionOption,
    metavar="ID",
    type=options.text,
    shell_complete=options.complete_ids,
    help="Session to ask in, instead of a new one.",
)
@click.option("-c", "--continue", "continues", is_flag=True, help="Ask in the first session of segue list.")
@options.agent
@options.model
@options.yes_to_tools
@options.library
@options.as_json
def command(
    *,
    library: Library,
    question: str | None,
    id: str | None,
    continues: bool,
    agent: str,
    model: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Ask one question; only the answer goes to standard output.

    Standard input is attached as context, unless it is a terminal; without QUESTION, it is the question. The question
    and the answer are recorded, and segue ask -c or segue resume continues the session.

    If there is no --agent, no API key and no AI tool, nothing is asked and the exit code is 8. The rule-based offline
    agent answers only on request: --agent offline.
    """
    from segue.chat.agent import NoAgentError
    from segue.chat.lifecycle import resume, start
    from segue.console.surface import open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.tools.approval import TerminalApprover

    given = _read_stdin()
    if question is None:
        question, given = given.strip(), ""
    if not question.strip():
        raise UsageError("there is no question", hint="give QUESTION, or pipe it to standard input")
    found = _find(library, id, continues=continues)
    check_not_framework(agent)
    if found is not None and not agent:
        check_no_program(found.library, found.id)
    surface = open_surface(terminal=_AnswerTerminal(quiet=as_json), notify=output.warn)
    resolver = open_agents(
        surface,
        approver=TerminalApprover(surface.terminal, yes=yes),
        needs_model=True,
        preset_for=preset_by_type(surface.cwd),
    )
    try:
        if found is None:
            resolved = resolver.choose(agent, model=model)
            conversation = start(library, resolver, resolved, extra=origin_here(surface.cwd))
        else:
            conversation = resume(found.library, resolver, found.id, agent=agent, model=model)
    except NoAgentError as error:
        error.hint = "segue setup shows what is missing; --agent offline asks the rule-based offline agent"
        raise
    session = conversation.session
    record_session(session.store.url, session.id)
    output.warn(f"session {session.id}")
    try:
        if given:
            session.attach(_STDIN, given.encode())
        for cut in conversation.requests.cuts():
            output.warn(f"{cut} of {cut.path} are sent; raise max_tokens in the configuration to send more")
        _take(conversation, question, surface.terminal)
        if as_json:
            output.data(_facts(conversation))
    finally:
        session.close()
        resolver.close()


def _find(library: Library, id: str | None, *, continues: bool) -> FoundSession | None:
    if continues and id is not None:
        raise UsageError("--continue and --session cannot be used together", hint="omit one of them")
    text = options.LAST if continues else id
    return None if text is None else find_stored(library, text, skips_damaged=True)


class _AnswerTerminal(ScriptTerminal):
    """Writes the answer exactly as it is to standard output, and everything else to standard error."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(BytesIO(), sys.stdout, sys.stderr)
        self.is_interactive = output.stdin_is_tty()
        self._quiet = quiet

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        del waiting
        ended = True
        try:
            for piece in pieces:
                if not self._quiet:
                    output.write_raw(piece)
                    ended = piece.endswith("\n")
        finally:
            if not ended:
                output.write_raw("\n")

    def note(self, text: str) -> None:
        output.write_stderr(text)

    def diff(self, text: str) -> None:
        output.diff(text)

    def answer(self, question: str) -> str | None:
        return output.prompt_after_flush(f"{question} ")

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        del default, safe  # only a clear yes is one
        return output.confirm(question, yes=False)


def _take(conversation: Conversation, question: str, terminal: Terminal) -> None:
    """The whole answer; after Ctrl-C, the part that had arrived is recorded."""
    from segue import process
    from segue.chat.tool_loop import run_tool_loop

    with process.exit_on_signal(), process.interruptible(lambda: conversation.is_streaming):
        run_tool_loop(conversation, conversation.ask(question), show=terminal.show, notify=output.warn)


def _facts(conversation: Conversation) -> dict[str, object]:
    (answer,) = conversation.session.tail(1)
    return {
        "session": conversation.session.id,
        "agent": conversation.agent.name,
        "model": answer.model,
        "answer": answer.content,
        "tokens": answer.tokens,
        "tokens_by": answer.tokens_by,
    }


def _read_stdin() -> str:
    """All of standard input, if it is not a terminal."""
    from segue.chat.commands.attachments import LIMIT_BYTES

    if sys.stdin is None or output.stdin_is_tty():
        return ""
    data = b""
    for piece in _pieces():
        data += piece
        if len(data) > LIMIT_BYTES:
            raise UsageError(
                f"standard input is larger than {LIMIT_BYTES:,} bytes", hint="pipe only the part that matters"
            )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8 (byte {error.start + 1}); nothing was asked", hint="convert it first"
        ) from None


def _pieces() -> Generator[bytes, None, None]:
    """Standard input as it arrives, with a message if nothing arrives for a while."""
    try:
        if not select.select([0], [], [], _PATIENCE_SECONDS)[0]:
            output.warn("waiting for standard input; to ask without it, use < /dev/null")
        while piece := os.read(0, _PIECE):
            yield piece
    except OSError:
        return  # closed: there is none
