"""What a query says, once it is read: our own small tree, free of sqlglot.

The dialect reads text into these frozen values and nothing more: no name is looked up, no type
known. `pos` is the place in the user's text (for messages), and no part of equality.
"""

# ruff: noqa: RUF009  # `optional_place()` only writes out the same dataclass field again and again.
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlpriv.kernel.terms.contract import Value


@dataclass(frozen=True)
class Pos:
    """A place in the statement: line and column from 1, 0 when unknown."""

    line: int = 0
    column: int = 0


def optional_place() -> Pos:
    """The field of a node that need not come from a text."""
    return field(default=Pos(), compare=False, repr=False)


@dataclass(frozen=True)
class Name:
    """A column or alias; `table` is the qualifier, or ''."""

    name: str
    table: str = ""
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Literal:
    """A literal, the value bound to a parameter, or that of a public subquery.

    Args:
        value: What it stands for.
        exponent: It is written with one, as in 1e-1, and so a DOUBLE; 0.1 is a DECIMAL.
        stored: DuckDB's type of a subquery's whole number; '' of a written one, which is as narrow
            as what it stands beside: UTINYINT + 250 is a UTINYINT.
    """

    value: Value
    pos: Pos = optional_place()
    exponent: bool = False
    stored: str = ""


@dataclass(frozen=True)
class ContributionBounds:
    """`contribution_bounds_per_row => (0, 10)`, or `… CLAMPED BETWEEN 0 AND 10`.

    Args:
        per: "row": each value is clamped; "group": what a unit adds to one group is.
        lower, upper: The ends.
    """

    per: str
    lower: int | float
    upper: int | float


@dataclass(frozen=True)
class FunctionCall:
    """A function or aggregate call. `name` is lower case.

    Args:
        name: DuckDB's name of the function.
        args: Arguments in order; empty for COUNT(*), where `star` is true.
        using: The estimator of `AVG(x USING laplace)`, or ''.
        bounds: Where contributions are clamped, in the spelling of GoogleSQL; None without.
    """

    name: str
    args: tuple[Node, ...] = ()
    star: bool = False
    distinct: bool = False
    filter: Node | None = None
    using: str = ""
    pos: Pos = optional_place()
    bounds: ContributionBounds | None = None


@dataclass(frozen=True)
class Unary:
    """op is 'not' or '-'."""

    op: str
    arg: Node
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Binary:
    """op is one of + - * / // % || = <> < <= > >= and or."""

    op: str
    left: Node
    right: Node
    pos: Pos = optional_place()


@dataclass(frozen=True)
class IsNull:
    """`arg IS [NOT] NULL`."""

    arg: Node
    negated: bool = False
    pos: Pos = optional_place()


@dataclass(frozen=True)
class InList:
    """`arg [NOT] IN (items…)`."""

    arg: Node
    items: tuple[Node, ...]
    negated: bool = False
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Between:
    """`arg [NOT] BETWEEN low AND high`."""

    arg: Node
    low: Node
    high: Node
    negated: bool = False
    pos: Pos = optional_place()


@dataclass(frozen=True)
class CaseWhen:
    """`CASE [operand] WHEN … THEN … ELSE otherwise END`."""

    whens: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None
    operand: Node | None = None
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Cast:
    """`CAST(arg AS type)`; type is DuckDB's name, upper case."""

    arg: Node
    type: str
    try_: bool = False
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Exists:
    """`EXISTS (query)`."""

    query: Query
    pos: Pos = optional_place()


