"""Joins with the first groups by a number: which groups they are is an answer of its own.

    SELECT month, state, SUM(total) FROM bills
    JOIN (SELECT state AS s, SUM(total) AS t FROM bills GROUP BY state ORDER BY t DESC LIMIT 5) q
    ON state = s GROUP BY month, state
    ──► SELECT month, state, "sum(total)" FROM
            (SELECT month, state, SUM(total) FROM bills GROUP BY month, state) g
        JOIN (SELECT state AS s, … LIMIT 5) q ON g.state = s

    SELECT CASE WHEN s IS NULL THEN 'other' ELSE state END AS k, COUNT(*) FROM bills
    LEFT JOIN (SELECT state AS s, … LIMIT 5) q ON state = s GROUP BY k
    ──► SELECT CASE WHEN CASE WHEN state IN (SELECT s FROM (…) q) THEN state END IS NULL THEN …

A row meets one group or none, as the groups have keys of their own. Where the query groups by these
keys, too, whole groups of it meet one: they are joined as answers. Elsewhere the keys are a list.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.common_tables import query_in_from
from sqlpriv.dialect.division.named_terms import (
    common_text,
    conjuncts_of,
    is_aggregate,
    output_name,
    term_of_number,
)
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.rewrites.column_owners import (
    SidesOfJoin,
    column_name,
    identifier_names,
    sides_of_join,
    using_columns,
)
from sqlpriv.dialect.division.rewrites.joins_taken_out import take_joins_out, write_values
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.marks import MARK, clauses_mark

_GROUPS = "__groups"
_OF_ALL_GROUPS = ("distinct", "qualify", "windows")


def with_top_groups(
    root: exp.Expr, reads_private: Callable[[exp.Expr], bool], columns_of: ColumnsOf
) -> None:
    """Takes joins with the first groups by a number out of queries over private rows.

    Args:
        root: Holds the query.
        reads_private: Whether a part reads private rows.
        columns_of: The columns of a stored table.
    """

    def write(select: exp.Select, join: exp.Join) -> None:
        first_groups = query_in_from(join.this)
        if first_groups is None or not reads_private(first_groups):
            raise NotDivisible("no private groups")
        if not reads_private(select.args["from_"].this):
            raise NotDivisible("a query over public rows")
        if select.args.get("group") is None and not any(map(is_aggregate, own_nodes(select))):
            raise NotDivisible("no query over groups")
        _write_groups(select, join, first_groups, columns_of)

    take_joins_out(root, write)


def _write_groups(
    select: exp.Select, join: exp.Join, first_groups: exp.Select, columns_of: ColumnsOf
) -> None:
    group = first_groups.args.get("group")
    if group is None or not first_groups.args.get("limit"):
        raise NotDivisible("other than first groups")
    if join.side not in ("", "LEFT") or join.method or join.kind not in ("", "INNER", "OUTER"):
        raise NotDivisible("another join")
    sides = sides_of_join(select, join, columns_of)
    pairs = _pairs(select, join, sides, columns_of)
    if {name for name, _, _ in pairs} != _key_names(first_groups):
        raise NotDivisible("a row may meet several groups")
    keys = {name: outer for name, outer, _ in pairs}
    if not join.side and _has_keys(select, list(keys.values())):
        _join_answers(select, join, sides, pairs)
        return
    if len(keys) != 1 or pairs[0][2]:
        raise NotDivisible("several keys, or one that may be NULL")
    ((name, outer),) = keys.items()
    listed = _membership(join, name, outer)
    if join.side:  # NULL where the row meets no group
        value: exp.Expr = exp.Case(ifs=[exp.If(this=listed, true=outer.copy())])
        write_values(select, join, sides.alias, {name: value}, _names_of_spine(sides), [])
        return
    _take_join_out(select, join, sides, keys)
    select.where(listed, copy=False)


def _key_names(first_groups: exp.Select) -> set[str]:
    """Returns the names of the outputs that are a query's keys, all of which have to be some."""
    outputs = [item for item in first_groups.expressions if not clauses_mark(item)]
    terms = first_groups.args["group"].expressions
    if not terms or {name for name, x in first_groups.args["group"].args.items() if x} != {
        "expressions"
    }:
        raise NotDivisible("keys of another form")
    texts = {common_text(term_of_number(term, outputs)) for term in terms}
    of_keys = {column_name(x) for x in outputs if common_text(x.unalias()) in texts}
    named = {column_name(x): common_text(x.unalias()) for x in outputs}
    of_keys |= texts & {*named}  # GROUP BY an output's name
    if len(of_keys) != len(texts):
        raise NotDivisible("a key that is no output")
    return of_keys


