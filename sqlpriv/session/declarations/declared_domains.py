"""The public domain of a column, as an owner declares it: checked, in the column's type."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from typing import Any, TypeGuard

from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.terms.contract import (
    MAX_INTEGER,
    Categories,
    Column,
    ColumnDomain,
    Interval,
    Type,
    Value,
)
from sqlpriv.kernel.vault import Kernel
from sqlpriv.statements import declarations as decl


def check_domain(kernel: Kernel, column: Column, action: decl.Action) -> None:
    """Raises DeclarationError of a domain that does not fit its column."""
    assert isinstance(action, decl.SetDomainIn | decl.SetDomainBetween | decl.SetDomainReferences)
    read_domain(kernel, column, action)


def domain_body(domain: ColumnDomain, required: bool = False) -> dict[str, Any]:
    """Returns a domain as a declaration's body holds it; `contracts_in_force` reads it back."""
    match domain:
        case Categories(labels):
            return {"labels": [_json_value(v) for v in labels], "required": required}
        case Interval(lower, upper, nullable):
            ends = {"lower": _json_value(lower), "upper": _json_value(upper), "nullable": nullable}
            return {**ends, "required": required}


def _json_value(value: Value) -> Any:
    """Returns a value as JSON; of dates, times and moments the JSON names the type."""
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.time):
        return {"time": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


def read_domain(
    kernel: Kernel,
    column: Column,
    action: decl.SetDomainIn | decl.SetDomainBetween | decl.SetDomainReferences,
) -> ColumnDomain:
    """Returns the domain that an owner declares, in the column's type.

    Raises:
        DeclarationError: It does not fit the column.
    """
    if column.type is None:
        raise DeclarationError(f"{column.name} is a {column.sql_type}: it can have no domain")
    match action:
        case decl.SetDomainIn(values=values):
            return _categories(_coerce(v, column) for v in values)
        case decl.SetDomainReferences(table=table, source=source):
            public = kernel.public(table)
            named = next((n for n in public.column_names if n.lower() == source.lower()), None)
            if named is None:
                raise DeclarationError(f"{table} has no column {source}")
            labels = dict.fromkeys(public.column(named).to_pylist())
            return _categories(_coerce(v, column) for v in labels)
    if column.type in (Type.TEXT, Type.BOOLEAN):
        raise DeclarationError(f"{column.name} is {column.type}: list its values with IN (…)")
    lower, upper = _coerce(action.lower, column), _coerce(action.upper, column)
    if lower is None or upper is None or isinstance(lower, str) or isinstance(upper, str):
        raise DeclarationError("a domain BETWEEN needs two ends; add OR NULL to count NULL as one")
    for end in (lower, upper):
        if isinstance(end, float) and not math.isfinite(end):
            raise DeclarationError("the ends of a privacy domain are finite")
        if isinstance(end, int) and abs(end) >= MAX_INTEGER:
            raise DeclarationError("the ends of an integer privacy domain lie within ±2^62")
    if lower > upper:  # type: ignore[operator]  # both are of the column's type
        raise DeclarationError("a privacy domain BETWEEN (low, high) needs low <= high")
    return Interval(lower, upper, action.nullable)


def end_at_midnight(column: Column, action: decl.Action) -> str:
    """Returns the owner's warning about an interval of moments whose end is a day without a
    time; '' for any other domain."""
    upper = action.upper if isinstance(action, decl.SetDomainBetween) else None
    is_day = isinstance(upper, dt.date) and not isinstance(upper, dt.datetime)
    if isinstance(upper, str):
        is_day = len(upper.strip()) == len("2024-12-31")
    if column.type is not Type.TIMESTAMP or not is_day:
        return ""
    return (
        f": it ends at {upper} 00:00:00, which later moments are read as; for all of that day"
        f" write '{upper} 23:59:59.999999'"
    )


def _categories(values: Iterable[Value]) -> Categories:
    labels = tuple(values)
    if not labels or len(set(labels)) != len(labels):
        raise DeclarationError("a privacy domain lists at least one value, and each once")
    return Categories(labels)


def _is_number(value: object) -> TypeGuard[int | float]:
    """Tells numbers from all else, TRUE and FALSE included."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _coerce(value: Value, column: Column) -> Value:
    """Returns a declared value in the column's type: 1 for 1.0, a date for '2020-01-01'."""
    if value is None:
        return None
    try:
        match column.type:
            case Type.INTEGER if _is_number(value) and value == int(value):
                return int(value)
            case Type.REAL if _is_number(value):
                return float(value)
            case Type.TEXT if isinstance(value, str):
                return value
            case Type.BOOLEAN if isinstance(value, bool):
                return value
            case Type.DATE if isinstance(value, str | dt.date) and not isinstance(
                value, dt.datetime
            ):
                return dt.date.fromisoformat(value) if isinstance(value, str) else value
            case Type.TIMESTAMP if isinstance(value, str):
                moment = dt.datetime.fromisoformat(value)  # with a zone or without, as in DuckDB
                return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
            case Type.TIMESTAMP if isinstance(value, dt.datetime):
                return value
            case Type.TIMESTAMP if isinstance(value, dt.date):
                return dt.datetime(value.year, value.month, value.day)
            case Type.TIME if isinstance(value, str | dt.time):
                clock = dt.time.fromisoformat(value) if isinstance(value, str) else value
                if clock.tzinfo is None:
                    return clock
    except (ValueError, OverflowError):
        pass
    raise DeclarationError(f"{value!r} is no {column.sql_type}, the type of {column.name}")
