"""Configuration files: `config.toml` of Segue, and any other TOML file that a Struct describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, Struct

from segue.durable.kernel import storage_error
from segue.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from segue.chat.agents.resolved import ChatSettings
    from segue.tools.mcp import McpServer

T = TypeVar("T", bound=Struct)

_MOST_MINUTES = 1e9

Text = Annotated[str, Meta(description="a text")]
Minutes = Annotated[float, Meta(ge=0, le=_MOST_MINUTES, description="a number of minutes, or 0 for never")]


class OpenAITable(Struct, frozen=True, kw_only=True):
    base_url: Text = ""


class SegueConfig(Struct, frozen=True, kw_only=True):
    """The settings of config.toml."""

    agent: Text = ""
    model: Text = ""
    max_tokens: Annotated[int, Meta(ge=1, description="a number of tokens")] = 0
    """0 for the default."""
    idle_minutes: Minutes = 5
    store: Annotated[str, Meta(description='a store, as in "journal:~/notes"')] = ""
    """The default store; read by `segue.user_folders`."""
    openai: OpenAITable = OpenAITable()
    stores: Annotated[list[Any], Meta(description='a list of stores, as in ["cortext:~/notes"]')] = []
    mcp: Annotated[dict[str, Any], Meta(description="tables of servers, as in [mcp.notes]")] = {}


def read_config(path: Path, kind: type[T]) -> T:
    """The settings in a TOML file; the defaults if there is no file. UsageError names the line that is wrong."""
    from segue.formats.config import InvalidConfigError, parse_toml

    try:
        return parse_toml(path.read_bytes(), kind)
    except (FileNotFoundError, NotADirectoryError):
        return kind()
    except OSError as error:
        raise storage_error(error, str(path), "read") from None
    except InvalidConfigError as error:
        hint = error.hint or "correct it, or remove the line"
        raise UsageError(f"{path} line {error.line}: {error}", hint=hint) from None


def read_settings(path: Path) -> ChatSettings:
    """The settings of conversations."""
    from segue.chat.agents.resolved import ChatSettings
    from segue.chat.conversation import MAX_TOKENS

    config = read_config(path, SegueConfig)
    return ChatSettings(
        agent=config.agent,
        model=config.model,
        max_tokens=config.max_tokens or MAX_TOKENS,
        idle_minutes=config.idle_minutes,
        openai_base_url=config.openai.base_url,
    )


def read_stores(path: Path) -> list[str]:
    """The stores to list and search in addition to the default one."""
    from segue.formats.store_url import hide_password
    from segue.registry import SCHEMES

    stores = read_config(path, SegueConfig).stores
    for url in stores:
        if not isinstance(url, str) or url.partition(":")[0] not in SCHEMES:
            known = ", ".join(f"{scheme}:" for scheme in SCHEMES)
            shown = hide_password(url) if isinstance(url, str) else url
            raise UsageError(
                f"{path}: {shown!r:.60} in stores does not name a store", hint=f"begin with one of {known}"
            )
    return stores


def find_store(shown: str) -> str:
    """The URL of a store by how it is shown: a configured one may have a password, which is never shown."""
    from segue.formats.store_url import SERVERS
    from segue.user_folders import config_path, default_store_url

    if shown.partition(":")[0] not in SERVERS:
        return shown
    from segue.stores.postgres.address import parse_address

    known = (url for url in (default_store_url(), *read_stores(config_path())) if url.partition(":")[0] in SERVERS)
    return next((url for url in known if parse_address(url).url == shown), shown)


def read_servers(path: Path) -> dict[str, McpServer]:
    """The MCP servers."""
    tables = read_config(path, SegueConfig).mcp
    if not tables:
        return {}
    from segue.tools.mcp import parse_server

    try:
        return {name: parse_server(name, table) for name, table in tables.items()}
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None