def _pairs(
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, columns_of: ColumnsOf
) -> list[tuple[str, exp.Expr, bool]]:
    """Returns what each column of the groups is equated with, and whether NULL equals NULL."""
    pairs: list[tuple[str, exp.Expr, bool]] = [
        (joined.name.lower(), other, False)
        for joined, other in using_columns(select, join, columns_of)
    ]
    for test in conjuncts_of(_without_brackets(join.args.get("on"))):
        equal, is_null_safe = _equality(test)
        for one, other in ((equal.this, equal.expression), (equal.expression, equal.this)):
            if isinstance(one, exp.Column) and sides.is_private(one) and sides.is_of_spine(other):
                pairs.append((one.name.partition(MARK)[0].lower(), other, is_null_safe))
                break
        else:
            raise NotDivisible("other than equal keys")
    return pairs


def _without_brackets(test: exp.Expr | None) -> exp.Expr | None:
    return test.unnest() if test is not None else None


def _equality(test: exp.Expr) -> tuple[exp.Binary, bool]:
    """Returns `a = b`, and whether NULL equals NULL, as in `a = b OR (a IS NULL AND b IS NULL)`."""
    test = test.unnest()
    if isinstance(test, exp.EQ | exp.NullSafeEQ):
        return test, isinstance(test, exp.NullSafeEQ)
    if isinstance(test, exp.Or):
        equal, nulls = test.left.unnest(), test.right.unnest()
        tests = [part.unnest() for part in conjuncts_of(nulls)]
        if isinstance(equal, exp.EQ) and all(
            isinstance(part, exp.Is) and isinstance(part.expression, exp.Null) for part in tests
        ):
            parts = (equal.this, equal.expression)
            if {common_text(part.this) for part in tests} == set(map(common_text, parts)):
                return equal, True
    raise NotDivisible("other than equal keys")


# --- keys of the query itself: answers are joined ---


def _has_keys(select: exp.Select, keys: list[exp.Expr]) -> bool:
    """Returns whether a query groups by expressions, so that each group meets one group or none."""
    if select.args.get("group") is None or any(map(select.args.get, _OF_ALL_GROUPS)):
        return False
    if any(isinstance(node, exp.Window) for node in own_nodes(select)):
        return False
    terms = _group_terms(select)
    return all(any(_is_same(key, term) for term in terms) for key in keys)


def _group_terms(select: exp.Select) -> list[exp.Expr]:
    """Returns the keys of a query as expressions of its rows."""
    outputs = [item for item in select.expressions if not clauses_mark(item)]
    group = select.args["group"]
    others = {name for name, value in group.args.items() if value} - {"expressions", "all"}
    if others:
        raise NotDivisible("sets of keys")
    if group.args.get("all"):
        plain = [item for item in outputs if not any(map(is_aggregate, own_nodes(item)))]
        return [item.unalias() for item in plain]
    return [term_of_number(term, outputs) for term in group.expressions]


