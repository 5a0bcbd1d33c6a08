"""SET, RESET and SHOW of a client of PostgreSQL's protocol: its own settings, and the session's.

Those of the session begin with `privacy_`; one of them, whether columns of errors are shown, is of
the connection alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa

from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan
from sqlpriv.interfaces.server.postgresql.statements.client_settings import (
    ERROR_COLUMNS,
    ClientSettings,
    assignment,
    default_dialect,
)
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import StatementAnswer
from sqlpriv.session.session import Session
from sqlpriv.statements.keywords import DIALECT

_SESSION_SHOWS = ("PRIVACY", "SYNTHESIZERS", "GRANTS", "TABLES")
_OF_TRANSACTIONS = ("transaction", "characteristics")
_OF_ROLES = ("role", "authorization")
_UTC = {
    "utc",
    "etc/utc",
    "gmt",
    "universal",
    "zulu",
    "z",
    "0",
    "+00:00",
    "00:00",
    "default",
    "local",
}
_OTHER_ZONE = "times are in UTC here, whatever zone is SET"
_WORD = re.compile(r"[A-Za-z0-9_.+-]*")
_NOT_LOCAL = "SET LOCAL holds in a transaction, and none is open: nothing was set"


def _is_of_privacy(name: str) -> bool:
    """Tells whether a setting is the session's, and not the connection's."""
    return name.lower().startswith("privacy_") and name.lower() != ERROR_COLUMNS


def shows_setting(scan: StatementScan) -> bool:
    """Tells whether a SHOW is about a setting, and not one of the session's own."""
    return scan.starts("SHOW") and not any(scan.starts("SHOW", word) for word in _SESSION_SHOWS)


@dataclass
class SettingStatements:
    """Answers what one connection sets, resets and shows.

    Args:
        session: The session that the connection speaks to.
        client: The connection's own settings.
    """

    session: Session
    client: ClientSettings
    _privacy_at_start: dict[str, str] = field(default_factory=dict)
    _before_local: dict[str, str | None] | None = None

    def begin_transaction(self) -> None:
        """Has SET LOCAL hold until `end_transaction`."""
        self._before_local = {}

    def end_transaction(self) -> None:
        """Undoes what SET LOCAL has set since the transaction began."""
        changed, self._before_local = self._before_local or {}, None
        for name, value in changed.items():
            if _is_of_privacy(name):
                self.set_privacy(name, value)
            elif value is None:
                self.client.values.pop(name, None)
            else:
                self.client.values[name] = value

    def keep_start(self) -> None:
        """Has RESET go back to what is set now: by the user's rules, and the first message."""
        self.client.keep_as_start()
        own = {name: repr(value) for name, value in self.session.settings.items()}
        self._privacy_at_start = {**own, DIALECT: self.session.dialect}

    def set(self, scan: StatementScan) -> StatementAnswer:
        """Sets or resets what the statement names.

        Raises:
            Error: There is no such setting, or the value is none; or it is another user's role.
        """
        name, value = assignment(scan)
        tag = "RESET" if scan.starts("RESET") else "SET"
        if name in _OF_ROLES and value and value.lower() not in self._own_roles():
            raise SqlStateError("42501", f'permission denied to set role "{value}"')
        if name in _OF_TRANSACTIONS or name in _OF_ROLES:
            return StatementAnswer(tag=tag)
        if scan.starts("SET", "LOCAL"):
            if self._before_local is None:
                return StatementAnswer(tag=tag, notices=(_NOT_LOCAL,))
            before = self._value_of(name.lower())
            answer = self._assign(name, value, tag)
            self._before_local.setdefault(name.lower(), before)  # what failed is not undone
            return answer
        return self._assign(name, value, tag)

    def _assign(self, name: str, value: str | None, tag: str) -> StatementAnswer:
        if _is_of_privacy(name):
            self.set_privacy(name, value)
            return StatementAnswer(tag=tag)
        if name.lower() == "timezone" and value and value.lower() not in _UTC:
            return StatementAnswer(tag=tag, notices=(_OTHER_ZONE,))
        if value is None:
            if name == "all":
                self.reset_all()
            else:
                self.client.reset(name)
            return StatementAnswer(tag=tag)
        return StatementAnswer(tag=tag, changed=self.client.set(name, value))

    def _own_roles(self) -> tuple[str, ...]:
        return ("none", "default", self.session.principal.lower())

    def _value_of(self, name: str) -> str | None:
        """Returns what a setting, in lower case, is; None for as at the start."""
        if name == DIALECT:
            return self.session.dialect
        if not _is_of_privacy(name):
            return self.client.values.get(name)
        value = self.session.settings.get(name)
        return None if value is None else str(value)

    def reset_all(self) -> None:
        """Sets everything to what it was at the start."""
        self.client.reset()
        for setting in {*self.session.settings, *self._privacy_at_start}:
            self.set_privacy(setting, None)

    def set_privacy(self, name: str, value: str | None) -> None:
        """Sets or resets a setting of the session.

        The session reads a text, outside of the user's rules and of the audit log. So a name in
        quotes, or a value, that holds more than a word would be run as statements of its own.

        Raises:
            Refused: There is none of that name, or the value is none.
            SqlStateError: The name or the value is no word.
        """
        if not _WORD.fullmatch(name):
            raise SqlStateError("42704", "there is no setting of that name")
        if value is not None and not _WORD.fullmatch(value):
            raise SqlStateError("22023", "the value is a number, or a name in one word")
        if value is None:
            value = self._privacy_at_start.get(name.lower())
        if value is None and name.lower() == DIALECT:
            value = default_dialect(self.session.role)
        if value is None:
            self.session.execute(f"RESET {name}")
            return
        is_number = re.fullmatch(r"[0-9.]+(?:[eE][+-]?[0-9]+)?", value) is not None
        written = value if is_number else "'" + value.replace("'", "''") + "'"
        self.session.execute(f"SET {name} = {written}")

    def show(self, scan: StatementScan) -> pa.Table:
        """Returns one row with the setting's value, or a row for each setting.

        Raises:
            Error: There is no such setting.
        """
        name = "".join(token.name or token.text for token in scan.tokens[1:])
        name = {"transactionisolationlevel": "transaction_isolation", "timezone": "TimeZone"}.get(
            name, name
        )
        if name == "all":
            settings = self.client.all() | {k: str(v) for k, v in self.session.settings.items()}
            settings[DIALECT] = self.session.dialect
            listed = dict(sorted(settings.items(), key=lambda item: item[0].lower()))
            return pa.table(
                {
                    "name": list(listed),
                    "setting": list(listed.values()),
                    "description": [""] * len(listed),
                }
            )
        if name in self.session.settings:
            value = str(self.session.settings[name])
        elif name == DIALECT:
            value = self.session.dialect
        elif name.startswith("privacy_") and name != ERROR_COLUMNS:
            value = ""
        else:
            value = self.client.show(name)
        return pa.table({name: [value]})
