"""A `Surface` over a folder of a test, whose user says nothing."""

from __future__ import annotations

from io import BytesIO, StringIO
from typing import TYPE_CHECKING

from segue.chat.terminal.script import ScriptTerminal
from segue.surface import Paths, Surface

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from segue.surface import Terminal


def make_surface(
    root: Path,
    *,
    terminal: Terminal | None = None,
    environ: Mapping[str, str] | None = None,
    confirm: Callable[[str], bool] = lambda _: False,
    notify: Callable[[str], None] = lambda _: None,
) -> Surface:
    state = root / "state"
    return Surface(
        terminal=terminal or ScriptTerminal(BytesIO(), StringIO(), StringIO()),
        cwd=root,
        home=root / "home",
        environ={"PATH": ""} if environ is None else environ,
        paths=Paths(config=root / "config", state=state, cache=root / "cache", history=state / "history.jsonl"),
        notify=notify,
        confirm=confirm,
    )
