"""Rows that a part of FROM writes, and whether several of them may meet one row."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, common_table, has_outputs_alone
from sqlpriv.dialect.division.row_sources.written_constants import Constant, constant_of
from sqlpriv.dialect.division.terms.named_terms import column_names, conjuncts_of, is_aggregate
from sqlpriv.dialect.division.terms.parts import own_nodes
from sqlpriv.dialect.marks import marked_name

_LESS = {exp.LT: True, exp.LTE: False}
_MORE = {exp.GT: True, exp.GTE: False}
UNNAMED = "unnamed_subquery"
"""What DuckDB calls a query in FROM that has no alias."""


@dataclass(frozen=True)
class WrittenRows:
    """Written rows, behind an alias: the names of their columns, and their values."""

    alias: str
    columns: list[str]
    rows: list[list[exp.Expr]]

    def column(self, node: exp.Expr) -> int | None:
        """Returns which of the columns an expression is; None of any other."""
        if not isinstance(node, exp.Column) or marked_name(node):
            return None
        if node.table.lower() not in ("", self.alias) or node.name.lower() not in self.columns:
            return None
        return self.columns.index(node.name.lower())

    def at(self, node: exp.Expr, row: list[exp.Expr]) -> exp.Expr:
        """Returns an expression with the values of one row in the places of its columns."""

        def value(part: exp.Expr) -> exp.Expr:
            place = self.column(part)
            return part if place is None else as_operand(row[place])

        return node.copy().transform(value)

    def value_of(self, node: exp.Expr, values: Sequence[exp.Expr]) -> exp.Expr:
        """Returns what stands for a node: for one of the columns its value, else itself."""
        place = self.column(node)
        return node if place is None else values[place].copy()

    def case(self, tests: Sequence[exp.Expr], place: int, is_kept: bool) -> exp.Expr:
        """Returns the value of one column beside a row that meets one of the written rows.

        Args:
            tests: For each written row whether it is met.
            place: Which of the columns.
            is_kept: A row may meet none of them, and the value is NULL.
        """
        values = [as_operand(row[place]) for row in self.rows]
        last = None if is_kept else values.pop()
        ifs = [exp.If(this=test.copy(), true=x) for test, x in zip(tests, values, strict=False)]
        return exp.Case(ifs=ifs, default=last) if ifs or last is None else as_in_column(last)

    def parts_by(self, on: exp.Expr) -> list[WrittenRows]:
        """Returns the rows in as few parts as one pass finds: a row that passes ON meets at most
        one written row of each part."""
        parts: list[WrittenRows] = []
        for row in self.rows:
            for place, part in enumerate(parts):
                wider = replace(self, rows=[*part.rows, row])
                if is_apart(on, wider):
                    parts[place] = wider
                    break
            else:
                parts.append(replace(self, rows=[row]))
        return parts


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """Returns the rows of all queries, one after another."""
    first, *others = queries
    for query in others:
        first = exp.Union(this=first, expression=query, distinct=False)
    return first


def as_operand(value: exp.Expr) -> exp.Expr:
    """Returns a copy of a value that may stand anywhere in an expression."""
    simple = not own_nodes(value)[1:] or isinstance(value, exp.Column | exp.Cast | exp.Paren)
    return value.copy() if simple else exp.Paren(this=value.copy())


def as_in_column(value: exp.Expr) -> exp.Expr:
    """Returns a value as a column has it: 2 is an INTEGER there; u + 2 would be as narrow as u."""
    number, written = constant_of(value), value.unnest()
    written = written.this.unnest() if isinstance(written, exp.Neg) else written
    is_narrow = type(number) is int and abs(number) < 2**31 and isinstance(written, exp.Literal)
    return exp.cast(value, "INT") if is_narrow else value


def written_rows_of(source: exp.Expr) -> WrittenRows | None:
    """Returns the rows that a part of FROM writes; None where it does something else."""
    alias, names = alias_of(source) or UNNAMED, column_names(source) or []
    if isinstance(source, exp.Table) and (cte := common_table(source)) is not None:
        source = cte.this
    if isinstance(source, exp.Subquery):
        source = source.this
    if isinstance(source, exp.Select) and source.expressions == [exp.Star()]:
        inner = source.args.get("from_")
        clauses = {name for name, value in source.args.items() if value}
        if inner is None or clauses - {"expressions", "from_", "kind"}:
            return None
        source = inner.this
    if isinstance(source, exp.SetOperation) or has_outputs_alone(source):
        source = _united_rows(source) or source
    if not isinstance(source, exp.Values):
        return None
    rows = [list(row.expressions) for row in source.expressions if isinstance(row, exp.Tuple)]
    width = len(rows[0]) if rows else 0
    columns = [*map(str.lower, names), *(f"col{i}" for i in range(len(names), width))]
    parts = [x for row in rows for value in row for x in value.walk()]
    takes_rows = any(isinstance(x, exp.Query | exp.Window | exp.Explode) for x in parts)
    plain = not takes_rows and not any(map(is_aggregate, parts))
    if not rows or len(names) > width or any(len(row) != width for row in rows) or not plain:
        return None
    return WrittenRows(alias, columns, rows)


def _united_rows(union: exp.Expr) -> exp.Values | None:
    """Returns `SELECT 'a', 1 UNION ALL SELECT 'b', 2` as VALUES; None where a part reads rows."""
    rows: list[exp.Expr] = []
    parts: list[exp.Expr] = [union]
    while parts:
        part = parts.pop()
        if isinstance(part, exp.Union) and not part.args.get("distinct"):
            parts += [part.right, part.left]
        elif has_outputs_alone(part):
            rows.append(exp.Tuple(expressions=[x.unalias().copy() for x in part.expressions]))
        else:
            return None
    return exp.Values(expressions=rows)


def is_apart(on: exp.Expr, rows: WrittenRows) -> bool:
    """Returns whether at most one of the rows passes ON, whatever else it is about."""
    if len(rows.rows) == 1:
        return True
    ends: dict[str, dict[bool, tuple[list[Constant], bool]]] = {}
    for test in conjuncts_of(on):
        for side, other in _sides(test):
            values = None if _is_written(side, rows) else _values_of(other, rows)
            if values is None:
                continue
            one_type = len({*map(type, values)}) == 1 and type(values[0]) is not Decimal
            if isinstance(test, exp.EQ) and one_type and len({*values}) == len(values):
                return True
            above = type(test) in (_MORE if side is test.this else _LESS)
            below = type(test) in (_LESS if side is test.this else _MORE)
            if above or below:
                strict = isinstance(test, exp.LT | exp.GT)
                ends.setdefault(side.sql("duckdb").lower(), {})[above] = (values, strict)
        if isinstance(test, exp.Between) and not _is_written(test.this, rows):
            low, high = _values_of(test.args["low"], rows), _values_of(test.args["high"], rows)
            if low is not None and high is not None:
                key = test.this.sql("duckdb").lower()
                ends[key] = {True: (low, False), False: (high, False)}
    return any(_do_not_overlap(pair) for pair in ends.values() if len(pair) == 2)


def _is_written(node: exp.Expr, rows: WrittenRows) -> bool:
    return any(rows.column(column) is not None for column in node.find_all(exp.Column))


def _values_of(node: exp.Expr, rows: WrittenRows) -> list[Constant] | None:
    """Returns what an expression of the written columns is for each of the rows; None where that
    is not known."""
    if not _is_written(node, rows):
        return None
    values = [constant_of(rows.at(node, row)) for row in rows.rows]
    return None if None in values else [value for value in values if value is not None]


def _do_not_overlap(pair: dict[bool, tuple[list[Constant], bool]]) -> bool:
    (low, open_low), (high, open_high) = pair[True], pair[False]
    if any(isinstance(value, str) for value in (*low, *high)):
        return False
    moments = [isinstance(value, dt.date) for value in (*low, *high)]
    if len({*moments}) > 1:
        return False
    spans = sorted(zip(map(_on_a_line, low), map(_on_a_line, high), strict=True))
    strict = open_low or open_high
    return all(a[1] <= b[0] if strict else a[1] < b[0] for a, b in itertools.pairwise(spans))


def _on_a_line(value: Constant) -> Any:
    """Returns a date as the moment at which it begins; others as they are."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return value


def _sides(test: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    if type(test) in (exp.EQ, *_LESS, *_MORE):
        yield test.this, test.expression
        yield test.expression, test.this
