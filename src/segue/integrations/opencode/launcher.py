"""opencode: a document that `opencode import` puts into its database, taken up with `--session`."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import StorageError
from segue.formats.records import BadRecordError, parse_json
from segue.integrations import opencode
from segue.integrations.files import ask, discard, put
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import as_text, empty_transcript
from segue.integrations.integration import Launch, LaunchOptions, instructions, told_in_words
from segue.integrations.opencode.writer import session_id_of

if TYPE_CHECKING:
    from segue.integrations.format.transcript import Transcript
    from segue.integrations.integration import HandoverContext


class Opencode(Struct, frozen=True, kw_only=True):
    name: str = "opencode"

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        now = start.clock()
        own = session_id_of(now, secrets.token_hex(5))
        # A session goes on with the model it was held with: that has to be one which opencode has.
        model = start.model or _configured_model(start)
        if context.turns and start.headless and not model:
            return self.launch(*told_in_words(context, start))
        said = outgoing_messages(context.turns, preface=instructions(context), now=now)
        cwd = os.path.realpath(start.cwd)
        data = opencode.write(said, session_id=own, cwd=cwd, title=context.title, model=model or "segue/none", now=now)
        written = put(start.home / ".local" / "share" / "opencode" / "segue", f"{own}.json", data)
        try:
            ask([start.program, "import", written], environ=start.environ, cwd=start.cwd)
        finally:
            discard(written)
        return _ready(own, start)

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG002 - it was said first
        if not self.read_back(native_id, start).native_id:
            return None
        return _ready(native_id, start)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        argv = [start.program or self.name, "export", native_id]
        try:
            return opencode.read(ask(argv, environ=start.environ, cwd=start.cwd), place=f"opencode export {native_id}")
        except StorageError as error:
            return empty_transcript(self.name, native_id, str(error))


def _ready(own: str, start: LaunchOptions) -> Launch:
    argv = [start.program, *(["run"] if start.headless else []), f"--session={own}"]
    argv += start.chosen_model
    argv += start.options
    if start.first_words:
        argv += ["--mini", f"--prompt={start.first_words}"]  # its large screen ignores a prompt for an old session
    return Launch(
        tool="opencode",
        argv=tuple(argv),
        cwd=str(start.cwd),
        native_id=own,
        stdin=start.stdin,
    )


def _configured_model(start: LaunchOptions) -> str:
    try:
        found = parse_json(ask([start.program, "debug", "config"], environ=start.environ, cwd=start.cwd))
    except (StorageError, BadRecordError):
        return ""
    return as_text(found.get("model")) if isinstance(found, dict) else ""
