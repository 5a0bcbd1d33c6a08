"""Who asked what, when, and what it cost: one JSON object a line, for the owner's eyes (0600).

No value of a private row is written. An analyst's statement is written as it was sent, as it is in
the ledger; an owner's, which may load rows, with its literals left out; parameters are counted.
Characters that would change what a terminal shows of a line are written as JSON's escapes.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlpriv.dialect import without_literals
from sqlpriv.errors import BudgetExhausted, DataError, InterfaceError, ProgrammingError
from sqlpriv.interfaces.server.users import User
from sqlpriv.session.session import Result

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON may hold as they are: DEL and the C1 controls, one of which begins a
terminal's commands; ends of lines; and marks that have the text behind them read backwards."""
_REFUSALS = (BudgetExhausted, DataError, InterfaceError, ProgrammingError)
"""Errors that say that nothing was read."""


class Audit:
    """The open file; threads may share it. Each record is written and synced as one line.

    Args:
        path: The file; made if there is none, and added to if there is.
        server: The name of the server that writes it, in each record; '' for none.

    Attributes:
        outcomes: How many statements were run, and how many refused before anything was read. Which
            of the run ones failed is not counted: that may depend on private rows.
    """

    def __init__(self, path: Path, server: str = "") -> None:
        self._lock, self._common = threading.Lock(), {"server": server} if server else {}
        self.outcomes = Counter[str](run=0, refused=0)
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.fchmod(self._file, 0o600)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def write(self, event: str, **facts: Any) -> None:
        """Appends one record."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = {"at": at, "event": event, **self._common, **facts}
        text = json.dumps(record, ensure_ascii=False, default=repr)
        line = _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        with self._lock:
            os.write(self._file, line.encode("utf-8", "replace") + b"\n")

    def unreadable(self, user: User, peer: str, reason: str) -> None:
        """Records that somebody sent a message that holds no statement: broken, or no text.

        Args:
            user: Who.
            peer: From where.
            reason: What is wrong with it, in words of ours alone.
        """
        self.write("unreadable", who=user.name, role=user.role, peer=peer, reason=reason)

    def statement(
        self, user: User, peer: str, sql: str, values: int, outcome: Result | BaseException
    ) -> None:
        """Records that somebody's statement was run, or refused, and what it cost.

        Args:
            user: Who.
            peer: From where.
            sql: The statement.
            values: How many parameters it was given.
            outcome: Its result, or the error that it ended in.
        """
        gave = Result() if isinstance(outcome, BaseException) else outcome
        self.outcomes["refused" if isinstance(outcome, _REFUSALS) else "run"] += 1
        self.write(
            "statement",
            who=user.name,
            role=user.role,
            peer=peer,
            sql=without_literals(sql) if user.role == "owner" else sql,
            parameters=values,
            outcome="ok" if gave is outcome else type(outcome).__name__,
            price={gave.price.kind: gave.price.nano / 1e9} if gave.price else None,
            epsilon=gave.epsilon,
            rows=None if gave.table is None else gave.table.num_rows,
        )


def run_audited(
    work: Callable[[], Result], record: Callable[[Result | BaseException], None]
) -> Result:
    """Returns what work gives; it, or the error that work ends in, is recorded."""
    try:
        result = work()
    except BaseException as error:
        record(error)
        raise
    record(result)
    return result
