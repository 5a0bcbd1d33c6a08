"""What a client of PostgreSQL's protocol SETs and SHOWs: its own settings, and the session's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan

ERROR_COLUMNS = "privacy_error_columns"
"""When it is on, each number of a private answer has a column `<name>_error` behind it."""
CLIENT_MESSAGES = "client_min_messages"
"""How grave a message must be that the client is sent: a notice, or an error alone."""
REPORTED = {
    "server_version": "15.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "default_transaction_read_only": "off",
    "in_hot_standby": "off",
}
"""What ParameterStatus tells at the start."""
_FIXED = {
    "server_version",
    "server_encoding",
    "integer_datetimes",
    "standard_conforming_strings",
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "client_encoding",
}
_DEFAULTS = {
    "search_path": "public",
    "transaction_isolation": "read committed",
    "extra_float_digits": "1",
    "server_version_num": "150000",
    "max_identifier_length": "63",
    "statement_timeout": "0",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "bytea_output": "hex",
    "max_index_keys": "32",
    "default_table_access_method": "heap",
    ERROR_COLUMNS: "off",
    CLIENT_MESSAGES: "notice",
    "password_encryption": "scram-sha-256",
}
SETTINGS = REPORTED | _DEFAULTS
"""What SHOW ALL and pg_settings tell, until a client sets otherwise."""
STATEMENT_TIMEOUT = "statement_timeout"
_UNITS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000, "ms": 1}
"""Milliseconds of a unit of time, the longest first."""
_ON = {"on", "true", "1", "yes", "t"}


def default_dialect(role: str) -> str:
    """Returns the SQL dialect that a connection's statements are read in until it sets another.

    An analyst's are PostgreSQL's, as these clients write them. An owner loads rows, makes tables:
    that is DuckDB's SQL alone.
    """
    return "duckdb" if role == "owner" else "postgres"


@dataclass
class ClientSettings:
    """The settings of one connection.

    Attributes:
        values: What was SET, by lower-case name.
        at_start: What RESET goes back to: what the first message, or the user's rules, said.
    """

    values: dict[str, str] = field(default_factory=dict)
    at_start: dict[str, str] = field(default_factory=dict)

    def keep_as_start(self) -> None:
        """Has RESET go back to what is set now."""
        self.at_start = dict(self.values)

    @property
    def error_columns(self) -> bool:
        """Whether answers have columns of errors."""
        return self.values.get(ERROR_COLUMNS, "off").lower() in _ON

    @property
    def takes_notices(self) -> bool:
        """Whether the client wants to hear what an answer cost and how sure it is."""
        level = self.values.get(CLIENT_MESSAGES, "notice").lower()
        return level not in ("warning", "error", "fatal", "panic")

    @property
    def patience(self) -> float | None:
        """For how many seconds the client waits for a statement; None for as long as it takes."""
        return milliseconds(self.values.get(STATEMENT_TIMEOUT, "0")) / 1000 or None

    def set(self, name: str, value: str) -> tuple[str, str] | None:
        """Keeps a setting; returns (name, value) where the client has to be told of it.

        What the server does not do otherwise (another time zone, say) keeps its value: times are
        sent in UTC and say so.

        Raises:
            SqlStateError: Text is asked for in another encoding than UTF-8, or a time is none.
        """
        lower = name.lower()
        if lower == STATEMENT_TIMEOUT:
            value = shown_time(milliseconds(value))
        if lower == "client_encoding" and not re.fullmatch(r"\W*(utf\W?8|unicode)\W*", value, re.I):
            raise SqlStateError("22023", "text is sent as UTF-8 and in no other encoding")
        reported = next((names for names in REPORTED if names.lower() == lower), None)
        if reported in _FIXED:
            return None
        self.values[lower] = value
        return (reported, value) if reported else None

    def show(self, name: str) -> str:
        """Returns the value of a setting.

        Raises:
            SqlStateError: There is none of that name.
        """
        lower = name.lower()
        names = {key.lower(): value for key, value in SETTINGS.items()}
        if lower not in self.values and lower not in names:
            raise SqlStateError("42704", f'there is no setting "{name}"')
        return self.values.get(lower, names.get(lower, ""))

    def all(self) -> dict[str, str]:
        """Returns the value of each setting, by its name."""
        own = {name: name for name in SETTINGS}
        own |= {name: name for name in self.values if name not in map(str.lower, own)}
        return {name: self.show(name) for name in sorted(own, key=str.lower)}

    def reset(self, name: str = "") -> None:
        """Has a setting, or all of them, as at the start."""
        if not name:
            self.values = dict(self.at_start)
            return
        lower = name.lower()
        self.values.pop(lower, None)
        if lower in self.at_start:
            self.values[lower] = self.at_start[lower]


def milliseconds(time: str) -> int:
    """Returns how long a setting of time is, written as PostgreSQL does: a number alone is of ms.

    >>> [milliseconds(time) for time in ("1500", "2 s", "1.5min", "0")]
    [1500, 2000, 90000, 0]

    Raises:
        SqlStateError: It is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", time.strip())
    if match is None or (match[2] and match[2] not in _UNITS):
        units = ", ".join(reversed(_UNITS))
        raise SqlStateError("22023", f'"{time}" is no time: write a number, and one of {units}')
    return round(float(match[1]) * _UNITS[match[2] or "ms"])


