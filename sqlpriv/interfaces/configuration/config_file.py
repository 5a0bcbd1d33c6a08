"""`sqlpriv.toml`: connections by name, and defaults of the command line.

    [defaults]
    privacy_epsilon = 0.1                     # what a private statement costs, unless it says so
    format = "csv"                            # of `query` and `budget`, and the shell's mode

    [connections.census]
    url = "grpc+tls://data.example.org:31337"  # or vault = "people.duckdb"
    token_file = "~/.config/sqlpriv/ada.token"
    ca = "ca.pem"

The file is the one that SQLPRIV_CONFIG names, else `sqlpriv.toml` in the current folder, else
`~/.config/sqlpriv/sqlpriv.toml`. Paths in it are relative to the folder that it lies in.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlpriv.errors import InterfaceError

NAME = "sqlpriv.toml"
_CONNECTION_NAME = re.compile(r"[A-Za-z_][\w-]*")
_TEXTS = ("vault", "url", "role", "principal", "dialect")
_PATHS = ("token_file", "ca")
_CONNECTION_KEYS = (*_TEXTS, *_PATHS, "privacy_epsilon")
_DEFAULT_KEYS = ("principal", *_PATHS, "privacy_epsilon", "format")


@dataclass(frozen=True)
class ConnectionSettings:
    """How to connect to one vault.

    Args:
        vault: The path of its file, or the address of its server.
        role: "analyst" or "owner", for a file; None for an analyst.
        principal: Whose name charges are recorded under, for a file; None for the system's.
        token_file: Where the token for a server is kept.
        ca: A PEM file of the certificates to trust.
        privacy_epsilon: What a private statement costs, unless it says so itself.
        dialect: The SQL dialect that statements are read in; None for DuckDB's.
    """

    vault: str
    role: str | None = None
    principal: str | None = None
    token_file: Path | None = None
    ca: Path | None = None
    privacy_epsilon: float | None = None
    dialect: str | None = None

    def filled_from(self, other: ConnectionSettings) -> ConnectionSettings:
        """Returns these settings, with those of `other` where these are None."""
        names = ("role", "principal", "token_file", "ca", "privacy_epsilon", "dialect")
        missing = {name: getattr(other, name) for name in names if getattr(self, name) is None}
        return replace(self, **missing)


@dataclass(frozen=True)
class Config:
    """What `sqlpriv.toml` says; empty where there is no such file.

    Args:
        defaults: Of every connection that the command line makes, or that has a name.
        connections: By name.
        form: The name of the format that rows are written in; '' for the usual.
    """

    defaults: ConnectionSettings = ConnectionSettings("")
    connections: Mapping[str, ConnectionSettings] = field(default_factory=dict)
    form: str = ""

    def settings_of(self, vault: str) -> ConnectionSettings:
        """Returns how to connect to what somebody has named: a connection, a path, an address."""
        named = self.connections.get(vault, ConnectionSettings(vault))
        return named.filled_from(self.defaults)


def is_connection_name(text: str) -> bool:
    """Tells whether a text may name a connection: one word, without a dot or a slash.

    >>> is_connection_name("census"), is_connection_name("people.duckdb")
    (True, False)
    """
    return _CONNECTION_NAME.fullmatch(text) is not None


def load_config() -> Config:
    """Reads the config file that counts here.

    Raises:
        InterfaceError: It cannot be read, is somebody else's, or says what we do not know.
    """
    path = _config_path()
    if path is None:
        return Config()
    try:
        _check_owner(path)
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InterfaceError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InterfaceError(f"{path} is no TOML: {error}") from None
    return _parse_config(content, path)


def _config_path() -> Path | None:
    if named := os.environ.get("SQLPRIV_CONFIG"):
        return Path(named).expanduser()
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    candidates = (Path(NAME), Path(folder).expanduser() / "sqlpriv" / NAME)
    return next((path.absolute() for path in candidates if path.is_file()), None)


def _check_owner(path: Path) -> None:
    """Refuses a file that somebody else can write: it could send a token to a server of theirs."""
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o002:
        raise InterfaceError(
            f"{path} belongs to somebody else, or everybody may write it: it is not read,"
            " because it says where tokens are sent"
        )


def _parse_config(content: Mapping[str, Any], path: Path) -> Config:
    _check_keys(content, ("defaults", "connections"), f"{path}")
    defaults = _table(content, "defaults", path)
    _check_keys(defaults, _DEFAULT_KEYS, f"{path}: [defaults]")
    connections = {}
    for name, entry in _table(content, "connections", path).items():
        where = f"{path}: [connections.{name}]"
        if not isinstance(entry, dict) or not is_connection_name(name):
            raise InterfaceError(f"{where} is no table, or its name is no plain word")
        _check_keys(entry, _CONNECTION_KEYS, where)
        if ("vault" in entry) == ("url" in entry):
            raise InterfaceError(f'{where} needs vault = "FILE" or url = "grpc+tls://HOST:PORT"')
        connections[name] = _settings(entry, path.parent, where)
    form = defaults.get("format", "")
    if not isinstance(form, str):
        raise InterfaceError(f'{path}: format is a text, as in format = "csv"')
    return Config(_settings(defaults, path.parent, f"{path}: [defaults]"), connections, form)


def _table(content: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise InterfaceError(f"{path}: {name} is a table: write [{name}]")
    return table


def _check_keys(entry: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    if unknown := sorted(set(entry) - set(keys)):
        raise InterfaceError(f"{where} has no {unknown[0]}; it has {', '.join(keys)}")


def _settings(entry: Mapping[str, Any], folder: Path, where: str) -> ConnectionSettings:
    for key in (*_TEXTS, *_PATHS):
        if not isinstance(entry.get(key, ""), str):
            raise InterfaceError(f'{where}: {key} is a text: write {key} = "…"')
    epsilon = entry.get("privacy_epsilon")
    if epsilon is not None and (isinstance(epsilon, bool) or not isinstance(epsilon, int | float)):
        raise InterfaceError(f"{where}: privacy_epsilon is a number, as in 0.1")
    paths = {
        key: folder / Path(entry[key]).expanduser() if key in entry else None for key in _PATHS
    }
    vault = entry.get("url", "")
    if "vault" in entry:
        vault = str(folder / Path(entry["vault"]).expanduser())
    return ConnectionSettings(
        vault,
        entry.get("role"),
        entry.get("principal"),
        paths["token_file"],
        paths["ca"],
        None if epsilon is None else float(epsilon),
        entry.get("dialect"),
    )
