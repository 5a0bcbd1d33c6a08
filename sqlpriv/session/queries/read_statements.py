"""A text as statements: those of our grammar, and queries that may be answered in parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv import dialect
from sqlpriv.errors import Refused
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

_QUERY = re.compile(r"\s*(EXPLAIN\s+PRIVACY\s+)?(?=(WITH|SELECT|FROM|PIVOT|\())", re.IGNORECASE)


@dataclass(frozen=True)
class Unreadable:
    """A statement that our grammar does not read and that asks to be answered privately.

    Args:
        text: The query.
        parameters: Its values.
        refusal: What the grammar says of it.
        start: Where it begins in the user's text.
        explains: EXPLAIN PRIVACY stands before it.
    """

    text: str
    parameters: t.Bound
    refusal: Refused
    start: t.Pos
    explains: bool = False


def read_statements(sql: str, parameters: Parameters) -> tuple[cmd.Statement | Unreadable, ...]:
    """Returns every statement of a text, in order.

    Raises:
        Refused: A statement cannot be read; the line and column are those of the whole text.
        ProgrammingError: The parameters do not fit the text.
    """
    try:
        return dialect.read(sql, parameters)
    except Refused:
        texts = dialect.split_with_parameters(sql, parameters)
        return tuple(_read_one(text, values) for text, values in texts)


def _read_one(text: str, parameters: Parameters) -> cmd.Statement | Unreadable:
    try:
        (statement,) = dialect.read(text, parameters)
    except Refused as refusal:
        match = _QUERY.match(text)
        if match is None:
            raise
        values = parameters or ()
        bound: t.Bound = values if isinstance(values, Mapping) else tuple(values)
        before = text[: match.end()]
        start = t.Pos(before.count("\n") + 1, len(before) - before.rfind("\n"))
        return Unreadable(text[match.end() :], bound, refusal, start, bool(match[1]))
    return statement
