"""Starts opencode: imports a document into its database with `opencode import`, for `opencode --session`."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from segue.errors import StorageError
from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.format.values import as_text
from segue.integrations.opencode.reader import read
from segue.integrations.opencode.writer import session_id_of, write
from segue.integrations.shared.integration import Launch, context_as_prompt, system_as_message
from segue.integrations.shared.session_files import remove_file, run_command, write_file

if TYPE_CHECKING:
    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    now = options.clock()
    id = session_id_of(now, secrets.token_hex(5))
    # A session continues with the model that its messages name: it has to be one that opencode has.
    model = options.model or _configured_model(options)
    if context.turns and options.headless and not model:
        return launch(*context_as_prompt(context, options))
    messages = outgoing_messages(context.turns, preface=system_as_message(context), now=now)
    cwd = os.path.realpath(options.cwd)
    data = write(messages, session_id=id, cwd=cwd, title=context.title, model=model or "segue/none", now=now)
    written = write_file(options.home / ".local" / "share" / "opencode" / "segue", f"{id}.json", data)
    try:
        run_command([options.program, "import", written], environ=options.environ, cwd=options.cwd)
    finally:
        remove_file(written)
    return _prepare(id, options)


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG001 - it was the first message
    if not read_back(native_id, options).native_id:
        return None
    return _prepare(native_id, options)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    argv = [options.program or "opencode", "export", native_id]
    try:
        return read(run_command(argv, environ=options.environ, cwd=options.cwd), place=f"opencode export {native_id}")
    except StorageError as error:
        return empty_transcript("opencode", native_id, str(error))


def _prepare(id: str, options: LaunchOptions) -> Launch:
    argv = [options.program, *(["run"] if options.headless else []), f"--session={id}"]
    argv += options.model_arguments
    argv += options.arguments
    if options.prompt_argument:
        argv += ["--mini", f"--prompt={options.prompt_argument}"]  # its full screen ignores a prompt for an old session
    return Launch(
        tool="opencode",
        argv=tuple(argv),
        cwd=str(options.cwd),
        native_id=id,
        stdin=options.stdin,
    )


def _configured_model(options: LaunchOptions) -> str:
    try:
        found = parse_json(run_command([options.program, "debug", "config"], environ=options.environ, cwd=options.cwd))
    except (StorageError, BadRecordError):
        return ""
    return as_text(found.get("model")) if isinstance(found, dict) else ""
