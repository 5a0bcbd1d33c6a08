"""The columns of a synthetic table: of one table or several, as declared or computed.

Every column becomes one of a contract that has the synthetic table's names: its type and its public
domain are what is known of the expression. What is computed is a column more of the relation
(`algebra.Derive`), so every measurement counts rows of that relation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlpriv.kernel.sql.expressions import SQL_TYPES
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    Categories,
    Column,
    ColumnDomain,
    Interval,
    TableContract,
    Type,
)
from sqlpriv.plan import outputs
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.cells import group_keys
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.derived_tables import check_changes
from sqlpriv.plan.relations.from_clause import FromReader
from sqlpriv.plan.relations.joins.named_rows import Naming, Rows
from sqlpriv.plan.synthetic.undeclared_columns import Undeclared, column_flaw
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.aliases import output_aliases
from sqlpriv.statements.traverse import has_subqueries

MOST_LISTED = 64
"""Numbers and dates of more values than this are an interval, even where all can be listed."""
LAST_MINUTE = 24 * 60 - 1


@dataclass(frozen=True)
class SyntheticColumns:
    """What a synthetic table is made of.

    Args:
        contract: Of the rows: the private table's, with the synthetic table's columns.
        columns: Names of the selected ones, in order.
        strata: Names of those of STRATIFY BY.
        rows: The rows that take part.
        left_out: Columns that * stands for and that cannot be made, and why.
    """

    contract: TableContract
    columns: tuple[str, ...]
    strata: tuple[str, ...]
    rows: a.Relation
    left_out: tuple[str, ...]


def read_columns(select: t.Select, contract: TableContract, free: Undeclared) -> SyntheticColumns:
    """Returns the columns and rows of the SELECT of CREATE SYNTHETIC TABLE.

    Args:
        select: The statement's SELECT.
        contract: Of its private table.
        free: What needs no domain.

    Raises:
        Refused: A column without a public domain, the privacy unit, an aggregate; see `FromReader`.
    """
    tables = {**contract.others, contract.table.lower(): contract}
    items, left_out = _spell_out_stars(select, tables, free)
    names = [item.alias or default_name(item) for item in items]
    aliases = output_aliases(select)
    plain = all(_is_plain(item, contract) for item in items)
    if select.source is None and plain and not has_subqueries(select.where):
        rows = Rows(a.Scan(contract.table), Binder.of(contract, select.alias))
        if select.where is not None:
            where = outputs.bind_where(select.where, rows.binder, {})
            rows = replace(rows, relation=a.Where(rows.relation, where))
    else:  # no column of the relation has the name of one of the synthetic table's
        naming = Naming(taken={name.lower() for name in names})
        rows = FromReader(tables, naming).read_select(select, aliases)
    columns: dict[str, Column] = {}
    for item, name in zip(items, names, strict=True):
        if name.lower() in columns:
            raise refuse(item.expr, f'the column "{name}" is selected twice', "name it once")
        column, expr = _column_of(item.expr, name, rows, tables, free)
        columns[name.lower()] = column
        if expr is not None and expr != a.Col(column.name):
            rows = replace(rows, relation=a.Derive(rows.relation, column.name, expr))
    selected = tuple(column.name for column in columns.values())
    group_keys.bind_strata(select, rows.binder, aliases)  # refuses what are no strata
    strata = []
    for node in select.stratify.by if select.stratify else ():
        assert isinstance(node, t.Name)
        stratum = columns.get(node.name.lower())
        if rows.binder.names_column(node):
            column, expr = _column_of(node, node.name, rows, tables, Undeclared())
            if stratum is None:
                stratum = columns[node.name.lower()] = column
                if expr is not None and expr != a.Col(column.name):
                    rows = replace(rows, relation=a.Derive(rows.relation, column.name, expr))
            elif replace(stratum, name=column.name) != column:
                what = f'"{node.name}" is a column of STRATIFY BY and another of SELECT'
                raise refuse(node, what, "give the selected one another name, with AS")
        assert stratum is not None  # a column, or the name of a selected one
        strata.append(stratum.name)
    return SyntheticColumns(
        replace(contract, columns=tuple(columns.values())),
        selected,
        tuple(strata),
        rows.relation,
        left_out,
    )


def _is_plain(item: t.Item, contract: TableContract) -> bool:
    """Returns whether an item is a column as it is in the table."""
    if not isinstance(item.expr, t.Name) or item.alias.lower() not in ("", item.expr.name.lower()):
        return False
    column = contract.column(item.expr.name)
    return column is None or column.type is not Type.TIME


def _spell_out_stars(
    select: t.Select, tables: Mapping[str, TableContract], free: Undeclared
) -> tuple[list[t.Item], tuple[str, ...]]:
    """Returns the items, every * as the columns that can be made, and which ones cannot."""
    if not any(isinstance(item.expr, t.Name) and item.expr.name == "*" for item in select.items):
        return list(select.items), ()
    binder = (
        FromReader(tables, Naming(taken={"*"}))
        .read_source(select.source or t.Table(select.table, select.alias, select.pos))
        .binder
    )
    items: list[t.Item] = []
    left_out: list[str] = []
    replaced = {item.alias.lower(): item for item in select.items if item.replaces}
    for item in select.items:
        if item.replaces:
            check_changes(item, {name for _, name in binder.qualified or {}})
            continue
        if not (isinstance(item.expr, t.Name) and item.expr.name == "*"):
            items.append(item)
            continue
        star, new_names = item.expr, dict(item.renamed)
        of_star = {
            (alias, name): held
            for (alias, name), held in (binder.qualified or {}).items()
            if star.table.lower() in ("", alias)
        }
        check_changes(item, {name for _, name in of_star})
        for (alias, name), held in of_star.items():
            if name in item.excluded:
                continue
            if name in replaced:
                items.append(replaced[name])
                continue
            node = t.Name(name, alias if select.source else "", star.pos)
            column = _declared_column(held, binder, tables)
            if column is None or column_flaw(column, held, binder, tables, free):
                left_out.append(name)
            elif name not in {default_name(x).lower() for x in items if not x.alias}:
                items.append(t.Item(node, new_names.get(name, ""), text=name))
    if not items:
        raise refuse(
            select.items[0].expr,
            "no column of * has a public domain",
            "the owner declares one: ALTER TABLE … ALTER COLUMN … SET PRIVACY DOMAIN …",
        )
    return items, tuple(left_out)


def _declared_column(
    held: str, binder: Binder, tables: Mapping[str, TableContract]
) -> Column | None:
    """Returns the declared column that a column of the relation holds; None for a computed one."""
    table, name = binder.home_of(held)
    contract = tables.get(table.lower())
    return contract.column(name) if contract else None


def _column_of(
    node: t.Node,
    name: str,
    rows: Rows,
    tables: Mapping[str, TableContract],
    free: Undeclared,
) -> tuple[Column, a.Expr | None]:
    """Returns a column of the synthetic table and the expression that it is; None for a column
    whose values are made up."""
    for call in aggregate_calls(node):
        raise refuse(call, "a synthetic table is of rows: it has no aggregates", "leave it out")
    held = rows.binder.column_of(node) if isinstance(node, t.Name) else ""
    column = _declared_column(held, rows.binder, tables) if held else None
    published = column.name if column is not None and column.name.lower() == name.lower() else name
    if column is not None:
        if flaw := column_flaw(column, held, rows.binder, tables, free):
            raise refuse(node, *flaw)
        if column.domain is None and free.is_new(column):
            return replace(column, name=published), None
        if column.type is Type.TIME:
            return _minutes_of(published, column), rows.binder.bind(_minute_of_day(node))
    expr = rows.binder.bind(node)
    shape = rows.binder.shape(node, expr)
    if column is not None:  # of a LEFT JOIN's right side it may be NULL, too
        domain = column.domain
        if domain is None and column.type is Type.BOOLEAN:
            domain = Categories((False, True))
        domain = _with_null(domain) if shape.nullable else domain
        return replace(column, name=published, domain=domain), expr
    domain = _domain_of(shape)
    if domain is None and not free.is_selected(shape.type, _sql_type(shape)):
        what = "there is no public list or interval of the values of this expression"
        raise refuse(
            node, what, "round it, bin it, or put it between two ends with LEAST, GREATEST"
        )
    return Column(name, shape.type, _sql_type(shape), domain), expr


def _minutes_of(name: str, column: Column) -> Column:
    """Returns a TIME as it is measured, as its minute of the day, of which all are public."""
    return Column(name, Type.INTEGER, column.sql_type, Interval(0, LAST_MINUTE, nullable=True))


def _minute_of_day(node: t.Node) -> t.Node:
    hour, minute = (t.FunctionCall(part, (node,)) for part in ("hour", "minute"))
    return t.Binary("+", t.Binary("*", hour, t.Literal(60)), minute)


def _with_null(domain: ColumnDomain | None) -> ColumnDomain | None:
    """Returns the domain with NULL, where NULL is not in it yet."""
    if isinstance(domain, Interval):
        return replace(domain, nullable=True)
    if isinstance(domain, Categories) and None not in domain.labels:
        return Categories((*domain.labels, None))
    return domain


def _domain_of(shape: Shape) -> ColumnDomain | None:
    """Returns the public domain of an expression's values; None where there is none."""
    present = tuple(v for v in shape.values or () if v is not None)
    ordered = shape.lower is not None and shape.upper is not None
    whole = ordered and shape.type is Type.INTEGER
    many = whole and len(present) == shape.upper - shape.lower + 1
    if present and not (ordered and (many or len(present) > MOST_LISTED)):
        return Categories((*present, *((None,) if shape.nullable else ())))
    return Interval(shape.lower, shape.upper, shape.nullable) if ordered else None


def _sql_type(shape: Shape) -> str:
    if shape.type is Type.REAL and shape.scale is not None:
        return f"DECIMAL(18,{shape.scale})"
    return shape.sql_type or SQL_TYPES[shape.type]