@dataclass(frozen=True)
class InQuery:
    """`arg [NOT] IN (query)`; `text` is the query's own, `parameters` those in it."""

    arg: Node
    query: Query
    negated: bool = False
    text: str = field(default="", compare=False)
    parameters: Bound = field(default=(), compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Subquery:
    """`(query)` where a value stands; `text` is the query's own, `parameters` those in it."""

    query: Query
    text: str = field(default="", compare=False)
    parameters: Bound = field(default=(), compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Lookup:
    """The public number that belongs to the value of `arg`; NULL for one that is not listed."""

    arg: Node
    values: tuple[Value, ...]
    numbers: tuple[float, ...]
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Span:
    """`INTERVAL 3 MONTH`, as what stands behind + or - a moment."""

    months: int = 0
    days: int = 0
    micros: int = 0
    pos: Pos = optional_place()


_Operator = Unary | Binary | IsNull | InList | Between | CaseWhen | Cast | FunctionCall
Node = Name | Literal | _Operator | Exists | InQuery | Subquery | Lookup | Span


@dataclass(frozen=True)
class Item:
    """One output of a SELECT: `expr [AS alias]`, or `*`.

    Args:
        expr: The expression; of `*` and `t.*` a `Name`.
        alias: Its alias or ''.
        text: The user's own text of expr, where it has no alias.
        excluded: Of `* EXCLUDE (…)`: the columns that are left out, in lower case.
        renamed: Of `* RENAME (…)`: columns, in lower case, and their new names.
        replaces: It stands in the place of the column of its alias: `* REPLACE (expr AS alias)`.
    """

    expr: Node
    alias: str = ""
    text: str = ""
    excluded: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    replaces: bool = False


@dataclass(frozen=True)
class Order:
    """One ORDER BY term. `nulls_first` None means DuckDB's default (NULLS LAST)."""

    expr: Node
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Stratify:
    """`STRATIFY BY names [WEIGHTS FROM weights]`."""

    by: tuple[Node, ...]
    weights: str = ""
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Table:
    """A table of FROM, and its alias or ''."""

    name: str
    alias: str = ""
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Derived:
    """`(query) AS alias`; also a name that WITH introduced."""

    query: Query
    alias: str = ""
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Joined:
    """`left JOIN right ON on | USING (using)`; kind: inner, left, right, cross, semi or anti."""

    left: Source
    right: Source
    kind: str
    on: Node | None = None
    using: tuple[str, ...] = ()
    pos: Pos = optional_place()


Source = Table | Derived | Joined
NATURAL = "*"
"""What `Joined.using` says of NATURAL JOIN: all names that both sides have."""

Options = tuple[tuple[str, Value], ...]
"""`OPTIONS (name = value, …)` in the order written; names are lower case."""

Bound = tuple[object, ...] | Mapping[str, object]
"""A statement's own share of the caller's parameters, as DuckDB takes them beside its text: a
tuple for `?`, a mapping without the sign for `$1` and `$name`."""


class Origin(Protocol):
    """A query as it was parsed: only the dialect can divide it into parts."""

    @property
    def text(self) -> str: ...

    def place_of(self, name: str) -> Pos: ...


@dataclass(frozen=True)
class Select:
    """A SELECT in the form that can be answered privately.

    Args:
        items: The outputs.
        table, alias: The table of FROM, the first one of several, and its alias or ''.
        source: The whole of FROM where it is more than one table; else None.
        stages: Queries of WITH by name.
        where: Predicate or None.
        group_by: Grouping expressions (ordinals and aliases not yet resolved).
        group_all: GROUP BY ALL was written.
        sets: Of ROLLUP, CUBE and GROUPING SETS: the positions in `group_by` of each set's keys.
        stratify: None without STRATIFY BY.
        private: `WITH DIFFERENTIAL_PRIVACY` or STRATIFY BY was written.
        options: Those of WITH DIFFERENTIAL_PRIVACY OPTIONS (…).
        text: The user's whole statement.
        start: Where it begins in the user's text.
        parameters: What to bind where `text` is run by DuckDB itself (over released tables, say).
        origin: The statement as it was parsed; None in a query inside another.
    """

    items: tuple[Item, ...]
    table: str
    alias: str = ""
    where: Node | None = None
    group_by: tuple[Node, ...] = ()
    group_all: bool = False
    sets: tuple[tuple[int, ...], ...] = ()
    stratify: Stratify | None = None
    having: Node | None = None
    order_by: tuple[Order, ...] = ()
    limit: Node | None = None
    offset: Node | None = None
    private: bool = False
    options: Options = ()
    text: str = field(default="", compare=False)
    start: Pos = optional_place()
    parameters: Bound = field(default=(), compare=False)
    source: Source | None = None
    stages: tuple[tuple[str, Query], ...] = field(default=(), compare=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class UnionAll:
    """SELECTs joined by UNION ALL."""

    parts: tuple[Select, ...]
    pos: Pos = optional_place()


Query = Select | UnionAll
