"""Keeps statements that were parsed: parsing one takes milliseconds, and dashboards ask again."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar

from sqlpriv import dialect as sql_dialect
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

MOST = 64
"""Statements of a session that are kept, and programs."""
LONGEST = 10_000
"""Characters of a text that is kept."""
_EXACT = (int, float, str, bool, type(None), Decimal, dt.date, dt.datetime)
_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Latest(OrderedDict[_Key, _Kept], Generic[_Key, _Kept]):
    """A mapping that keeps the `MOST` entries that were added last."""

    def __setitem__(self, key: _Key, value: _Kept) -> None:
        super().__setitem__(key, value)
        if len(self) > MOST:
            self.popitem(last=False)


class KeptStatements:
    """Reads texts; a text of one private query gives the same object again.

    What a text says follows from the text, its parameters, the dialect that it begins in, and the
    day, which stands in it for CURRENT_DATE.
    """

    def __init__(self) -> None:
        self._queries: Latest[object, tuple[cmd.Statement, ...]] = Latest()

    def read(self, sql: str, parameters: Parameters, dialect: str) -> tuple[cmd.Statement, ...]:
        """Returns every statement of a text, as `dialect.read_parts` does."""
        named = key_of(parameters)
        if named is None or len(sql) > LONGEST:
            return sql_dialect.read_parts(sql, parameters, dialect)
        key = (sql, dialect, named, dt.date.today())
        if (statements := self._queries.get(key)) is None:
            statements = sql_dialect.read_parts(sql, parameters, dialect)
            if len(statements) == 1 and isinstance(statements[0], t.Select | cmd.Unanswerable):
                self._queries[key] = statements
        return statements


def key_of(parameters: Parameters) -> str | None:
    """Returns a text that different parameters do not share; None of values without one.

    >>> key_of([1]), key_of([1.0]), key_of({"a": None}), key_of([object()])
    ('[1]', '[1.0]', "[('a', None)]", None)
    """
    values: Sequence[Any] = list(parameters or ())
    entries = values
    if isinstance(parameters, Mapping):
        values, entries = [*parameters.values()], [*parameters.items()]
    simple = all(type(value) in _EXACT for value in values)
    return repr(entries) if simple and len(values) <= MOST else None