def _is_same(one: exp.Expr, other: exp.Expr) -> bool:
    """Returns whether two expressions are one; a column may be written without its table."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        tables = {one.table.lower(), other.table.lower()} - {""}
        return one.name.lower() == other.name.lower() and len(tables) < 2
    return common_text(one) == common_text(other)


def _join_answers(
    select: exp.Select,
    join: exp.Join,
    sides: SidesOfJoin,
    pairs: list[tuple[str, exp.Expr, bool]],
) -> None:
    """Writes a query as one over its own groups, joined with the first groups."""
    marks = [item for item in select.expressions if clauses_mark(item)]
    joined = join.copy()
    inner = select.copy()
    for clause in ("with_", "order", "limit", "offset"):
        inner.set(clause, None)
    keys = {name: outer for name, outer, _ in pairs}
    place = next(i for i, one in enumerate(select.args["joins"]) if one is join)
    inner.set("group", exp.Group(expressions=[x.copy() for x in _group_terms(select)]))
    joined_outputs = _drop_columns_of_groups(inner, sides, keys)
    _take_join_out(inner, inner.args["joins"][place], sides, keys)
    outputs = [item for item in inner.expressions if not clauses_mark(item)]
    names = [output_name(item).partition(MARK)[0] for item in outputs]
    if len({*map(str.lower, names)}) != len(names):
        raise NotDivisible("two outputs of one name")
    hidden: list[exp.Expr] = []

    def column(term: exp.Expr) -> exp.Expr:
        """Returns the column of the groups that an expression of the query's is."""
        for name, item in zip(names, outputs, strict=True):
            if _is_same(term, item.unalias()):
                return exp.column(name, table=_GROUPS, quoted=True)
        hidden.append(exp.alias_(term.copy(), f"__term{len(hidden)}", quoted=True))
        return exp.column(hidden[-1].alias, table=_GROUPS, quoted=True)

    tests = [
        (exp.NullSafeEQ if is_null_safe else exp.EQ)(
            this=column(outer), expression=exp.column(name, table=sides.alias, quoted=True)
        )
        for name, outer, is_null_safe in pairs
    ]
    order = select.args.get("order")
    for term in order.expressions if order is not None else ():
        of_output = isinstance(term.this, exp.Column) and not term.this.table
        is_named = of_output and term.this.name.lower() in map(str.lower, names)
        if isinstance(term.this, exp.Literal) or is_named or sides.is_private(term.this):
            continue
        term.this.replace(column(term.this))
    inner.set("expressions", [*_with_names(outputs, names), *hidden])
    joined.set("using", None)
    joined.set("on", exp.and_(*tests))
    of_groups: list[exp.Expr] = [exp.column(name, _GROUPS, quoted=True) for name in names]
    for at, item in joined_outputs:
        of_groups.insert(at, item)
    select.set("expressions", [*marks, *of_groups])
    select.set("from_", exp.From(this=subquery_of(inner, _GROUPS)))
    select.set("joins", [joined])
    for clause in ("where", "group", "having", "laterals"):
        select.set(clause, None)


def _drop_columns_of_groups(
    select: exp.Select, sides: SidesOfJoin, keys: dict[str, exp.Expr]
) -> list[tuple[int, exp.Expr]]:
    """Takes the numbers of the first groups, which their keys tell, out of a query's outputs and
    keys; returns the outputs with their places."""

    def is_number(node: exp.Expr) -> bool:
        column = node.unalias()
        is_of_groups = isinstance(column, exp.Column) and sides.is_private(column)
        return is_of_groups and column.name.partition(MARK)[0].lower() not in keys

    outputs = [item for item in select.expressions if not clauses_mark(item)]
    numbers = [(at, item.copy()) for at, item in enumerate(outputs) if is_number(item)]
    select.set("expressions", [item for item in select.expressions if not is_number(item)])
    group = select.args["group"]
    group.set("expressions", [term for term in group.expressions if not is_number(term)])
    return numbers


def _with_names(outputs: list[exp.Expr], names: list[str]) -> list[exp.Expr]:
    return [
        exp.alias_(item.unalias().copy(), name, quoted=True)
        for item, name in zip(outputs, names, strict=True)
    ]


# --- other keys: a list of them ---


def _membership(join: exp.Join, name: str, outer: exp.Expr) -> exp.Expr:
    """Returns `outer IN (SELECT key FROM the first groups)`."""
    query = exp.select(exp.column(name, quoted=True)).from_(join.this.copy())
    return exp.In(this=outer.copy(), query=exp.Subquery(this=query))


def _take_join_out(
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, keys: dict[str, exp.Expr]
) -> None:
    """Takes a join out of a query; columns of its keys become those that they are equal to."""
    using = {*identifier_names(join.args.get("using") or ())}
    values = {name: outer for name, outer in keys.items() if name not in using}
    write_values(select, join, sides.alias, values, _names_of_spine(sides), [])


def _names_of_spine(sides: SidesOfJoin) -> set[str] | None:
    """Returns the names of the other columns of FROM; None where they cannot be told."""
    names = [*sides.spine.values()]
    return None if None in names else {name for of_one in names for name in of_one or ()}
