"""An agent on a host: FOLDER STORE MODEL_URL FLUSH SESSION PROMPT…; without a SESSION (`-`) it begins one.

AGENT_BACKEND is asyncio or trio. It prints `ack` and the id of the session after each answer.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from segue.bridges.claude_agent_sdk import SegueSessionStore

if TYPE_CHECKING:
    from claude_agent_sdk import SessionStoreFlushMode


async def main(folder: Path, *arguments: str) -> None:
    store, model_url, flush, session, *prompts = arguments
    config, project = folder / "config", folder / "project"
    for place in (config, project):
        place.mkdir(parents=True, exist_ok=True)
    options = ClaudeAgentOptions(
        session_store=SegueSessionStore(store, project="fleet"),
        session_store_flush=cast("SessionStoreFlushMode", flush),
        cwd=project,
        allowed_tools=["Bash", "Task", "Agent"],
        resume=None if session == "-" else session,
        env={
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(config),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model_url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        },
    )
    for prompt in prompts:
        async for message in query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage):
                options.resume = message.session_id
        sys.stdout.write(f"ack {options.resume}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), *sys.argv[2:], backend=os.environ["AGENT_BACKEND"])
