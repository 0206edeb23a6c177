"""LangGraph on Segue: `SegueSaver` is a checkpointer whose threads are sessions."""

from segue.errors import MissingExtraError

try:
    from segue.bridges.langgraph.saver import SegueSaver
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith(("langgraph", "langchain_core")):
        raise
    raise MissingExtraError("langgraph", "langgraph") from None

__all__ = ["SegueSaver"]
