"""What is publicly known of a value before it is asked: its type, bounds and finite values.

Nothing here carries a privacy proof: the kernel checks types again and clamps every sum to the
bounds that it is given. A prediction that is too narrow would cost accuracy, one that is too wide
costs noise. `inference` tells it of expressions.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Categories, Column, Interval, TableContract, Type, Value
from sqlpriv.kernel.terms.operations import MAX_SCALE, STORED_MOMENTS, check_literal

MAX_LEVELS = 100_000
KEPT_SHAPES = 1_024
_ORDERED = (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP, Type.TIME)
_SHAPES: dict[int, tuple[Column, Shape]] = {}  # by the column's id; each keeps its column


@dataclass(frozen=True)
class Shape:
    """What is publicly known of an expression's values.

    Args:
        type: Its type.
        lower, upper: Ends of a closed interval, or None where unbounded or not ordered.
        nullable: False when the contract says that NULL is not among its values.
        values: Every value it can have, `None` last if nullable, when that list is known.
        scale: Digits behind the point of a DECIMAL, and of a literal with a point, which is one in
            DuckDB, too; None of a DOUBLE. The kernel computes both in doubles; results of decimals
            are rounded to their scale, so that they are exact up to 2**53 units of it.
        sql_type: DuckDB's type of text that is no VARCHAR: an ENUM or a UUID; else "".
        zoned: Whether a column is a TIMESTAMPTZ; None where that is not known.
        stored: DuckDB's type of a column, an ENUM with the declared labels alone; '' of what is
            computed.
    """

    type: Type
    lower: Any = None
    upper: Any = None
    nullable: bool = True
    values: tuple[Value, ...] | None = None
    scale: int | None = None
    sql_type: str = ""
    zoned: bool | None = None
    stored: str = ""

    @property
    def digits(self) -> int | None:
        """Digits behind the point of an exact number: 0 of an INTEGER, None of anything else."""
        return 0 if self.type is Type.INTEGER else self.scale

    def within(self, low: Any, high: Any) -> Shape:
        """Returns the shape of those values that lie between the ends; None is an open end.

        Ends that miss the declared interval leave it as it is: values beyond are clamped to it.

        >>> Shape(Type.INTEGER, 0, 9).within(3, None).lower
        3
        """
        moment = self.type in (Type.DATE, Type.TIMESTAMP)
        if self.lower is None and not (moment and low and high):
            return self
        if self.values is not None and self.type is not Type.INTEGER:
            return self
        lower = self.lower if low is None or (self.lower is not None and low < self.lower) else low
        upper = (
            self.upper if high is None or (self.upper is not None and high > self.upper) else high
        )
        if lower > upper or (self.type is Type.INTEGER and {type(lower), type(upper)} != {int}):
            return self
        kind = dt.date if self.type is Type.DATE else dt.datetime
        if moment and {type(lower), type(upper)} != {kind}:
            return self
        values = self.values and tuple(v for v in self.values if v is None or lower <= v <= upper)
        return replace(self, lower=lower, upper=upper, values=values)


def scope_of(contract: TableContract) -> dict[str, Shape]:
    """Returns the shape of each column that expressions can use, by lower-case name."""
    shapes = {c.name.lower(): _shape_of(c, c.type) for c in contract.columns if c.type is not None}
    for name in _unit_columns(contract):
        if (shape := shapes.get(name)) is not None and shape.values is None:
            shapes[name] = replace(shape, nullable=False)
    return shapes


def present_columns(contract: TableContract) -> frozenset[str]:
    """Returns the lower-case names of columns without NULL and NaN: those that the owner promises,
    and whole numbers and texts that name the unit."""
    promised = frozenset(c.name.lower() for c in contract.columns if c.required)
    kinds = {c.name.lower(): c.type for c in contract.columns}
    names = (name for name in _unit_columns(contract) if kinds.get(name) is not Type.REAL)
    return promised.union(names)


def _unit_columns(contract: TableContract) -> tuple[str, ...]:
    """Returns the lower-case names of the columns that tell whose a row is: a row where one of them
    is NULL is nobody's, and the kernel never reads it."""
    if contract.unit is None:
        return ()
    names = contract.unit.columns if contract.via is None else (contract.via.column,)
    return tuple(name.lower() for name in names)


def unread_columns(contract: TableContract, prefix: str = "") -> dict[str, str]:
    """Returns DuckDB's type of each column that expressions cannot use, by lower-case name."""
    return {prefix + c.name.lower(): c.sql_type for c in contract.columns if c.type is None}


def _shape_of(column: Column, type_: Type) -> Shape:
    """Returns a column's shape, made once: a long list is checked value by value.

    Shapes are kept by object: of equal columns one may list 1 and the other 1.0.
    """
    if (kept := _SHAPES.get(id(column))) is None:
        if len(_SHAPES) >= KEPT_SHAPES:
            _SHAPES.clear()
        kept = _SHAPES[id(column)] = column, _declared_shape(column, type_)
    return kept[1]


