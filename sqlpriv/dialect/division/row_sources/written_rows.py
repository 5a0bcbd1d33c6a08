"""Rows that a statement writes itself, joined to private ones: VALUES become CASE, or UNION ALL.

    SELECT v.label, COUNT(*) FROM people p JOIN (VALUES ('F', 'woman'), ('M', 'man')) v (sex, label)
    ON v.sex = p.sex GROUP BY v.label
    ──► SELECT CASE WHEN 'F' = p.sex THEN 'woman' ELSE 'man' END AS label, COUNT(*)
        FROM people p WHERE ('F' = p.sex) OR ('M' = p.sex) GROUP BY CASE …

That is the join where a private row meets one written row at most: where ON holds an equality with
values that differ, or a range between ends that do not overlap. Where it may meet several, the
written rows are parted so that it meets one of each part at most, and the table is read once for
each part; so many times a unit's rows count:

    SELECT v.least, COUNT(*) FROM people p JOIN (VALUES (18), (40)) v (least) ON p.age >= v.least
    GROUP BY v.least
    ──► SELECT p.__v_least AS least, COUNT(*)
        FROM (SELECT *, 18 AS __v_least FROM people p WHERE p.age >= 18 UNION ALL
              SELECT *, 40 AS __v_least FROM people p WHERE p.age >= 40) p GROUP BY p.__v_least

Written rows before private ones, `FROM (VALUES …) v JOIN people p`, are that join turned around. So
is their LEFT JOIN where a written row without a private one changes no aggregate: each aggregate is
over a private column, and all other columns are written ones. `rewrites/kept_periods` comes before:
what is left here has no GROUP BY, or a further join.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of
from sqlpriv.dialect.division.joins.column_owners import (
    SidesOfJoin,
    columns_in,
    identifier_names,
    lower_names,
    other_sources,
    others_names,
)
from sqlpriv.dialect.division.joins.joins_taken_out import replace_columns
from sqlpriv.dialect.division.row_sources.rows_in_from import (
    WrittenRows,
    is_apart,
    union_all,
    written_rows_of,
)
from sqlpriv.dialect.division.terms.named_terms import conjuncts_of, is_aggregate
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.errors import Refused

_HIDDEN = "__using_"
_INNER = ("", "INNER", "OUTER", "CROSS")
MOST = 400
"""Written rows that a CASE is made of."""
MOST_MET = 8
"""Written rows that one row may meet: its table is read once for each, and a query scans 8."""
MOST_TABLES = 64
"""Tables that are read where a part of FROM stands for each of the rows that it may meet. Several
joins multiply them: six of three rows each wrote 729 tables, 5 s for a statement of 250 bytes."""
OVERLAPPING = Refused(
    "a row may meet several of the rows that are written here",
    hint="join them by an equality with values that differ, or by ranges of numbers that do not "
    "overlap: x BETWEEN v.low AND v.high; or ask for each: SELECT 2020, COUNT(*) … UNION ALL …",
)
AMBIGUOUS = Refused(
    "a column of the written rows has the name of a column of a table beside them",
    hint="write it behind its table, as in t.x",
)
ROW_WITHOUT_PARTNER = Refused(
    "a written row without a private one would count here, and which these are is private",
    hint="group by the written column, aggregate private ones (COUNT(t.id)), and filter in ON",
)


def with_written_rows(root: exp.Expr, tables: StoredTables) -> Refused | None:
    """Rewrites joins of private tables with rows that the statement writes.

    Returns why such a join was left as it is; None where there is none.
    """
    refusal = None
    for select in list(root.find_all(exp.Select)):
        source = select.args.get("from_")
        if source is None:
            continue
        try:
            _put_private_first(select, tables)
        except NotDivisible:
            refusal = ROW_WITHOUT_PARTNER
        for join in list(select.args.get("joins") or ()):
            if (rows := written_rows_of(join.this)) is None or not tables.reads_private(
                source.this
            ):
                continue
            if _is_ambiguous(select, join, rows, tables):
                return AMBIGUOUS
            try:
                _replace(select, join, rows, tables)
            except NotDivisible:
                refusal = OVERLAPPING
    return refusal


def _put_private_first(select: exp.Select, tables: StoredTables) -> None:
    """Turns `written rows [LEFT] JOIN private` around, in place; other joins stay as they are.

    Raises:
        NotDivisible: A written row without a private one would count.
    """
    source, joins = select.args["from_"], select.args.get("joins") or []
    rows = written_rows_of(source.this) if joins else None
    if rows is None or not isinstance(joins[0].this, exp.Table):
        return
    if joins[0].side not in ("", "LEFT") or not tables.reads_private(joins[0].this):
        return
    if joins[0].side and not _adds_nothing(select, rows):
        raise NotDivisible("a row that is kept")
    written = source.this
    source.set("this", joins[0].this)
    for name, value in (("this", written), ("side", None), ("kind", None)):
        joins[0].set(name, value)


def _adds_nothing(select: exp.Select, rows: WrittenRows) -> bool:
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


def _is_ambiguous(
    select: exp.Select, join: exp.Join, rows: WrittenRows, tables: StoredTables
) -> bool:
    """Returns whether a column without its table is one of the written rows and of another part."""
    using = {*identifier_names(join.args.get("using") or ())}
    both = {*rows.columns} & ((others_names(select, join, tables) or set()) - using)
    clauses = (join.args.get("on"), *map(select.args.get, ("where", "group", "having")))
    columns = (x for part in (*select.expressions, *clauses) if part for x in columns_in(part))
    return any(not x.table and x.name.lower() in both for x in columns)


def _replace(select: exp.Select, join: exp.Join, rows: WrittenRows, tables: StoredTables) -> None:
    """Takes a join out of a query: its rows become CASE, or a UNION where several meet one row."""
    if join.side not in ("", "LEFT") or join.kind not in _INNER or join.method:
        raise NotDivisible("another join")
    if len(rows.rows) > MOST:
        raise NotDivisible("many rows")
    if any(item.is_star for item in select.expressions) and join is not select.args["joins"][-1]:
        raise NotDivisible("their columns are amid those of other parts")
    on, rows = _condition(join, rows)
    if not join.side:
        on = _all_of([*conjuncts_of(on), *_take_tests(select, rows)])
    if is_apart(on, rows):
        _write_case(select, join, rows, on)
    else:
        _write_union(select, join, rows, on, tables)


def _take_tests(select: exp.Select, rows: WrittenRows) -> list[exp.Expr]:
    """Takes the conditions on written rows out of WHERE: of an inner join they are as in ON."""
    where = select.args.get("where")
    tests = conjuncts_of(where and where.this)
    taken = [
        test
        for test in tests
        if any(rows.column(column) is not None for column in columns_in(test))
        and not test.find(exp.Query)
    ]
    if taken:
        left = [test for test in tests if not any(test is one for one in taken)]
        select.set("where", exp.Where(this=_all_of(left)) if left else None)
    return taken


def _all_of(tests: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*tests) if tests else exp.true()


def _condition(join: exp.Join, rows: WrittenRows) -> tuple[exp.Expr, WrittenRows]:
    """Returns what a join tests, and the rows as that test names their columns."""
    using = [name.name for name in join.args.get("using") or ()]
    if not using:
        return join.args.get("on") or exp.true(), rows
    hidden = {name.lower() for name in using}
    columns = [f"{_HIDDEN}{c}" if c in hidden else c for c in rows.columns]
    tests = (
        exp.EQ(this=exp.column(name), expression=exp.column(f"{_HIDDEN}{name.lower()}"))
        for name in using
    )
    return exp.and_(*tests), WrittenRows(rows.alias, columns, rows.rows)


def _write_case(select: exp.Select, join: exp.Join, rows: WrittenRows, on: exp.Expr) -> None:
    """Writes CASE where columns of the written rows stand, of which a row meets one at most."""
    is_kept = join.side == "LEFT"
    tests = [rows.at(on, row) for row in rows.rows]
    cases = [rows.case(tests, place, is_kept) for place in range(len(rows.columns))]
    _take_out(select, join, rows, cases)
    if not is_kept:
        select.where(exp.paren(exp.or_(*(test.copy() for test in tests))), copy=False)


def _write_union(
    select: exp.Select,
    join: exp.Join,
    rows: WrittenRows,
    on: exp.Expr,
    tables: StoredTables,
) -> None:
    """Joins a table with written rows by itself: what a row of it is beside each part of them, as
    UNION ALL, stands in the table's place."""
    holder, inside, outside = _holder(select, join, rows, on, tables)
    is_kept = join.side == "LEFT"
    if is_kept and outside:
        raise NotDivisible("a row is kept by what other tables hold")
    is_set = select.args.get("distinct") or isinstance(select.parent, exp.SetOperation)
    if is_set and any(isinstance(x, exp.Column) and x.is_star for x in select.expressions):
        raise NotDivisible("all columns of one part, without the written ones")
    parts = rows.parts_by(inside)
    tables_read = len(parts) * len([*holder.find_all(exp.Table)])
    if len(parts) > MOST_MET or tables_read > MOST_TABLES:
        raise NotDivisible("a row may meet very many")
    tests = [[rows.at(inside, row) for row in part.rows] for part in parts]
    names = [f"__{rows.alias}_{column}" for column in rows.columns]
    branches = []
    for part, own_tests in zip(parts, tests, strict=True):
        cases = [part.case(own_tests, place, is_kept) for place in range(len(names))]
        outputs = [
            exp.alias_(case, name, quoted=True) for case, name in zip(cases, names, strict=True)
        ]
        branch = exp.select(exp.Star(), *outputs).from_(holder.copy())
        meets = exp.or_(*(test.copy() for test in own_tests))
        if is_kept and part is parts[0]:  # a row that meets nothing is here
            others = exp.or_(*(test.copy() for x in tests[1:] for test in x))
            met = exp.Is(this=exp.paren(others), expression=exp.true())
            meets = exp.or_(meets, exp.not_(met))
        branches.append(branch.where(meets))
    alias = exp.to_identifier(alias_of(holder), quoted=True)
    places = [
        exp.Column(this=exp.to_identifier(name, quoted=True), table=alias.copy()) for name in names
    ]
    _take_out(select, join, rows, places)
    for test in outside:
        select.where(test.transform(lambda node: rows.value_of(node, places)), copy=False)
    holder.replace(exp.Subquery(this=union_all(branches), alias=exp.TableAlias(this=alias)))