def shown_time(milliseconds: int) -> str:
    """Returns a time in the longest unit that it is a whole number of, as PostgreSQL shows it.

    >>> shown_time(90_000), shown_time(60_000), shown_time(0)
    ('90s', '1min', '0')
    """
    unit = next(unit for unit, length in _UNITS.items() if milliseconds % length == 0)
    return f"{milliseconds // _UNITS[unit]}{unit}" if milliseconds else "0"


def startup_settings(parameters: Mapping[str, str]) -> dict[str, str]:
    """Returns what a client sets in its first message: by name, or as `options` of a command line.

    >>> startup_settings({"user": "ada", "options": "-c privacy_epsilon=0.1 --jit=off", "a": "b"})
    {'a': 'b', 'privacy_epsilon': '0.1', 'jit': 'off'}
    """
    skipped = {"user", "database", "options", "replication"}
    settings = {name: value for name, value in parameters.items() if name not in skipped}
    try:
        words = shlex.split(parameters.get("options", ""))
    except ValueError:
        words = []
    for word in words:
        if match := re.fullmatch(r"(?:-c|--)?([A-Za-z_.]+)=(.*)", word):
            settings[match[1]] = match[2]
    return settings


def assignment(scan: StatementScan) -> tuple[str, str | None]:
    """Returns the name and the value of a SET or RESET; None as the value forgets it.

    >>> assignment(StatementScan("SET SESSION privacy_epsilon TO '0.5'"))
    ('privacy_epsilon', '0.5')
    >>> assignment(StatementScan("SET TIME ZONE 'UTC'")), assignment(StatementScan("RESET ALL"))
    (('TimeZone', 'UTC'), ('all', None))

    Raises:
        SqlStateError: The statement is of no such form.
    """
    rest = list(scan.tokens[1:])
    if rest and rest[0].upper in ("SESSION", "LOCAL") and len(rest) > 1:
        rest = rest[1:]
    if [token.upper for token in rest[:2]] == ["TIME", "ZONE"]:
        return "TimeZone", _value(rest[2:])
    if rest and rest[0].upper in ("AUTHORIZATION", "ROLE"):
        return rest[0].name, _value(rest[1:])
    if rest and rest[0].upper in ("CHARACTERISTICS", "TRANSACTION"):
        return rest[0].name, ""
    if rest and rest[0].upper == "NAMES":
        return "client_encoding", _value(rest[1:])
    name = "".join(token.name or "." for token in rest[: _name_end(rest)])
    if not name:
        raise SqlStateError("42601", "write SET name = value")
    if scan.starts("RESET"):
        return name, None
    values = rest[_name_end(rest) :]
    if not values or values[0].upper not in ("=", "TO") or len(values) < 2:
        raise SqlStateError("42601", "write SET name = value")
    return name, None if values[1].upper == "DEFAULT" else _value(values[1:])


def _name_end(rest: Sequence[object]) -> int:
    ends = (at for at, token in enumerate(rest) if getattr(token, "upper", "") in ("=", "TO"))
    return next(ends, len(rest))


def _value(rest: Sequence[object]) -> str:
    texts = (getattr(token, "text", "") for token in rest)
    return "".join(text.strip("'\"") if len(text) > 1 else text for text in texts)