def _declared_shape(column: Column, type_: Type) -> Shape:
    shape = Shape(type_)
    if isinstance(column.domain, Interval):
        shape = Shape(type_, column.domain.lower, column.domain.upper, column.domain.nullable)
    elif isinstance(column.domain, Categories):
        shape = listed_shape(type_, column.domain.labels)
    form = STORED_MOMENTS.get(column.sql_type.upper())
    is_zoned = form == "zoned" if type_ is Type.TIMESTAMP else None
    shape = replace(shape, scale=column_scale(column.sql_type), zoned=is_zoned)
    if column.sql_type.upper() == "UUID":
        shape = replace(shape, sql_type="UUID")
    elif column.sql_type.upper().startswith("ENUM"):
        shape = replace(shape, sql_type=_enum_of(shape.values or ()))
    is_enum = shape.sql_type.startswith("ENUM")
    return with_values_listed(
        replace(shape, stored=shape.sql_type if is_enum else column.sql_type.upper())
    )


def _enum_of(labels: tuple[Value, ...]) -> str:
    """Returns the ENUM of the declared labels in their declared order, which alone are public."""
    quoted = ("'" + str(label).replace("'", "''") + "'" for label in labels if label is not None)
    return f"ENUM({', '.join(quoted)})"


def column_scale(sql_type: str) -> int | None:
    """Returns the digits behind the point of a DECIMAL type; None of others and above 18 digits.

    >>> column_scale("DECIMAL(15,2)"), column_scale("DECIMAL"), column_scale("DOUBLE")
    (2, 3, None)
    """
    match = re.fullmatch(
        r"(?:DECIMAL|NUMERIC)(?:\((\d+)(?:,\s*(\d+))?\))?", sql_type.upper().strip()
    )
    if match is None:
        return None
    scale = int(match[2] or 0) if match[1] else 3
    return scale if scale <= MAX_SCALE else None


def literal_scale(value: float) -> int | None:
    """Returns the digits behind the point of a number as written; None of one with an exponent.

    >>> literal_scale(0.25), literal_scale(3.0), literal_scale(1e-30)
    (2, 0, None)
    """
    number = Decimal(repr(value)).normalize() if math.isfinite(value) else Decimal("NaN")
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or len(number.as_tuple().digits) > 15:
        return None
    return max(0, -exponent) if -MAX_SCALE <= exponent <= 15 else None


def boolean_shape(nullable: bool) -> Shape:
    """Returns the shape of a condition."""
    return Shape(Type.BOOLEAN, None, None, nullable, (False, True, None)[: 3 if nullable else 2])


def literal_shape(value: Value, type_: Type) -> Shape:
    """Returns the shape of one value, or refuses one that is not of its type."""
    check_literal(value, type_)
    if value is None:
        return Shape(type_, None, None, True, (None,))
    ordered = type_ in _ORDERED
    ends: tuple[Any, Any] = (value, value) if ordered else (None, None)
    scale = literal_scale(value) if type_ is Type.REAL and isinstance(value, float) else None
    return Shape(type_, *ends, nullable=False, values=(value,), scale=scale)


def listed_shape(type_: Type, values: tuple[Value, ...]) -> Shape:
    """Returns the shape of a listed domain; NULL, if listed, is moved to the end."""
    present: list[Any] = [v for v in values if v is not None]
    for value in present:
        check_literal(value, type_)
    ordered = type_ in _ORDERED and present
    ends: tuple[Any, Any] = (min(present), max(present)) if ordered else (None, None)
    nullable = len(present) < len(values)
    return Shape(type_, *ends, nullable, (*present, *((None,) if nullable else ())))


def with_values_listed(shape: Shape) -> Shape:
    """Returns an integer shape with its values, where they are few enough to list."""
    if shape.values is not None or shape.type is not Type.INTEGER or shape.lower is None:
        return shape
    if shape.upper - shape.lower >= MAX_LEVELS:
        return shape
    span = range(shape.lower, shape.upper + 1)
    return replace(shape, values=(*span, *((None,) if shape.nullable else ())))


def union_of(shapes: list[Shape]) -> Shape:
    """Returns the shape of a value that is one of several: CASE, COALESCE, LEAST.

    Raises:
        Refused: Their types do not mix.
    """
    typed = [s for s in shapes if s.values != (None,)] or shapes
    one_type(tuple(typed), "CASE, COALESCE, LEAST or GREATEST")
    type_ = Type.REAL if Type.REAL in {s.type for s in typed} else typed[0].type
    nullable = any(s.nullable for s in shapes)
    ends: tuple[Any, Any] = (None, None)
    if all(s.lower is not None for s in typed):
        ends = (min(s.lower for s in typed), max(s.upper for s in typed))
    values = None
    if all(s.values is not None for s in shapes) and type_ is not Type.REAL:
        values_of_all = dict.fromkeys(itertools.chain.from_iterable(s.values or () for s in shapes))
        values = (*(v for v in values_of_all if v is not None), *((None,) if nullable else ()))
    scales = [s.digits for s in typed]
    exact = [scale for scale in scales if scale is not None]
    scale = max(exact) if type_ is Type.REAL and len(exact) == len(scales) else None
    stored = shapes[0].stored if len({s.stored for s in shapes}) == 1 else ""
    sql_type = typed[0].sql_type if len({s.sql_type for s in typed}) == 1 else ""
    zoned = shapes[0].zoned if len({s.zoned for s in shapes}) == 1 else None
    return Shape(type_, *ends, nullable, values, scale, sql_type, zoned, stored)


def one_type(shapes: tuple[Shape, ...], where: str) -> tuple[Shape, ...]:
    """Returns the shapes, or refuses a mix of types other than of integers and reals."""
    types = {s.type for s in shapes}
    if len(types) > 1 and types != {Type.INTEGER, Type.REAL}:
        raise Refused(f"{where} mixes the types {' and '.join(sorted(types))}")
    return shapes