def _holder(
    select: exp.Select, join: exp.Join, rows: WrittenRows, on: exp.Expr, tables: StoredTables
) -> tuple[exp.Expr, exp.Expr, list[exp.Expr]]:
    """Returns the part of FROM that written rows are joined with, what ON tests of it, and the
    conditions of ON that are of other parts, too.

    Raises:
        NotDivisible: Rows of another part are kept, or it cannot be told whose columns are tested.
    """
    others = other_sources(select, join)
    sides = [one.side for one in select.args["joins"] if one is not join]
    if not {*sides} <= {"", "LEFT"} or on.find(exp.Query):
        raise NotDivisible("rows are kept, or a query tests them")
    values = [value for row in rows.rows for value in row]
    best: tuple[exp.Expr, list[exp.Expr], list[exp.Expr]] | None = None
    for source in others[:1] if any(sides) else others:
        spine = {alias_of(x): lower_names(x, tables) for x in others if x is not source}
        owners = SidesOfJoin(alias_of(source), lower_names(source, tables) or (), spine)

        def is_own(x: exp.Column, owners: SidesOfJoin = owners) -> bool:
            return owners.is_private_column(x) or not (x.table or owners.spine)

        if not alias_of(source) or not all(is_own(x) for v in values for x in columns_in(v)):
            continue
        tests = conjuncts_of(on)
        inside = [
            test
            for test in tests
            if all(is_own(x) or rows.column(x) is not None for x in columns_in(test))
        ]
        if best is None or len(inside) > len(best[1]):
            outside = [test for test in tests if not any(test is one for one in inside)]
            best = source, inside, outside
    if best is None:
        raise NotDivisible("columns of several parts of FROM")
    return best[0], _all_of(best[1]), best[2]


def _take_out(
    select: exp.Select, join: exp.Join, rows: WrittenRows, values: Sequence[exp.Expr]
) -> None:
    """Takes a join out of a query, with a value where each column of the written rows stands."""
    outputs: list[exp.Expr] = []
    for item in select.expressions:
        outputs.append(item)
        if isinstance(item, exp.Star):
            columns = [name for name in rows.columns if not name.startswith(_HIDDEN)]
            outputs += [exp.column(name, table=rows.alias, quoted=True) for name in columns]
    select.set("expressions", outputs)

    def value(node: exp.Expr) -> exp.Expr:
        of_other = node.find_ancestor(exp.Join) and node.find_ancestor(exp.Select)
        return node if of_other else rows.value_of(node, values)

    replace_columns(select, join, value)
