"""Aggregates of many units, joined by their keys: each stands where it is used.

    SELECT COUNT(*) FROM grades g
    JOIN (SELECT course, AVG(score) AS m FROM grades GROUP BY course) c ON c.course = g.course
    WHERE g.score > c.m
    ──► SELECT COUNT(*) FROM grades g
        WHERE g.score > (SELECT AVG(a.score) FROM grades a WHERE a.course = g.course)
          AND g.course IS NOT NULL

Each row meets the one group of its key: where the subquery reads all rows of the table that the key
is of, every key but NULL has one. Of a LEFT JOIN no row is left out, whatever is read.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import (
    alias_of,
    bare_name,
    is_stored_table,
    query_in_from,
    sources_of,
)
from sqlpriv.dialect.division.joins.column_owners import (
    column_name,
    columns_in,
    identifier_names,
    lower_names,
    other_sources,
    using_columns,
)
from sqlpriv.dialect.division.joins.joins_taken_out import write_values
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    conjuncts_of,
    group_terms,
    is_aggregate,
)
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import call_of, function_name
from sqlpriv.statements.keywords import words

OWN = "__of_key"
_NULL_OF_NO_ROWS = words("sum avg mean min max median stddev stddev_pop variance var_pop")
_OTHER = ("having", "qualify", "order", "limit", "offset", "distinct", "windows", "with_", "joins")


def write_averages_in_place(select: exp.Select, join: exp.Join, tables: StoredTables) -> None:
    """Takes a join with aggregates by keys that many units share out of a query."""
    query = query_in_from(join.this)
    if query is None or not tables.reads_private(select.args["from_"].this):
        raise NotDivisible("no query, or one over public rows")
    keys = group_terms(query)
    source = query.args.get("from_")
    table = source.this if source is not None else None
    if not is_stored_table(table) or any(query.args.get(clause) for clause in _OTHER):
        raise NotDivisible("other than groups of one table")
    if not tables.reads_private(table):
        raise NotDivisible("public groups are joined as they stand")
    units = tables.row_names(bare_name(table))[1]
    own_names = tables.columns_of(bare_name(table)) or ()
    plain = all(isinstance(key, exp.Column) and key.name.lower() in own_names for key in keys)
    if not keys or not plain or any(key.name.lower() in units for key in keys):
        raise NotDivisible("keys of one unit are joined as they stand")
    side = join.side
    if side not in ("", "LEFT") or join.method or join.kind:
        raise NotDivisible("another join")
    equal = _outer_keys(select, join, query, keys, tables)
    if not side and (query.args.get("where") is not None or not _are_of(equal, select, table)):
        raise NotDivisible("a key may have no group")
    values: dict[str, exp.Expr] = {}
    for item in query.expressions:
        name = column_name(item)
        if any(map(is_aggregate, own_nodes(item))):
            value = item.unalias()
            is_null = is_aggregate(call_of(value)) and (
                function_name(call_of(value)) in _NULL_OF_NO_ROWS  # where there are no rows
            )
            if side and not is_null:
                raise NotDivisible("a number where there is no group")
            values[name] = _subquery_of_key(query, table, value, keys, equal)
        elif not side:
            place = [common_text(key) for key in keys].index(common_text(item.unalias()))
            values[name] = equal[place].copy()
    read = [column for column in columns_in(select) if column.find_ancestor(exp.Select) is select]
    read_names = {c.name.lower() for c in read if c.table.lower() in ("", alias_of(join.this))}
    if not any(isinstance(values.get(name), exp.Subquery) for name in read_names):
        raise NotDivisible("none of its aggregates is used")
    using = identifier_names(join.args.get("using") or ())
    others = other_sources(select, join)
    hidden = {name for one in others for name in lower_names(one, tables) or ()} - {*using}
    replaced = {name: value for name, value in values.items() if name not in using}
    missing = [
        exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())) for key in equal if not side
    ]
    write_values(select, join, alias_of(join.this), replaced, hidden, missing)


def _outer_keys(
    select: exp.Select,
    join: exp.Join,
    query: exp.Select,
    keys: list[exp.Expr],
    tables: StoredTables,
) -> list[exp.Column]:
    """Returns the column that each key is equated with; NotDivisible where ON says otherwise."""
    alias, texts = alias_of(join.this), [common_text(key) for key in keys]
    names = {column_name(item): common_text(item.unalias()) for item in query.expressions}
    equal: dict[str, exp.Column] = {}
    for joined, other in using_columns(select, join, tables):
        equal[names.get(joined.name.lower(), "")] = other
    for test in conjuncts_of(join.args.get("on")):
        sides = [test.this, test.expression] if isinstance(test, exp.EQ) else []
        inner = [x for x in sides if isinstance(x, exp.Column) and x.table.lower() == alias]
        outer_sides = [x for x in sides if isinstance(x, exp.Column) and x.table.lower() != alias]
        if len(inner) != 1 or len(outer_sides) != 1 or not outer_sides[0].table:
            raise NotDivisible("other than equal keys")
        equal[names.get(inner[0].name.lower(), "")] = outer_sides[0]
    if {*equal} != {*texts}:
        raise NotDivisible("not all of the keys")
    return [equal[text] for text in texts]


def _are_of(columns: list[exp.Column], select: exp.Select, table: exp.Table) -> bool:
    """Returns whether columns are of this stored table, in the query around."""
    owners = {alias_of(one): one for one in sources_of(select)}
    owner = owners.get(columns[0].table.lower())
    of_one = len({column.table.lower() for column in columns}) == 1
    return of_one and is_stored_table(owner) and bare_name(owner) == bare_name(table)


def _subquery_of_key(
    query: exp.Select,
    table: exp.Table,
    item: exp.Expr,
    keys: list[exp.Expr],
    equal: list[exp.Column],
) -> exp.Expr:
    """Returns an aggregate over the rows of one key, as a subquery."""
    own = {alias_of(table), ""}

    def qualify_column(node: exp.Expr) -> exp.Expr:
        written = node.copy()
        for column in [written] if isinstance(written, exp.Column) else columns_in(written):
            if column.table.lower() not in own:
                raise NotDivisible("a column of another table")
            column.set("table", exp.to_identifier(OWN))
        return written

    rows = exp.Table(this=table.this.copy(), alias=exp.TableAlias(this=exp.to_identifier(OWN)))
    written = exp.Select(expressions=[qualify_column(item)]).from_(rows, copy=False)
    if (where := query.args.get("where")) is not None:
        written.where(qualify_column(where.this), copy=False)
    for key, outer in zip(keys, equal, strict=True):
        written.where(exp.EQ(this=qualify_column(key), expression=outer.copy()), copy=False)
    return exp.Subquery(this=written)
