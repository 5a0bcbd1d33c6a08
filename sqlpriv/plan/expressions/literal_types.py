"""Literals read as the type of what they stand beside, before anything is charged.

DuckDB would try such casts row by row and quote a failing value in its error; here a literal
either fits its neighbour's type or the statement is refused, with the place and what to write.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.facts.dates import DATE_PARTS
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.statements.tree import Literal, Node

INFINITY: a.Expr = a.Call("exp", (a.Lit(1000.0, Type.REAL),))
"""The kernel has no literal for it. An exponential that no double holds is infinite."""
NAN: a.Expr = a.Call("-", (INFINITY, INFINITY))
_ENDLESS = re.compile(r"([+-]?)(?:(nan)|inf(?:inity)?)", re.IGNORECASE)


def endless_number(text: str) -> a.Expr | None:
    """Returns 'inf', 'Infinity' or 'NaN', with a sign or without, as DuckDB reads it; None for
    other texts."""
    form = _ENDLESS.fullmatch(text.strip())
    if form is None:
        return None
    number = NAN if form[2] else INFINITY
    return a.Call("neg", (number,)) if form[1] == "-" else number


def refuse(node: Node, message: str, hint: str | None = None) -> Refused:
    """Returns the refusal that points at the expression's place in the text."""
    return Refused(message, hint=hint, line=node.pos.line, column=node.pos.column)


def natural_type(value: Value) -> Type | None:
    """Returns the type that a literal has by itself; None for NULL."""
    kinds: tuple[tuple[type, Type], ...] = (
        (bool, Type.BOOLEAN),
        (int, Type.INTEGER),
        (float, Type.REAL),
        (str, Type.TEXT),
        (dt.datetime, Type.TIMESTAMP),
        (dt.date, Type.DATE),
        (dt.time, Type.TIME),
    )
    return next((type_ for kind, type_ in kinds if isinstance(value, kind)), None)


def coerce_literal(node: Literal, target: Type) -> a.Lit:
    """Returns the literal as a value of `target`.

    A whole number written 3.0 fits an INTEGER, other reals stay REAL (numbers compare with
    numbers); ISO text fits a TIMESTAMP, and its date alone a DATE; a date beside a TIMESTAMP is
    its midnight.

    Raises:
        Refused: The literal cannot be read as `target`.
    """
    value = node.value
    if value is None:
        return a.Lit(None, target)
    match target:
        case Type.INTEGER | Type.REAL if _is_number(value):
            return _number(value, target)
        case Type.DATE | Type.TIMESTAMP:
            return a.Lit(_read_moment(node, target), target)
        case Type.TIME if isinstance(value, str | dt.time):
            return a.Lit(_read_clock(node, value), target)
        case Type.TEXT if isinstance(value, str):
            return a.Lit(value, target)
        case Type.BOOLEAN if isinstance(value, bool):
            return a.Lit(value, target)
    raise refuse(
        node, f"{_literal_text(value)} stands where {_type_noun(target)} is needed", _advice(target)
    )


def coerce_double(node: Literal, target: Type) -> a.Expr:
    """Returns the literal beside DOUBLEs, of which a text may be infinite or NaN."""
    endless = endless_number(node.value) if isinstance(node.value, str) else None
    return coerce_literal(node, target) if endless is None else endless


def coerce_uuid(node: Literal, target: Type) -> a.Lit:
    """Returns the literal beside a UUID as its canonical text: lower case, with hyphens.

    Raises:
        Refused: It is text, and not that of a UUID.
    """
    literal = coerce_literal(node, target)
    if not isinstance(literal.value, str):
        return literal
    try:
        return a.Lit(str(uuid.UUID(literal.value)), target)
    except ValueError:
        raise refuse(
            node, "this is not a UUID", "write '123e4567-e89b-12d3-a456-426614174000'"
        ) from None


def cast_beside_floats(node: Literal, shapes: Sequence[Shape]) -> Literal:
    """Returns a number that is compared with FLOATs as DuckDB compares it: cast to FLOAT, unless
    it has an exponent and so is a DOUBLE, or a DOUBLE is among them."""
    value = node.value
    if node.exponent or not _is_number(value) or not are_floats(shapes):
        return node
    number = float(np.float32(value))
    return replace(node, value=number) if math.isfinite(number) else node


