"""Columns of public tables that have one value for each value of a key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract
from sqlpriv.plan.cells.computed_columns import GROUP
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.cells.group_keys import Combinations
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.joined_tables import columns_equated_by_joins
from sqlpriv.statements import tree as t

MOST_LOOKED_UP = 1_000
"""How many values a key may have at most for an output to list another column's value for each."""


@dataclass(frozen=True)
class ColumnsOfKeys:
    """Columns of public tables that have one value for each value of a key.

    Args:
        groups, binder, contract, combinations, relation: As those of `existing_combinations`.
    """

    groups: Sequence[Dimension]
    binder: Binder
    contract: TableContract
    combinations: Combinations | None
    relation: a.Relation

    def value_of(self, node: t.Name) -> tuple[t.Node, Column] | None:
        """Returns a column's value as an expression over the cells' keys, and the column; None
        where no key of its table tells it."""
        name = self.binder.column_of(node).lower()
        _, column = self.binder.homes.get(name, ("", ""))
        home = public_home(name, self.binder, self.contract)
        if self.combinations is None or home is None:
            return None
        prefix = name[: len(name) - len(column)]
        keys = public_homes(self.groups, self.binder, self.contract, self.relation)
        public_column = home.column(column)
        for place, key in keys.get((prefix, home.table), ()):
            if key.lower() == column.lower() or public_column is None:
                continue
            rows = self.combinations(home.table, (key, public_column.name))
            values = {value: other for value, other in rows if value is not None}
            is_told = len(values) == sum(value is not None for value, _ in rows)
            if is_told and 0 < len(values) <= MOST_LOOKED_UP:
                whens = tuple((t.Literal(k), t.Literal(v)) for k, v in values.items())
                return t.CaseWhen(whens, operand=t.Name(f"{GROUP}{place}")), public_column
        return None


def public_home(name: str, binder: Binder, contract: TableContract) -> TableContract | None:
    """Returns the public table that a column, lower case, is of; None of any other column."""
    table, _ = binder.homes.get(name, ("", ""))
    home = contract.others.get(table.lower())
    return home if home is not None and home.public else None


def public_homes(
    groups: Sequence[Dimension],
    binder: Binder,
    contract: TableContract,
    relation: a.Relation,
    kinds: Collection[str] = ("inner",),
) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Returns, for each public table, the keys that are columns of it or equal to one by a join of
    these kinds: (prefix, table) → the keys' positions and the columns' names there. A table that
    stands twice in FROM has two prefixes."""
    homes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    equal = list(columns_equated_by_joins(relation, kinds))
    for place, dimension in enumerate(groups):
        expr = dimension.key.expr
        own = expr.name.lower() if isinstance(expr, a.Col) else ""
        for name in dict.fromkeys((own, *(other for one, other in equal if one == own))):
            if (home := public_home(name, binder, contract)) is not None:
                _, column = binder.homes[name]
                prefix = name[: len(name) - len(column)]
                homes.setdefault((prefix, home.table), []).append((place, column))
    return homes
