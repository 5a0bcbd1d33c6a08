"""The moment before which all rows of a relation lie, as its filters say of a time column.

Right above a table, a conjunct that compares the bare time column with constants bounds it. OR, NOT
and functions of the column say nothing here, nor does a filter above a join, because which rows
of a unit meet in the join may depend on rows of any time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.operations import conjuncts
from sqlpriv.statements.keywords import TURNED

_TURNED = TURNED | {"=": "="}


def end_of_rows(relation: a.Relation, columns: Mapping[str, str]) -> dict[str, dt.datetime] | None:
    """Returns, by lower-case table, the moment before which all rows lie that a relation reads;
    None where the relation may read rows of any time.

    Args:
        relation: What is read.
        columns: Lower-case table → its time column.
    """
    tests: list[a.Expr] = []
    while isinstance(relation, a.Where | a.Derive | a.Bounded):
        tests += conjuncts(relation.predicate) if isinstance(relation, a.Where) else []
        relation = relation.source
    parts: Sequence[a.Relation] = ()
    match relation:
        case a.Scan(table, prefix):
            name = (prefix + columns.get(table.lower(), "")).lower()
            moments = [end for test in tests if (end := _end_of_test(test, name)) is not None]
            return {table.lower(): min(moments)} if table.lower() in columns and moments else None
        case a.Join(left, right):
            parts = (left, right)
        case a.Union(_, united):
            parts = [part for part, _ in united]
        case a.PerUnit(source):
            parts = (source,)
    ends: dict[str, dt.datetime] = {}
    for part in parts:
        if (of_part := end_of_rows(part, columns)) is None:
            return None
        ends |= {table: max(end, ends.get(table, end)) for table, end in of_part.items()}
    return ends


def scanned_tables(relation: a.Relation) -> set[str]:
    """Returns the tables that a relation reads, in lower case."""
    match relation:
        case a.Scan(table):
            return {table.lower()}
        case a.Join(left, right):
            return scanned_tables(left) | scanned_tables(right)
        case a.Union(_, parts):
            return set().union(*(scanned_tables(part) for part, _ in parts))
    return scanned_tables(relation.source)


def _end_of_test(test: a.Expr, column: str) -> dt.datetime | None:
    """Returns the moment before which a column lies wherever a test is true; None if there is none.

    >>> from sqlpriv.kernel.terms.contract import Type
    >>> last = a.Lit(dt.date(2026, 10, 31), Type.DATE)
    >>> _end_of_test(a.Call("<=", (a.Col("day"), last)), "day")
    datetime.datetime(2026, 11, 1, 0, 0)
    """
    values: Sequence[object] = ()
    compared = ""
    match test:
        case a.Call(op, (a.Col(name), a.Lit(value))) if op in _TURNED:
            compared, values = op, (value,)
        case a.Call(op, (a.Lit(value), a.Col(name))) if op in _TURNED:
            compared, values = _TURNED[op], (value,)
        case a.In(a.Col(name), values):
            compared = "="
        case _:
            return None
    moments = [value for value in values if isinstance(value, dt.date)]
    if name.lower() != column or compared not in ("<", "<=", "=") or len(moments) < len(values):
        return None
    try:
        return max(
            (midnight_of(x) if compared == "<" else _next_moment(x) for x in moments), default=None
        )
    except OverflowError:  # the last day that Python knows
        return None


def midnight_of(value: dt.date) -> dt.datetime:
    """Returns a day's midnight, or the moment itself."""
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _next_moment(value: dt.date) -> dt.datetime:
    """Returns the next moment after a moment, or after the whole of a day."""
    a_moment = isinstance(value, dt.datetime)
    return midnight_of(value) + (dt.timedelta(microseconds=1) if a_moment else dt.timedelta(days=1))