def are_floats(shapes: Sequence[Shape]) -> bool:
    """Returns whether DuckDB compares such values as FLOATs: one is, and no other is a DOUBLE."""
    stored = {shape.stored for shape in shapes if shape.type is Type.REAL and shape.scale is None}
    return stored == {"FLOAT"}


def number_in_quotes(node: Literal, target: Type, digits: int) -> Literal:
    """Returns a text beside numbers as the number that it says, as DuckDB casts it; else as it is.

    A fraction beside whole numbers, and one with more than `digits` digits beside DECIMALs, would
    be rounded first.
    """
    text = node.value.strip() if isinstance(node.value, str) else ""
    fraction = rf"(\.\d{{1,{digits}}})?" if target is Type.REAL and digits else ""
    pattern = rf"[+-]?\d{{1,15}}{fraction}"
    if target not in (Type.INTEGER, Type.REAL) or re.fullmatch(pattern, text) is None:
        return node
    return Literal(float(text) if "." in text else int(text), node.pos)


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: int | float, target: Type) -> a.Lit:
    if isinstance(value, float) and target is Type.INTEGER and value.is_integer():
        return a.Lit(int(value), Type.INTEGER)
    if isinstance(value, float):
        return a.Lit(value, Type.REAL)
    exact = target is Type.REAL and abs(value) <= 2**53
    return a.Lit(float(value), Type.REAL) if exact else a.Lit(value, Type.INTEGER)


def _read_moment(node: Literal, target: Type) -> dt.date | dt.datetime:
    """Returns a date literal as `target` says; text is read as ISO 8601."""
    value = node.value
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise refuse(node, f"{_literal_text(value)} is not a date", _advice(target)) from None
        if target is Type.DATE:  # DuckDB and PostgreSQL drop the time of a text, and its zone
            return value.date()
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)  # as DuckDB casts it
    elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        raise refuse(
            node,
            f"{_literal_text(value)} stands where {_type_noun(target)} is needed",
            _advice(target),
        )
    if target is Type.TIMESTAMP:
        return value
    if value.time() != dt.time():
        raise refuse(node, "a DATE column is compared with a time of day", "write the date alone")
    return value.date()


def _read_clock(node: Literal, value: str | dt.time) -> dt.time:
    try:
        clock = dt.time.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        clock = None
    if clock is None or clock.tzinfo is not None:
        raise refuse(node, f"{_literal_text(value)} is not a time of day", _advice(Type.TIME))
    return clock


def _type_noun(target: Type) -> str:
    return {
        Type.INTEGER: "a whole number",
        Type.REAL: "a number",
        Type.TEXT: "text",
        Type.BOOLEAN: "TRUE or FALSE",
        Type.DATE: "a date",
        Type.TIMESTAMP: "a timestamp",
        Type.TIME: "a time of day",
    }[target]


def _advice(target: Type) -> str:
    return {
        Type.INTEGER: "write the number without quotes, as in age >= 18",
        Type.REAL: "write the number without quotes, as in income > 1000.5",
        Type.TEXT: "put text in single quotes, as in sex = '1'",
        Type.BOOLEAN: "write TRUE or FALSE",
        Type.DATE: "write DATE '2020-12-31'",
        Type.TIMESTAMP: "write TIMESTAMP '2020-12-31 23:59:00'",
        Type.TIME: "write TIME '23:59:00'",
    }[target]


def _literal_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return f"'{value}'" if isinstance(value, str | dt.date | dt.time) else str(value)


@contextmanager
def refusals_at(node: Node, expr: a.Expr) -> Iterator[None]:
    """Adds a place in the text, and a hint, to refusals about types that are raised inside."""
    try:
        yield
    except Refused as error:
        if error.line:
            raise
        raise refuse(node, error.message, error.hint or _type_hint(expr)) from None


def _type_hint(expr: a.Expr) -> str:
    """Returns what to write instead of an expression whose types do not fit."""
    match expr:
        case a.Call("//"):
            return "write floor(x / y)"
        case a.Call("+" | "-" | "*" | "/" | "%"):
            return (
                "arithmetic is for numbers; dates have parts: year(d), month(d), and moments a "
                "distance: date_diff('hour', x, y)"
            )
        case a.Call(part) if part in DATE_PARTS:
            return (
                "dates and timestamps have parts; hours and minutes are a TIMESTAMP's or a TIME's"
            )
        case a.Call("abs" | "floor" | "ceil" | "round" | "neg"):
            return "the function takes a number"
    return "bring all of it to one type"
