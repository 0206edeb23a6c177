"""The configuration of opencode, or of a tool made from it: where it is, and which model it names."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.values import as_text
from segue.integrations.shared.mcp_config import ConfigFiles, value_at
from segue.integrations.shared.sqlite import open_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from segue.integrations.opencode.product import Product
    from segue.integrations.shared.integration import LaunchOptions

NO_MODEL = "segue/none"
"""The name in a session for which no model is known: the tool then chooses one at the terminal."""
_VARIABLE = re.compile(r"\{env:(\w+)\}")


def config_paths(product: Product, projects: Sequence[Path], home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The files that may configure it, the one that decides last; `projects` are the folders from the top down."""
    own = product.config_folder(home, environ)
    yield own / "config.json"
    yield from _files_in(product, own)
    if named := product.variable("CONFIG", environ):
        yield home / named
    if product.variable("DISABLE_PROJECT_CONFIG", environ) in {"1", "true"}:
        projects = ()
    for folder in projects:
        yield from _files_in(product, folder)
    for folder in [home, *projects]:
        for name in product.config_folders:
            yield from _files_in(product, folder / name)
    if named := product.variable("CONFIG_DIR", environ):
        yield from _files_in(product, home / named)


def find_model(product: Product, options: LaunchOptions) -> str:
    """The model with which it would start, as `provider/model`; empty if that cannot be known without starting it."""
    configs = list(_configs(product, options))
    return (
        _last(_expanded(value_at(config, "model"), options.environ) for config in configs)
        or _last(_expanded(value_at(config, "agent", product.agent, "model"), options.environ) for config in configs)
        or _recent_model(product, options)
        or _used_model(product, options)
        or _last(_first_model(config) for config in configs)
    )


def _configs(product: Product, options: LaunchOptions) -> Iterator[object]:
    files = ConfigFiles()
    for path in config_paths(product, _projects(options.cwd), options.home, options.environ):
        yield files.read(path)
    with suppress(BadRecordError):
        yield parse_json(product.variable("CONFIG_CONTENT", options.environ).encode("utf-8", "surrogatepass"))
    for path in _files_in(product, Path("/etc") / product.name):
        yield files.read(path)


def _projects(cwd: Path) -> list[Path]:
    """The folder and those above it, up to the root of its repository, from the top down."""
    found: list[Path] = []
    for folder in [cwd.resolve(), *cwd.resolve().parents]:
        found.insert(0, folder)
        if (folder / ".git").exists():
            break
    return found


def _files_in(product: Product, folder: Path) -> list[Path]:
    return [folder / f"{name}.{kind}" for name in product.config_names for kind in ("json", "jsonc")]


def _last(values: Iterable[str]) -> str:
    found = ""
    for value in values:
        found = value or found
    return found


def _expanded(value: object, environ: Mapping[str, str]) -> str:
    """The name of a model; empty if it is not one, or is in another file."""
    text = _VARIABLE.sub(lambda found: environ.get(found[1], ""), value) if isinstance(value, str) else ""
    provider, _, model = text.partition("/")
    return text if provider and model and "{" not in text else ""


def _recent_model(product: Product, options: LaunchOptions) -> str:
    """The model that the user chose last at its terminal."""
    state = ConfigFiles().read(product.state_folder(options.home, options.environ) / "model.json")
    recent = value_at(state, "recent")
    return _named(recent[0], "modelID") if isinstance(recent, list) and recent else ""


def _used_model(product: Product, options: LaunchOptions) -> str:
    """The model of the newest session that has one."""
    for path in product.databases(options.home, options.environ):
        with suppress(SegueError), open_database(str(path)) as database:
            for row in _sessions_with_model(database):
                with suppress(BadRecordError):
                    model = _named(parse_json(as_text(row["model"]).encode("utf-8", "surrogatepass")), "id")
                    if model and model != NO_MODEL:
                        return model
    return ""


def _sessions_with_model(database: sqlite3.Connection) -> Iterator[sqlite3.Row]:
    query = "SELECT model FROM session WHERE model IS NOT NULL ORDER BY time_updated DESC LIMIT 20"
    return database.execute(query)


def _named(value: object, key: str) -> str:
    provider, model = value_at(value, "providerID"), value_at(value, key)
    return f"{provider}/{model}" if isinstance(provider, str) and isinstance(model, str) and provider and model else ""


def _first_model(config: object) -> str:
    """A model of a provider that the user configured."""
    providers = value_at(config, "provider")
    for name, provider in providers.items() if isinstance(providers, dict) else ():
        models = value_at(provider, "models")
        if isinstance(models, dict) and models:
            return f"{name}/{next(iter(models))}"
    return ""
