"""Rows that a statement writes itself, joined to private ones: VALUES become CASE.

    SELECT v.label, COUNT(*) FROM people p JOIN (VALUES ('F', 'woman'), ('M', 'man')) v (sex, label)
    ON v.sex = p.sex GROUP BY v.label
    ──► SELECT CASE WHEN 'F' = p.sex THEN 'woman' ELSE 'man' END AS label, COUNT(*)
        FROM people p WHERE ('F' = p.sex) OR ('M' = p.sex) GROUP BY CASE …

That is the join where a private row meets one written row at most: where ON holds an equality with
values that differ, or a range between ends that do not overlap.

Written rows before private ones, `FROM (VALUES …) v JOIN people p`, are that join turned around. So
is their LEFT JOIN where a written row without a private one changes no aggregate: each aggregate is
over a private column, and all other columns are written ones. `rewrites/kept_periods` comes before:
what is left here has no GROUP BY, or a further join.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, common_table
from sqlpriv.dialect.division.named_terms import conjuncts_of, is_aggregate
from sqlpriv.dialect.division.parts import NotDivisible, own_nodes
from sqlpriv.dialect.marks import MARK, marked_name
from sqlpriv.errors import Refused

_HIDDEN = "__using_"
MOST = 400
"""Written rows that a CASE is made of."""
OVERLAPPING = Refused(
    "a row may meet several of the rows that are written here",
    hint="join them by an equality with values that differ, or by ranges of numbers that do not "
    "overlap: x BETWEEN v.low AND v.high; or ask for each: SELECT 2020, COUNT(*) … UNION ALL …",
)
ROW_WITHOUT_PARTNER = Refused(
    "a written row without a private one would count here, and which these are is private",
    hint="group by the written column, aggregate private ones (COUNT(t.id)), and filter in ON",
)
_BARE = {"expressions", "kind"}
_LESS = {exp.LT: True, exp.LTE: False}
_MORE = {exp.GT: True, exp.GTE: False}


def with_written_rows(root: exp.Expr, reads_private: Callable[[exp.Expr], bool]) -> Refused | None:
    """Rewrites joins of private tables with rows that the statement writes.

    Returns:
        Why such a join was left as it is; None where there is none.
    """
    refusal = None
    for select in list(root.find_all(exp.Select)):
        source = select.args.get("from_")
        if source is None:
            continue
        try:
            _put_private_first(select, reads_private)
        except NotDivisible:
            refusal = ROW_WITHOUT_PARTNER
        if not isinstance(source.this, exp.Table) or not reads_private(source.this):
            continue
        for join in list(select.args.get("joins") or ()):
            try:
                if (rows := _rows_of(join.this)) is not None:
                    _replace(select, join, rows)
            except NotDivisible:
                refusal = OVERLAPPING
    return refusal


def _put_private_first(select: exp.Select, reads_private: Callable[[exp.Expr], bool]) -> None:
    """Turns `written rows [LEFT] JOIN private` around, in place; other joins stay as they are.

    Raises:
        NotDivisible: A written row without a private one would count.
    """
    source, joins = select.args["from_"], select.args.get("joins") or []
    rows = _rows_of(source.this) if joins else None
    if rows is None or not isinstance(joins[0].this, exp.Table) or not reads_private(joins[0].this):
        return
    if joins[0].side not in ("", "LEFT"):
        return
    if joins[0].side and not _adds_nothing(select, rows):
        raise NotDivisible("a row that is kept")
    written = source.this
    source.set("this", joins[0].this)
    for name, value in (("this", written), ("side", None), ("kind", None)):
        joins[0].set(name, value)


def _adds_nothing(select: exp.Select, rows: _Rows) -> bool:
    """Returns whether written rows that are kept alone change no aggregate, and no group but that
    of their own values."""
    calls = [node for node in own_nodes(select) if is_aggregate(node)]
    plain = [call for call in calls if not isinstance(call, exp.Filter | exp.WithinGroup)]
    args = [next(iter(call.expressions), call) for call in plain]
    args = [arg.expressions[0] if isinstance(arg, exp.Distinct) else arg for arg in args]
    if not all(isinstance(arg, exp.Column) and rows.column(arg) is None for arg in args):
        return False
    named = {item.alias.lower() for item in select.expressions if item.alias}
    group, where = select.args.get("group"), select.args.get("where")
    keys = [
        key
        for key in (group.expressions if group else [])
        if not (isinstance(key, exp.Column) and not key.table and key.name.lower() in named)
    ]
    columns = [
        node
        for part in (*select.expressions, *keys, *([where] if where else []))
        for node in part.walk(prune=is_aggregate)
        if isinstance(node, exp.Column)
    ]
    return bool(calls) and all(rows.column(column) is not None for column in columns)


@dataclass(frozen=True)
class _Rows:
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
            return part if place is None else row[place].copy()

        return node.copy().transform(value)


def _replace(select: exp.Select, join: exp.Join, rows: _Rows) -> None:
    """Takes a join out of a query, with CASE where columns of the written rows stand."""
    side, kind = join.side, join.kind
    on, using = join.args.get("on"), join.args.get("using") or []
    if not on and not using and len(rows.rows) == 1 and kind in ("", "CROSS"):
        kind, on = "", exp.true()  # whatever a row is, it meets this one
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.method:
        raise NotDivisible("another join")
    own = set(rows.columns) - {name.name.lower() for name in using}
    if using:
        names = [name.name for name in using]
        on = exp.and_(
            *(exp.EQ(this=exp.column(n), expression=exp.column(n, table=rows.alias)) for n in names)
        )
        visible = rows
        rows = _Rows(
            rows.alias, [c if c in own else f"{_HIDDEN}{c}" for c in rows.columns], rows.rows
        )
        on = on.transform(lambda x: _under_hidden_name(x, visible.alias))
    if on is None or len(rows.rows) > MOST or not _is_apart(on, rows):
        raise NotDivisible("rows that may meet one row")
    tests = [rows.at(on, row) for row in rows.rows]

    def case(part: exp.Expr) -> exp.Expr:
        place = rows.column(part)
        if place is None:
            return part
        values = [row[place].copy() for row in rows.rows]
        last = None if side == "LEFT" else values.pop()  # whoever passes meets one of the rows
        ifs = [exp.If(this=test.copy(), true=x) for test, x in zip(tests, values, strict=False)]
        return exp.Case(ifs=ifs, default=last) if ifs else last or part

    joins = [other for other in select.args["joins"] if other is not join]
    select.set("joins", joins or None)
    outputs = []
    for item in select.expressions:
        bare = isinstance(item, exp.Column) and rows.column(item) is not None
        written = item.transform(case)
        outputs.append(exp.alias_(written, item.name, quoted=True) if bare else written)
    select.set("expressions", outputs)
    for clause in ("where", "group", "having", "qualify", "order"):
        if (part := select.args.get(clause)) is not None:
            select.set(clause, part.transform(case))
    if side != "LEFT":
        select.where(exp.paren(exp.or_(*(test.copy() for test in tests))), copy=False)


def _under_hidden_name(node: exp.Expr, alias: str) -> exp.Expr:
    """Returns a column of USING under a name that no column of the query has."""
    if isinstance(node, exp.Column) and node.table.lower() == alias:
        return exp.column(f"{_HIDDEN}{node.name.lower()}")
    return node


def _is_apart(on: exp.Expr, rows: _Rows) -> bool:
    """Returns whether at most one of the rows passes ON, whatever else it is about."""
    if len(rows.rows) == 1:
        return True
    ends: dict[str, dict[bool, tuple[int, bool]]] = {}
    for test in conjuncts_of(on):
        for side, other in _sides(test):
            place = rows.column(other.this if _is_day(other) else other)
            if place is None or any(rows.column(c) is not None for c in side.find_all(exp.Column)):
                continue
            values = [_comparable(row[place]) for row in rows.rows]
            if _is_day(other) and not all(isinstance(value, dt.date) for value in values):
                continue
            one_type = len({*map(type, values)}) == 1 and None not in values
            if isinstance(test, exp.EQ) and one_type and len({*values}) == len(values):
                return True
            above = type(test) in (_MORE if side is test.this else _LESS)
            below = type(test) in (_LESS if side is test.this else _MORE)
            if above or below:
                strict = isinstance(test, exp.LT | exp.GT)
                ends.setdefault(side.sql("duckdb").lower(), {})[above] = (place, strict)
        if isinstance(test, exp.Between):
            low, high = rows.column(test.args["low"]), rows.column(test.args["high"])
            if low is not None and high is not None:
                key = test.this.sql("duckdb").lower()
                ends[key] = {True: (low, False), False: (high, False)}
    return any(_do_not_overlap(pair, rows) for pair in ends.values() if len(pair) == 2)


def _do_not_overlap(pair: dict[bool, tuple[int, bool]], rows: _Rows) -> bool:
    (low, open_low), (high, open_high) = pair[True], pair[False]
    spans = []
    for row in rows.rows:
        try:
            spans.append((float(row[low].sql("duckdb")), float(row[high].sql("duckdb"))))
        except ValueError:
            return False
    spans.sort()
    strict = open_low or open_high
    pairs = itertools.pairwise(spans)
    return all(a[1] <= b[0] if strict else a[1] < b[0] for a, b in pairs)


def _sides(test: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    if type(test) in (exp.EQ, *_LESS, *_MORE):
        yield test.this, test.expression
        yield test.expression, test.this


def _is_day(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this is exp.DType.DATE


def _comparable(value: exp.Expr) -> int | str | dt.date | None:
    """Returns a whole number, a day, or a text as any collation may see it; None of all other
    values: what is equal to them is not told by how they are written."""
    if _is_day(value) and isinstance(value.this, exp.Literal):
        try:
            return dt.date.fromisoformat(value.this.name)
        except ValueError:
            return None
    sign, literal = (-1, value.this) if isinstance(value, exp.Neg) else (1, value)
    if not isinstance(literal, exp.Literal):
        return None
    if literal.is_string:
        return literal.name.casefold()
    return sign * int(literal.name) if literal.name.isdecimal() else None


def _rows_of(source: exp.Expr) -> _Rows | None:
    """Returns the rows that a part of FROM writes; None where it does something else."""
    alias = alias_of(source)
    names = source.args["alias"].columns if source.args.get("alias") else []
    if isinstance(source, exp.Table) and (cte := common_table(source)) is not None:
        names = names or cte.args["alias"].columns
        source = cte.this
    if isinstance(source, exp.Subquery):
        source = source.this
    if isinstance(source, exp.Select) and source.expressions == [exp.Star()]:
        inner = source.args.get("from_")
        clauses = [name for name, value in source.args.items() if value]
        if inner is None or {*clauses} - {"expressions", "from_", "kind"}:
            return None
        names = names or (inner.this.args["alias"].columns if inner.this.args.get("alias") else [])
        source = inner.this
    if isinstance(source, exp.SetOperation):
        names, source = names or _names_of_rows(source), _united_rows(source) or source
    if not isinstance(source, exp.Values) or not alias:
        return None
    rows = [list(row.expressions) for row in source.expressions if isinstance(row, exp.Tuple)]
    columns = [name.name.partition(MARK)[0].lower() for name in names]
    width = len(rows[0]) if rows else 0
    columns += [f"col{i}" for i in range(len(columns), width)]
    plain = all(
        not own_nodes(x)[1:] or isinstance(x, exp.Neg | exp.Cast | exp.Column)
        for row in rows
        for x in row
    )
    if not rows or any(len(row) != width for row in rows) or not plain:
        return None
    return _Rows(alias, columns, rows)


def _united_rows(union: exp.SetOperation) -> exp.Values | None:
    """Returns `SELECT 'a', 1 UNION ALL SELECT 'b', 2` as VALUES; None where a part reads rows."""
    rows: list[exp.Expr] = []
    parts: list[exp.Expr] = [union]
    while parts:
        part = parts.pop()
        if isinstance(part, exp.Union) and not part.args.get("distinct"):
            parts += [part.right, part.left]
        elif isinstance(part, exp.Select) and {k for k, v in part.args.items() if v} <= _BARE:
            rows.append(exp.Tuple(expressions=[x.unalias().copy() for x in part.expressions]))
        else:
            return None
    return exp.Values(expressions=rows)


def _names_of_rows(union: exp.SetOperation) -> list[exp.Expr]:
    """Returns the names that the first SELECT of a union gives to columns."""
    first: exp.Expr = union
    while isinstance(first, exp.SetOperation):
        first = first.left
    names = [item.alias_or_name for item in first.expressions]
    return [exp.to_identifier(name or f"col{i}") for i, name in enumerate(names)]
