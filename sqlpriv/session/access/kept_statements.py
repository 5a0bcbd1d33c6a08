"""Keeps statements that were parsed: parsing one takes milliseconds, and dashboards ask again."""

from __future__ import annotations

import datetime as dt
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from sqlpriv import dialect as sql_dialect
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

MOST = 64
"""Statements of a session that are kept, and programs."""
LONGEST = 10_000
"""Characters of a text that is kept."""
_PRICED = re.compile(
    r"\s*(?P<select>SELECT\s+WITH\s+DIFFERENTIAL_PRIVACY\s+OPTIONS\s*\(\s*(?P<name>epsilon|rho))"
    r"\s*=\s*(?P<number>\d{1,9}(\.\d{1,9})?)(?=[\s,)])",
    re.IGNORECASE,
)
_EXACT = (int, float, str, bool, type(None), Decimal, dt.date, dt.datetime)
_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Latest(OrderedDict[_Key, _Kept], Generic[_Key, _Kept]):
    """A mapping that keeps the `MOST` entries that were added last."""

    def __setitem__(self, key: _Key, value: _Kept) -> None:
        super().__setitem__(key, value)
        if len(self) > MOST:
            self.popitem(last=False)


@dataclass(frozen=True, eq=False)
class OriginToRead:
    """A query that is parsed where it turns out that it has to be divided.

    Args:
        read: Returns the query as it was parsed.
    """

    read: Callable[[], t.Origin]

    @cached_property
    def parsed(self) -> t.Origin:
        """The query as it was parsed."""
        return self.read()

    @property
    def text(self) -> str:
        """The query as DuckDB takes it."""
        return self.parsed.text

    def place_of(self, name: str) -> t.Pos:
        """Returns where a name stands."""
        return self.parsed.place_of(name)


class PricedText(NamedTuple):
    """A text that begins with a SELECT and the number that is its price.

    Args:
        name: "epsilon" or "rho".
        number: The price as it is written.
        at: Where the number stands in the statement, which begins behind blanks.
        shape: All of the text but the number, and how long that is: places are the same in all
            texts of one shape.
    """

    name: str
    number: str
    at: int
    shape: tuple[str, int, str]

    @classmethod
    def of(cls, sql: str) -> PricedText | None:
        """Returns the parts of a text, None of any other.

        >>> PricedText.of(" SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.1) COUNT(*)")[:3]
        ('rho', '0.1', 48)
        >>> PricedText.of("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e-1) 1") is None
        True
        """
        if (match := _PRICED.match(sql)) is None:
            return None
        begin, end = match.span("number")
        shape = (sql[:begin], end - begin, sql[end:])
        return cls(match["name"].lower(), match["number"], begin - match.start("select"), shape)

    def write_into(self, select: t.Select, origin: t.Origin | None) -> t.Select:
        """Returns a query of this shape at this price."""
        value = float(self.number) if "." in self.number else int(self.number)
        options = tuple((x, value if x == self.name else y) for x, y in select.options)
        text = select.text[: self.at] + self.number + select.text[self.at + len(self.number) :]
        return replace(select, options=options, text=text, origin=origin)


class LastOfShape(NamedTuple):
    """What was read last of a shape.

    Args:
        number: The price as it was written.
        select: The query.
        is_alike: Texts of two prices were read, and differ in these alone.
    """

    number: str
    select: t.Select
    is_alike: bool


class KeptStatements:
    """Reads texts; a text of one private query gives the same object again.

    What a text says follows from the text, its parameters, the dialect that it begins in, and the
    day, which stands in it for CURRENT_DATE.

    A text that differs from earlier ones in its price alone is not read. It was seen of two of them
    that the one, with the other's price written into it, is what was read of the other, letter for
    letter and place for place.
    """

    def __init__(self) -> None:
        self._queries: Latest[object, tuple[cmd.Statement, ...]] = Latest()
        self._last_of_shape: Latest[object, LastOfShape] = Latest()

    def read(self, sql: str, parameters: Parameters, dialect: str) -> tuple[cmd.Statement, ...]:
        """Returns every statement of a text, as `dialect.read_parts` does."""
        named = key_of(parameters)
        if named is None or len(sql) > LONGEST:
            return sql_dialect.read_parts(sql, parameters, dialect)
        circumstances = (dialect, named, dt.date.today())
        key = (sql, *circumstances)
        if (statements := self._queries.get(key)) is None:
            priced = PricedText.of(sql)
            shape = priced and (*priced.shape, *circumstances)
            last = self._last_of_shape.get(shape)
            if priced is not None and last is not None and last.is_alike:
                kept = copy(parameters)  # whose list it is may change it
                origin = OriginToRead(lambda: _origin_of(sql, kept, dialect))
                statements = (priced.write_into(last.select, origin),)
            else:
                statements = sql_dialect.read_parts(sql, parameters, dialect)
                if priced is not None:
                    self._compare(priced, shape, statements)
            if len(statements) == 1 and isinstance(statements[0], t.Select | cmd.Unanswerable):
                self._queries[key] = statements
        return statements

    def _compare(
        self, priced: PricedText, shape: object, statements: tuple[cmd.Statement, ...]
    ) -> None:
        """Notes whether what was read is what the last text of its shape says at this price."""
        match statements:
            case (t.Select() as select,) if select.origin is not None:
                last = self._last_of_shape.get(shape)
                is_alike = (
                    last is not None
                    and last.number != priced.number
                    and _parts_of(priced.write_into(last.select, None)) == _parts_of(select)
                )
                self._last_of_shape[shape] = LastOfShape(priced.number, select, is_alike)


def _parts_of(node: object) -> object:
    """Returns all that a query says, and where; its origin alone is left out."""
    if is_dataclass(node):
        names = (part.name for part in fields(node) if part.name != "origin")
        return (type(node), *(_parts_of(getattr(node, name)) for name in names))
    return tuple(map(_parts_of, node)) if isinstance(node, tuple) else repr(node)


def _origin_of(sql: str, parameters: Parameters, dialect: str) -> t.Origin:
    (select,) = sql_dialect.read_parts(sql, parameters, dialect)
    assert isinstance(select, t.Select)
    assert select.origin is not None
    return select.origin


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
