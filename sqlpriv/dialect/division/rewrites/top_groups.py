"""Joins with groups of an answer, all of them or the first by a number.

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
keys, too, whole groups of it meet one: they are joined as answers (`joined_answers`). Elsewhere the
keys of the first groups are a list.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import query_in_from
from sqlpriv.dialect.division.joins.column_owners import (
    SidesOfJoin,
    column_name,
    columns_in,
    names_unit,
    sides_of_join,
    using_columns,
)
from sqlpriv.dialect.division.joins.joins_taken_out import write_values
from sqlpriv.dialect.division.rewrites.joined_answers import (
    has_keys,
    join_answers,
    names_of_spine,
    take_join_out,
)
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    conjuncts_of,
    group_terms,
    is_aggregate,
)
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import outputs_of


def write_top_groups(select: exp.Select, join: exp.Join, tables: StoredTables) -> None:
    """Takes a join with groups of an answer out of a query over private rows."""
    first_groups = query_in_from(join.this)
    if first_groups is None or not tables.reads_private(first_groups):
        raise NotDivisible("no private groups")
    if not tables.reads_private(select.args["from_"].this):
        raise NotDivisible("a query over public rows")
    if select.args.get("group") is None and not any(map(is_aggregate, own_nodes(select))):
        raise NotDivisible("no query over groups")
    if join.side not in ("", "LEFT") or join.method or join.kind not in ("", "INNER", "OUTER"):
        raise NotDivisible("another join")
    sides = sides_of_join(select, join, tables)
    pairs = _pairs(select, join, sides, tables)
    if {name for name, _, _ in pairs} != _key_names(first_groups):
        raise NotDivisible("a row may meet several groups")
    keys = {name: outer for name, outer, _ in pairs}
    is_whole = not first_groups.args.get("limit")
    if (is_whole or not join.side) and has_keys(select, list(keys.values())):
        columns = [column for outer in keys.values() for column in columns_in(outer)]
        if is_whole and any(names_unit(column, select, tables) for column in columns):
            raise NotDivisible("groups of one unit are joined as they stand")
        join_answers(select, join, sides, pairs)
        return
    if is_whole:
        raise NotDivisible("groups whose keys are no keys of the query")
    if len(keys) != 1 or pairs[0][2]:
        raise NotDivisible("several keys, or one that may be NULL")
    ((name, outer),) = keys.items()
    first_keys = exp.select(exp.column(name, quoted=True)).from_(join.this.copy())
    listed = exp.In(this=outer.copy(), query=exp.Subquery(this=first_keys))
    if join.side:  # NULL where the row meets no group
        value: exp.Expr = exp.Case(ifs=[exp.If(this=listed, true=outer.copy())])
        write_values(select, join, sides.alias, {name: value}, names_of_spine(sides), [])
        return
    take_join_out(select, join, sides, keys)
    select.where(listed, copy=False)


def _key_names(first_groups: exp.Select) -> set[str]:
    """Returns the names of the outputs that are a query's keys, all of which have to be some."""
    outputs = outputs_of(first_groups)
    texts = set(map(common_text, group_terms(first_groups)))
    of_keys = {column_name(x) for x in outputs if common_text(x.unalias()) in texts}
    named = {column_name(x): common_text(x.unalias()) for x in outputs}
    of_keys |= texts & {*named}  # GROUP BY an output's name
    if len(of_keys) != len(texts):
        raise NotDivisible("a key that is no output")
    return of_keys


def _pairs(
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, tables: StoredTables
) -> list[tuple[str, exp.Expr, bool]]:
    """Returns what each column of the groups is equated with, and whether NULL equals NULL."""
    pairs: list[tuple[str, exp.Expr, bool]] = [
        (joined.name.lower(), other, False) for joined, other in using_columns(select, join, tables)
    ]
    on = join.args.get("on")
    for test in conjuncts_of(on and on.unnest()):
        equal, is_null_safe = _equality(test)
        for one, other in ((equal.this, equal.expression), (equal.expression, equal.this)):
            if isinstance(one, exp.Column) and sides.is_private(one) and sides.is_of_spine(other):
                pairs.append((one.name.lower(), other, is_null_safe))
                break
        else:
            raise NotDivisible("other than equal keys")
    return pairs


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
