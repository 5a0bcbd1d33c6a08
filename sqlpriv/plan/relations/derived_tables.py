"""A query in FROM: rows under new names, a union of rows, or one row for each unit and key."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import Partners, reach_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.columns import is_zoned
from sqlpriv.plan.expressions.facts.conditions import whole_identities
from sqlpriv.plan.expressions.facts.engine_types import (
    common_type,
    number_type,
    shape_type,
)
from sqlpriv.plan.expressions.facts.value_facts import Shape, union_of
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.operators import with_infinity
from sqlpriv.plan.relations.joins.named_rows import Naming, Rows, rename_columns
from sqlpriv.plan.relations.joins.relation_columns import columns_written, count_written
from sqlpriv.plan.relations.per_unit import Folding, group_keys_of
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t

MOST_COMPARED = 20_000
"""Letters of an expression, as Python writes it, that stands for a column in comparisons. `q + q`
in a query in FROM doubles it: eight of them in one another took 12 s. Beyond, the column is NULL
where a quotient in it has the divisor 0."""
MOST_WRITTEN = 1_000
"""Columns that a computed column reads at most in the engine's text, where a column of a query in
FROM stands as its expression. With 512 of them, of nine `q + q` in one another, a count took 0.7 s
of processor time; with 16,384 it took 45 s."""


def _type_compared(stored: str, shapes: Sequence[Shape]) -> str:
    """Returns DuckDB's type of a column; '' of FLOATs that the kernel computes as DOUBLEs, so that
    they are compared as such."""
    is_computed = any(shape.stored != stored for shape in shapes)
    return "" if stored == "FLOAT" and is_computed else stored


def project(
    rows: Rows, outputs: Mapping[str, tuple[t.Node, a.Expr]], alias: str, naming: Naming
) -> Rows:
    """Returns the rows under new names; each computed output becomes a column.

    Raises:
        Refused: A column would be written out as too long an expression: see MOST_WRITTEN.
    """
    names: dict[str, str] = {}
    written = columns_written(rows.relation)
    for n, (node, expr) in outputs.items():
        shape = rows.binder.shape(node, expr)
        is_computed = shape.type is Type.TIMESTAMP and not isinstance(node, t.Name)  # * is a name
        zoned = is_zoned(rows.binder, node) if is_computed else shape.zoned
        shape = replace(shape, zoned=zoned)
        stored = number_type(rows.binder.normal_form(node), shape, rows.binder.scope)
        is_same_type = isinstance(node, t.Name) or stored in ("", shape_type(shape))
        if (
            isinstance(expr, a.Col)
            and is_same_type
            and shape == rows.binder.scope[expr.name.lower()]
        ):
            names[n] = expr.name
            continue
        shape = replace(shape, stored=_type_compared(stored, [shape]))
        new = naming.free_name(f"{alias.lower()}.{n}" if alias else n)
        written[new.lower()] = count_written(expr, written)
        if written[new.lower()] > MOST_WRITTEN:
            what = f"this column, written out, reads more than {MOST_WRITTEN} columns"
            raise refuse(node, what, "use columns of the queries in FROM fewer times in it")
        if (demanded := rows.binder.listed.get(expr)) is not None and shape.values is None:
            shape = replace(shape, values=demanded, nullable=False)
        scope = {**rows.binder.scope, new: shape}
        required = rows.binder.required | ({new} if rows.binder.is_present(expr) else set())
        binder = replace(rows.binder, scope=scope, required=required)
        compared = with_infinity(rows.binder, expr)
        if compared is not expr and len(repr(compared)) <= MOST_COMPARED:
            binder = replace(binder, infinite={**binder.infinite, new.lower(): compared})
        leaves = dict(rows.leaves)
        if leaves:
            leaves[new] = next(iter(leaves.values()))
        rows = replace(
            rows, relation=a.Derive(rows.relation, new, expr), binder=binder, leaves=leaves
        )
        names[n] = new
    return replace(rows, binder=rename_columns(rows.binder, names, alias))


def star_columns(item: t.Item, binder: Binder) -> dict[str, tuple[t.Node, a.Expr]]:
    """Returns the columns of `*` or of `t.*`, by lower-case name, without those that are left out.

    Raises:
        Refused: A column that is left out or renamed is not there; or * names one twice.
    """
    star = item.expr
    assert isinstance(star, t.Name)
    if not star.table:
        if binder.twice:
            raise refuse(star, "* names columns twice", "list the columns, or write t.*")
        named = dict(binder.names)
    elif binder.qualified is not None:
        table = star.table.lower()
        named = {name: c for (alias, name), c in binder.qualified.items() if alias == table}
    else:
        named = dict(binder.names) if star.table.lower() == binder.alias.lower() else {}
    if not named:
        raise refuse(star, f'"{star.table}" is not in FROM', "name a table of FROM, as in t.*")
    kept = {n: c for n, c in named.items() if c.lower() in binder.scope}
    check_changes(item, kept)
    new_names = dict(item.renamed)
    return {
        new_names.get(n, n).lower(): (replace(star, name=n), a.Col(c))
        for n, c in kept.items()
        if n not in item.excluded
    }


def check_changes(item: t.Item, columns: Container[str]) -> None:
    """Checks that what `* EXCLUDE`, RENAME or REPLACE names is one of these columns, lower case.

    Raises:
        Refused: A name is not among them.
    """
    replaced = [item.alias.lower()] if item.replaces else []
    for name in (*item.excluded, *dict(item.renamed), *replaced):
        if name not in columns:
            raise refuse(item.expr, f'* has no column "{name}"', "name one that it has")


def name_beside(name: str, outputs: Container[str]) -> str:
    """Returns an output's name, with a number behind it where an earlier output has that name: so
    DuckDB calls columns of a subquery.

    >>> name_beside("age", ["age", "age_1"]), name_beside("sex", ["age"])
    ('age_2', 'sex')
    """
    names = chain([name], (f"{name}_{number}" for number in count(1)))
    return next(free for free in names if free not in outputs)


MET_ONCE = "join it by a text or a whole number that differs in each of its rows, at most 200"
"""What to write instead of joining a subquery that aggregates public tables or takes some of
their rows."""


def unite(parts: Sequence[Rows], alias: str, place: t.Source, naming: Naming) -> Rows:
    """Returns the rows of all parts, one after another."""
    at = t.Literal(None, place.pos)
    columns = [list(rows.binder.names.values()) for rows in parts]
    if len({len(c) for c in columns}) > 1 or len({rows.private for rows in parts}) > 1:
        raise refuse(
            at,
            "the parts of a UNION do not match",
            "give them as many columns each, all private or all public",
        )
    names = {n: naming.free_name(f"{alias.lower()}.{n}") for n in parts[0].binder.names}
    scope: dict[str, Shape] = {}
    for i, new in enumerate(names.values()):
        shapes = [rows.binder.scope[c[i].lower()] for rows, c in zip(parts, columns, strict=True)]
        typed = [s for s in shapes if s.values != (None,)]
        stored = _type_compared(common_type(typed), typed)
        scope[new] = replace(union_of(shapes), stored=stored)
    exprs = [
        (
            rows.relation,
            tuple(
                _united_value(column, rows.binder.scope[column.lower()], scope[new].type)
                for column, new in zip(c, scope, strict=True)
            ),
        )
        for rows, c in zip(parts, columns, strict=True)
    ]
    ids = {
        new: frozenset.intersection(
            *(
                rows.identities.get(c[i].lower(), frozenset())
                for rows, c in zip(parts, columns, strict=True)
            )
        )
        for i, new in enumerate(names.values())
    }
    required = frozenset(
        new
        for i, new in enumerate(names.values())
        if all(c[i].lower() in r.binder.required for r, c in zip(parts, columns, strict=True))
    )
    binder = Binder(alias, alias, {}, scope, required, named=ids)
    leaves = dict.fromkeys(scope, naming.new_part()) if parts[0].private else {}
    relation = a.Union(tuple(names.values()), tuple(exprs))
    return Rows(relation, rename_columns(binder, names, alias), leaves)


def _united_value(column: str, shape: Shape, united: Type) -> a.Expr:
    """Returns a column of one part of a UNION: one that is always NULL is a NULL of the type that
    the other parts have."""
    is_null = shape.values == (None,) and shape.type is not united
    return a.Lit(None, united) if is_null else a.Col(column)


class AggregatesOverUnits(Refused):
    """A subquery that is no part of a private query: it may be answered by itself, before."""


def aggregate_per_unit(
    rows: Rows,
    query: t.Select,
    aliases: Mapping[str, t.Node],
    alias: str,
    naming: Naming,
    contracts: Mapping[str, TableContract],
    partners: Partners | None,
) -> Rows:
    """Returns one row for each unit and key: `GROUP BY` holds what identifies a unit."""
    at = t.Literal(None, query.pos)
    if query.sets:
        raise refuse(
            at,
            "ROLLUP, CUBE and GROUPING SETS are for the outermost SELECT",
            "group by all keys in the subquery",
        )
    if not rows.private:
        raise refuse(at, "rows of this public subquery may be met several times", MET_ONCE)
    keys = group_keys_of(query, rows.binder, aliases)
    identified = [
        rows.identities.get(e.name.lower(), frozenset()) if isinstance(e, a.Col) else frozenset()
        for _, e in keys
    ]
    if not whole_identities(frozenset().union(*identified)):
        raise AggregatesOverUnits.at(
            query.pos,
            "this subquery aggregates over many units",
            "GROUP BY the unit's key in it, all its columns, or name it in WITH name AS (…) and "
            "SELECT FROM that alone",
        )
    anchor = replace(next(c for c in contracts.values() if c.unit), others=contracts)
    bound = bound_of(rows.relation, anchor)
    reach = min(10**6, bound.rows_per_unit * bound.groups_per_unit)
    if partners is not None:  # fewer where a join with the unit's own groups multiplies none
        reach = min(reach, reach_of(rows.relation, anchor, partners).rows)
    unit = next((i for i, ids in enumerate(identified) if "" in ids), None)
    folding = Folding(
        rows.binder, aliases, keys, unit, reach, lambda n: naming.free_name(f"{alias.lower()}.{n}")
    )
    items = [(item, folding.write_output(item.expr)) for item in query.items]
    having = folding.write_output(query.having) if query.having is not None else None
    relation: a.Relation = folding.relation(rows.relation)
    ids = {
        folding.names[i].lower(): unit_rows for i, unit_rows in enumerate(identified) if unit_rows
    }
    leaves = dict.fromkeys(folding.scope, naming.new_part())
    unit_rows = Rows(
        relation,
        Binder(
            alias, alias, {c: c for c in folding.scope}, folding.scope, folding.required, named=ids
        ),
        leaves,
    )
    if having is not None:
        predicate = unit_rows.binder.bind_predicate(having, "HAVING")
        narrowed = unit_rows.binder.binder_after_where(predicate)
        unit_rows = replace(unit_rows, relation=a.Where(relation, predicate), binder=narrowed)
    outputs: dict[str, tuple[t.Node, a.Expr]] = {}
    for item, node in items:
        name = name_beside((item.alias or default_name(item)).lower(), outputs)
        outputs[name] = (node, unit_rows.binder.bind(node))
    return project(unit_rows, outputs, alias, naming)


def changes_star(query: t.Select) -> bool:
    """Whether a query says `* EXCLUDE`, `* REPLACE` or `* RENAME`."""
    return any(item.excluded or item.renamed or item.replaces for item in query.items)


def aggregates_rows(query: t.Select) -> bool:
    """Whether a query makes one row of several: it has groups, HAVING or an aggregate."""
    return bool(query.group_by or query.group_all or query.sets or query.having) or any(
        any(aggregate_calls(item.expr)) for item in query.items
    )
