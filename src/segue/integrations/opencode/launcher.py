"""Starts opencode: imports a document into its database with `opencode import`, for `opencode --session`."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import SegueError
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.opencode.config import NO_MODEL, find_model
from segue.integrations.opencode.history import HISTORY
from segue.integrations.opencode.ids import session_id_of
from segue.integrations.opencode.product import OPENCODE
from segue.integrations.opencode.writer import write
from segue.integrations.shared.integration import Launch, context_as_prompt, system_as_message
from segue.integrations.shared.session_files import remove_file, run_command, write_file

if TYPE_CHECKING:
    from segue.integrations.format.transcript import Transcript
    from segue.integrations.opencode.database import DatabaseHistory
    from segue.integrations.opencode.product import Product
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


class Launcher:
    """The functions of the module `launcher` for one product. Each start of it takes seconds: two are enough."""

    def __init__(self, product: Product, history: DatabaseHistory) -> None:
        self._product = product
        self._history = history

    def launch(self, context: HandoverContext, options: LaunchOptions) -> Launch:
        now = options.clock()
        id = session_id_of(now, secrets.token_hex(5))
        # A session continues with the model that its messages name: it has to be one that the tool has.
        model = options.model or find_model(self._product, options)
        if context.turns and options.prompt and not model:
            return replace(self.launch(*context_as_prompt(context, options)), is_text=True)
        data = write(
            outgoing_messages(context.turns, preface=system_as_message(context), now=now, carries=context.carries),
            session_id=id,
            cwd=os.path.realpath(options.cwd),
            title=context.title,
            agent=self._product.agent,
            model=model or NO_MODEL,
            now=now,
        )
        folder = self._product.data_folder(options.home, options.environ) / "segue"
        written = write_file(folder, f"{id}.json", data)
        try:
            run_command([options.program, "import", written], environ=options.environ, cwd=options.cwd)
        finally:
            remove_file(written)
        return self._prepare(id, options)

    def resume(self, native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG002 - it was the first message
        if self._history.find(native_id, options.home, options.environ) is None:
            return None
        return self._prepare(native_id, options)

    def read_back(self, native_id: str, options: LaunchOptions) -> Transcript:
        name = self._product.name
        try:
            found = self._history.find(native_id, options.home, options.environ)
        except SegueError as error:
            return empty_transcript(name, native_id, str(error))
        if found is None:
            return empty_transcript(name, native_id, f"{name} does not have this session")
        builder, turns = self._history.read(found)
        return builder.transcript(turns)

    def _prepare(self, id: str, options: LaunchOptions) -> Launch:
        argv = [options.program, *(["run"] if options.headless else []), f"--session={id}"]
        argv += options.model_arguments
        argv += options.arguments
        if options.prompt_argument:
            argv += ["--mini", f"--prompt={options.prompt_argument}"]  # its full screen ignores it for an old session
        return options.launch(self._product.name, argv, id)


_LAUNCHER = Launcher(OPENCODE, HISTORY)
launch = _LAUNCHER.launch
resume = _LAUNCHER.resume
read_back = _LAUNCHER.read_back
