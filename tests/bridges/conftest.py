"""The tests of the bridges run in the environment of their frameworks, which `./test` sets up."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("langgraph") is not None else ["*"]
