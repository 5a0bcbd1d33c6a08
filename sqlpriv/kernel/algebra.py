"""The closed algebra: all that the kernel can be asked to compute over private rows.

There is no SQL text here. A caller builds these frozen values; `sensitivity` proves how far one
unit can move a query, `render` writes the SQL that the proof is about. Row expressions are *total*:
whatever a row holds, none of them can raise an error (see `operations`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from dataclasses import dataclass

from sqlpriv.kernel.contract import Number, Type, Value


@dataclass(frozen=True)
class Col:
    """A row expression: a column of the scanned table or a name made by `Derive`."""

    name: str


@dataclass(frozen=True)
class Lit:
    """A literal; `type` says how it is to be read (NULL has a type, too)."""

    value: Value
    type: Type


@dataclass(frozen=True)
class Call:
    """One of the total functions and operators of `operations.OPERATIONS`, by its name there."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class In:
    """`arg IN (values…)`: literals of the argument's type, none of them NULL."""

    arg: Expr
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Case:
    """`CASE WHEN p THEN e … ELSE otherwise END`; all branches have one type."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr


@dataclass(frozen=True)
class Bin:
    """The 0-based number of a number's or date's bin: k ascending edges part k + 1, closed left."""

    arg: Expr
    edges: tuple[Number | dt.date | dt.datetime, ...]


@dataclass(frozen=True)
class Pick:
    """The public number of a row's cell among `keys`, row-major; NULL for a row in none of them."""

    keys: tuple[Key, ...]
    numbers: tuple[float, ...]


Expr = Col | Lit | Call | In | Case | Bin | Pick


@dataclass(frozen=True)
class Scan:
    """A relation: every row of a declared table whose unit is not NULL."""

    table: str


@dataclass(frozen=True)
class Where:
    """The rows for which the predicate is true (not NULL): row by row, hence 1-stable."""

    source: Relation
    predicate: Expr


@dataclass(frozen=True)
class Derive:
    """The same rows with one more column: row by row, hence 1-stable."""

    source: Relation
    name: str
    expr: Expr


Relation = Scan | Where | Derive


@dataclass(frozen=True)
class Key:
    """A dimension of a query's cells: rows whose value is not listed fall in none; None is NULL."""

    expr: Expr
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Count:
    """How many rows, or how many where `of` is neither NULL nor NaN, in each cell.

    `strata` are the dimensions of STRATIFY BY, whose product are the strata (one when empty), and
    `keys` those of the marginal inside each. `within` are the numbers of the measured strata,
    ascending, None for all: a stratum's number is its row-major position in the product.
    """

    source: Relation
    strata: tuple[Key, ...] = ()
    keys: tuple[Key, ...] = ()
    of: Expr | None = None
    within: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Sum:
    """The sum of `of - (lower + upper) / 2` in each cell, `of` clamped to [lower, upper].

    Rows where `of` is NULL or NaN add nothing. Centring halves the sensitivity. See `Count`.
    """

    source: Relation
    of: Expr
    lower: Number
    upper: Number
    strata: tuple[Key, ...] = ()
    keys: tuple[Key, ...] = ()
    within: tuple[int, ...] | None = None


Query = Count | Sum


def strata_count(query: Query) -> int:
    """Returns how many strata the query's domain has (measured or not); 1 without STRATIFY BY."""
    return math.prod(len(key.values) for key in query.strata)


def measured_strata(query: Query) -> tuple[int, ...]:
    """Returns the numbers of the strata that the query measures, ascending."""
    return tuple(range(strata_count(query))) if query.within is None else query.within


def shape(query: Query) -> tuple[int, ...]:
    """Returns the shape of a release: (measured strata, values of key 1, values of key 2, …)."""
    return (len(measured_strata(query)), *(len(key.values) for key in query.keys))


def fingerprint(asked: object) -> str:
    """Returns the name under which a release is sealed: different queries have different texts.

    The repr of a frozen dataclass names its class and fields; that of a float or a date is exact.
    """
    return hashlib.sha256(repr(asked).encode()).hexdigest()
