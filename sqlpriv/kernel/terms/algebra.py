"""The closed algebra: all that the kernel can be asked to compute over private rows.

There is no SQL text here. A caller builds these frozen values; `sensitivity` proves how far one
unit can move a query, `sql.queries` writes the SQL that the proof is about. Row expressions are
*total*: whatever a row holds, none of them can raise an error (see `operations`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from dataclasses import dataclass, field

from sqlpriv.kernel.terms.contract import Number, Type, Value


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
    """How many of k ascending edges a number or date has reached, 0 to k; NULL of NULL and NaN."""

    arg: Expr
    edges: tuple[Number | dt.date | dt.datetime, ...]


@dataclass(frozen=True)
class Roots(Bin):
    """A Bin whose edges are found by arithmetic: `number` rises at each of them.

    Claim: `number` never falls where x rises. Each of its steps is one of IEEE 754, correctly
    rounded and so monotone, and the engine takes the same ones (`expressions`). So x has reached an
    edge at which the number rises if and only if x's number is at least the edge's. A whole x
    beyond 2^53 counts as the double that it is rounded to (`clipped_sums` allows for that).
    """

    start: float
    stop: float

    def number(self, x: Number) -> int:
        """Returns floor(ROOTS r), r being the fourth root of x's place between start and stop."""
        place = (min(max(float(x), self.start), self.stop) - self.start) / (self.stop - self.start)
        return math.floor(math.sqrt(math.sqrt(place)) * ROOTS)


@dataclass(frozen=True)
class Pick:
    """The public number of a row's cell among `keys`, row-major; NULL for a row in none of them."""

    keys: tuple[Key, ...]
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class Like:
    """`arg [I]LIKE pattern`: text, and a literal of at most `MAX_PATTERN` characters."""

    arg: Expr
    pattern: str
    escape: str = ""
    fold: bool = False


@dataclass(frozen=True)
class Substring:
    """At most `length` characters of a text, from the 1-based `start` on."""

    arg: Expr
    start: int
    length: int


@dataclass(frozen=True)
class Shift:
    """A moment moved by whole months, then days, then microseconds, each up to `MAX_SHIFT`.

    Total: what is moved lies between 100,000 BC and 200,000 AD (else NULL), and the three together
    are less than 16,000 years, which the engine's moments reach beyond (294,246 AD).
    """

    arg: Expr
    months: int
    days: int
    micros: int


Expr = Col | Lit | Call | In | Case | Bin | Like | Substring | Pick | Shift


@dataclass(frozen=True)
class Scan:
    """A relation: the rows of a declared table; `prefix` stands before its columns' names.

    A relation is **unit-partitioned**: R(D) is the disjoint union over units u of R(D_u, public),
    D_u being u's rows in all private tables, and u stands beside each row. So bounding, once and at
    the top, bounds what a unit can do; the stability of joins never enters.

    Of a private table are read the rows whose unit is not NULL. It is named by a column of the row,
    or by the row that its link leads to: one at most, as the parent's column is PRIMARY KEY or
    UNIQUE; that is a row of the same unit, so u's scanned rows are made of D_u. A public table is
    the same in neighbouring databases, and its rows are nobody's.
    """

    table: str
    prefix: str = ""


@dataclass(frozen=True)
class Where:
    """The rows for which the predicate is true (not NULL): row by row, so still partitioned.

    Equality compares predicates; the hash leaves them out. A synthetic table's predicate lists all
    declared values of all columns, and each of thousands of queries over it is looked up by hash.
    """

    source: Relation
    predicate: Expr = field(hash=False)


@dataclass(frozen=True)
class Bounded:
    """The same rows, of which others than declared are to be kept of a unit: in each of `groups`
    strata `rows`, at least one; more where each meets several rows of a public table. It changes no
    row; what it says bounds the query, and noise is made for it (`bound_of`)."""

    source: Relation
    rows: int
    groups: int


@dataclass(frozen=True)
class Derive:
    """The same rows with one more column: row by row, so still partitioned."""

    source: Relation
    name: str
    expr: Expr


@dataclass(frozen=True)
class Join:
    """Pairs of rows for which `on` is true; no two columns have one name.

    "left" adds the left rows without a partner, right columns NULL; "semi" and "anti" give left
    rows alone, those with a partner and those without. A private relation stands left, a public one
    right. Partners of a private right side are sought among the row's own unit's rows (the renderer
    adds that equality), so what becomes of a left row of u depends on D_u and public rows alone:
    partitioned, however many partners there are.
    """

    left: Relation
    right: Relation
    on: Expr
    kind: str = "inner"


@dataclass(frozen=True)
class Union:
    """UNION ALL of parts of one kind of unit, an expression a name in each; u's are made of D_u."""

    names: tuple[str, ...]
    parts: tuple[tuple[Relation, tuple[Expr, ...]], ...]


