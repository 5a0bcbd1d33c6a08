"""Combinations of keys that can occur: the rows of a public table, and the values of one column.

GROUP BY over columns of one public table has no other rows than that table's. Keys that are made of
one column, `year(day), month(day)`, have those that its publicly listed values give: the keys are
computed for each of them, in an engine without private tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.cells.columns_of_keys import public_home, public_homes
from sqlpriv.plan.cells.computed_combinations import (
    Existing,
    combinations_compared,
    combinations_computed,
    combinations_of_columns,
)
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.cells.group_keys import Combinations
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.joined_tables import columns_equated_by_joins, scanned_tables
from sqlpriv.plan.expressions.facts.listed_rows import rows_that_pass, with_any_of
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS


def existing_combinations(
    groups: Sequence[Dimension],
    binder: Binder,
    contract: TableContract,
    combinations: Combinations | None,
    relation: a.Relation,
) -> tuple[Existing, ...]:
    """Returns which combinations of keys can occur, where not all of them can.

    Keys depend on each other that are computed from one column, that are columns of one public
    table, or of which one is computed from another. A condition of WHERE on such columns alone
    rules out further combinations in public, and so does the domain of a column that a join equates
    with one of a public table: `sold_on` between two days meets no other rows of a calendar.

    Args:
        groups: The keys of GROUP BY.
        binder: Tells which table a column is of, and which conditions all rows meet.
        contract: Of the statement's table, with those of the others in it.
        combinations: Reads public tables; None where none can be read.
        relation: The statement's rows: columns that its inner joins equate have one value.
    """
    of_tables = {
        (name.removesuffix(column.lower()), table): list[tuple[int, str]]()
        for name, (table, column) in binder.homes.items()
        if public_home(name, binder, contract) is not None
    }
    homes = of_tables | public_homes(groups, binder, contract, relation, ("inner", "left"))
    of_keys = (
        *combinations_of_columns(groups, binder),
        *combinations_compared(groups, binder),
        *combinations_computed(groups),
    )
    if combinations is None:
        return of_keys
    met = {scan for scan, is_kept in scanned_tables(relation) if not is_kept}
    has_lefts = any(is_kept for _, is_kept in scanned_tables(relation))
    within_domains = tuple(_partners_within_domains(binder, contract, relation))
    rows = (
        _rows_of_home(
            home,
            keys,
            groups,
            binder,
            combinations,
            within_domains,
            lacks=has_lefts and (home[0], home[1].lower()) not in met,
        )
        for home, keys in homes.items()
    )
    return of_keys + tuple(existing for existing in rows if existing is not None)


def _partners_within_domains(
    binder: Binder, contract: TableContract, relation: a.Relation
) -> Iterator[a.Expr]:
    """Yields what the domains of private columns say of the public columns that joins equate with
    them: rows whose value is outside its domain are in no group that is told from others by it."""
    for private, public in columns_equated_by_joins(relation, ("inner", "left")):
        homes = [public_home(name, binder, contract) for name in (private, public)]
        shape = binder.scope.get(private)
        if shape is None or shape.type is Type.TEXT or homes[0] or not homes[1]:
            continue
        column, of = a.Col(public), binder.scope[public].type
        if shape.values is not None:
            yield a.In(column, tuple(value for value in shape.values if value is not None))
        elif shape.lower is not None and of is shape.type:
            yield a.Call(">=", (column, a.Lit(shape.lower, of)))
            yield a.Call("<=", (column, a.Lit(shape.upper, of)))


def _rows_of_home(
    home: tuple[str, str],
    keys: Sequence[tuple[int, str]],
    groups: Sequence[Dimension],
    binder: Binder,
    combinations: Combinations,
    within_domains: Sequence[a.Expr],
    lacks: bool,
) -> Existing | None:
    """Returns the combinations of keys that rows of a public table (`home`: prefix, name) have.

    Only rows count that meet the conditions on that table alone and, as all partners do, those of
    `within_domains`; and all of its columns as NULL where a row may have no partner there
    (`lacks`). None where one key has no condition on it.
    """
    prefix, table = home
    columns = {
        name: column
        for name, (of, column) in binder.homes.items()
        if of == table and name == prefix + column.lower()
    }

    def is_of_home(expr: a.Expr) -> bool:
        return frozenset() < columns_read(expr) <= columns.keys() and _are_listed(expr, binder)

    conditions = tuple(filter(is_of_home, binder.conditions))
    of_partners = tuple(filter(is_of_home, within_domains))
    whole = {place: a.Col(prefix + column.lower()) for place, column in keys}
    of_columns = {
        place: d.key.expr
        for place, d in enumerate(groups)
        if place not in whole and not d.selected and d.type is not Type.REAL
        if is_of_home(d.key.expr)
    }
    exprs = tuple({**whole, **of_columns}.values())
    if len(exprs) < 2 and not ((conditions or of_partners) and exprs):
        return None
    columns_of_keys = tuple(column for _, column in keys)
    if not (conditions or of_partners or of_columns or lacks):
        return Existing(tuple(whole), combinations(table, columns_of_keys))
    places = (*whole, *of_columns)
    types = {col.name: groups[place].type for place, col in whole.items()}
    read = columns_read((exprs, conditions, of_partners)) - types.keys()
    types |= {name: binder.scope[name].type for name in read}
    kinds, none = tuple(types.items()), ((None,) * len(types),)
    rows = combinations(table, tuple(columns[name] for name in types))
    passing = without = None
    if len(rows) <= MAX_LEVELS:
        passing = rows_that_pass(kinds, tuple(rows), exprs, (*conditions, *of_partners))
        without = rows_that_pass(kinds, none, exprs, conditions) if lacks else ()
    if passing is None or without is None:
        if lacks or len(keys) < 2:
            return None
        return Existing(tuple(whole), combinations(table, columns_of_keys))
    equal = {  # to a column of the partner, where there is one
        place: groups[place].values
        for place, column in whole.items()
        if not _is_column(groups[place].key.expr, column.name)
    }
    return Existing(places, {*passing, *with_any_of(equal, places, without)})


def _is_column(expr: a.Expr, name: str) -> bool:
    return isinstance(expr, a.Col) and expr.name.lower() == name


def _are_listed(condition: a.Expr, binder: Binder) -> bool:
    """Returns whether values of a condition's columns can be handed to an engine as they are."""
    shapes = [binder.scope[name] for name in columns_read(condition)]
    return not any(shape.zoned or shape.type is Type.TIME for shape in shapes)
