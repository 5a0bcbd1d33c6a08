"""Combinations of keys that public tables have: GROUP BY over columns of one has no other rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.group_keys import Combinations, Dimension


class Existing(NamedTuple):
    """Keys that are columns of one public table, as positions among the groups, and their values
    in its rows."""

    places: tuple[int, ...]
    rows: Collection[tuple[Value, ...]]


def existing_combinations(
    groups: Sequence[Dimension],
    binder: Binder,
    contract: TableContract,
    combinations: Combinations | None,
    relation: a.Relation,
) -> tuple[Existing, ...]:
    """Returns, for each public table of FROM that has several keys, the rows that they stand in.

    Args:
        groups: The keys of GROUP BY.
        binder: Tells which table a column is of.
        contract: Of the statement's table, with those of the others in it.
        combinations: Reads public tables; None where none can be read.
        relation: The statement's rows: columns that its inner joins equate have one value.
    """
    homes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    equal = list(_equated_columns(relation))
    for place, dimension in enumerate(groups):
        expr = dimension.key.expr
        own = expr.name.lower() if isinstance(expr, a.Col) else ""
        for name in dict.fromkeys((own, *(other for one, other in equal if one == own))):
            table, column = binder.homes.get(name, ("", ""))
            home = contract.others.get(table.lower())
            if home is not None and home.public:  # twice in FROM it has two prefixes
                prefix = name[: len(name) - len(column)]
                homes.setdefault((prefix, home.table), []).append((place, column))
    several = {home: keys for home, keys in homes.items() if len(keys) > 1}
    if combinations is None:
        return ()
    return tuple(
        Existing(
            tuple(place for place, _ in keys),
            combinations(table, tuple(column for _, column in keys)),
        )
        for (_, table), keys in several.items()
    )


def _equated_columns(relation: a.Relation) -> Iterator[tuple[str, str]]:
    """Yields pairs of columns, lower case, that inner joins equate."""
    match relation:
        case a.Join(left, right, on, kind):
            if kind == "inner":
                yield from equated_columns(on)
                yield from _equated_columns(right)
            yield from _equated_columns(left)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            yield from _equated_columns(source)