@dataclass(frozen=True)
class Fold:
    """An aggregate inside one unit: "count" (of rows, or of values of `of`), "distinct" (values),
    "sum", "min" or "max" of a number clamped to [lower, upper] (min and max of a date as it is).

    At most `reach` rows are meant: a count is clamped to it when used, a sum to what so many give.
    """

    name: str
    kind: str
    of: Expr | None = None
    lower: Number = 0
    upper: Number = 0
    reach: int = 1


@dataclass(frozen=True)
class PerUnit:
    """One row for each unit and each combination of keys among its rows: GROUP BY unit, keys.

    A row of u is made of u's rows of the source alone: partitioned. Sums are of integers on a
    lattice: exact, so that no order of rows (other units' included) can move their last digit.
    """

    source: Relation
    keys: tuple[tuple[str, Expr], ...] = ()
    folds: tuple[Fold, ...] = ()
    unit: str = ""  # the name under which the unit itself is a column, if it is one


Relation = Scan | Where | Bounded | Derive | Join | Union | PerUnit
MAX_PATTERN = 200
ROOTS = 256.0
"""How finely `Roots` tells numbers apart: by 1.6 % of the interval next to its end."""
MAX_SHIFT = (60_000, 1_826_250, 157_788_000_000_000_000)
"""5000 years in months, in days and in microseconds."""


@dataclass(frozen=True)
class Key:
    """A dimension of a query's cells: rows whose value is not listed fall in none; None is NULL."""

    expr: Expr
    values: tuple[Value, ...]

    @property
    def has_all_bins(self) -> bool:
        """Whether it lists all bins of a `Bin`: a bin is then its own place in the list."""
        return isinstance(self.expr, Bin) and self.values == (*range(len(self.expr.edges) + 1),)


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
class Distinct(Count):
    """How many different values of `of`, NULL and NaN left out, in each cell; see `Count`."""


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


@dataclass(frozen=True)
class Level:
    """One of the levels in each cell: that of a rank, or (rank None) the most frequent one.

    `levels` lists ascending values or bins; `rank` (a, b) wants a share of a / b of the rows below.
    What is released of a cell is a level's position in the list. See `Count`.
    """

    source: Relation
    levels: Key
    rank: tuple[int, int] | None
    strata: tuple[Key, ...] = ()
    keys: tuple[Key, ...] = ()
    within: tuple[int, ...] | None = None

    @property
    def histogram(self) -> Count:
        """The counts that the choice is made from."""
        return Count(self.source, self.strata, (*self.keys, self.levels), None, self.within)


@dataclass(frozen=True)
class Clipped:
    """The sum of (x - c) / h, x being clipped to c ± h: to the `ends` (c - h, c + h) of its cell.

    x is `bins.arg`, clamped to [lower, upper]. Ends are where a bin begins or ends, or lie outside
    the interval: so the sum is made of the counts and sums of the bins (`proof.clipped_sums`).
    There is one pair of ends for each cell of `shape`, row-major. See `Count`.
    """

    source: Relation
    bins: Bin
    lower: Number
    upper: Number
    ends: tuple[tuple[Number, Number], ...]
    strata: tuple[Key, ...] = ()
    keys: tuple[Key, ...] = ()
    within: tuple[int, ...] | None = None

    @property
    def by_bin(self) -> tuple[Count, Sum]:
        """How many rows are in each bin of each cell, and the sum of x there."""
        keys = (*self.keys, Key(self.bins, tuple(range(len(self.bins.edges) + 1))))
        counts = Count(self.source, self.strata, keys, None, self.within)
        x, ends = self.bins.arg, (self.lower, self.upper)
        return counts, Sum(self.source, x, *ends, self.strata, keys, self.within)


Asked = Query | Level | Clipped
Parts = tuple[Query, ...]
"""The queries of whose exact answers, over the same kept rows, one answer is made."""


def strata_count(query: Asked) -> int:
    """Returns how many strata the query's domain has (measured or not); 1 without STRATIFY BY.

    >>> strata_count(Count(Scan("t"), (Key(Col("sex"), ("f", "m")), Key(Col("age"), (1, 2, 3)))))
    6
    """
    return math.prod(len(key.values) for key in query.strata)


def measured_strata(query: Asked) -> tuple[int, ...]:
    """Returns the numbers of the strata that the query measures, ascending."""
    return tuple(range(strata_count(query))) if query.within is None else query.within


def shape(query: Asked) -> tuple[int, ...]:
    """Returns the shape of a release: (measured strata, values of key 1, values of key 2, …).

    >>> sex, age = Key(Col("sex"), ("f", "m")), Key(Col("age"), (1, 2, 3))
    >>> shape(Count(Scan("t"), strata=(sex,), keys=(age,), within=(1,)))
    (1, 3)
    """
    return (len(measured_strata(query)), *(len(key.values) for key in query.keys))


def query_hash(asked: object) -> str:
    """Returns the name under which a release is sealed: different queries have different texts.

    The repr of a frozen dataclass names its class and fields; that of a float or a date is exact.
    """
    return hashlib.sha256(repr(asked).encode()).hexdigest()
