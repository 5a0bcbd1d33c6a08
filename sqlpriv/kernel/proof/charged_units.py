"""Which units a charge concerns, and the most that any one unit can have lost.

A charge is booked to a `UnitFilter`: columns of the unit's own table, each with the values that a
row must have one of to be read. {} concerns everybody.

**Claim.** Group the charges by the state of the vault (snapshot) that they were made in. What one
unit has lost, over all of them, is at most the sum over snapshots of the most that any one point (a
value for each column) has been charged there: `largest_sum` of each.

**Proof.** Histories of the vault are neighbours if they differ in the presence of one unit u, with
all its rows. Inside a snapshot the contents do not change, and `charged_units` names columns only
where the unit's column is UNIQUE in the unit's own table: u has at most one row there, which is one
point v_s. A charge booked to a filter B paid for queries that read no other table, and of that one
only rows for which the predicate is true, hence rows with points in B. If v_s is outside B, none of
u's rows is read, the answer has one law with u and without, and u loses nothing; else u loses at
most the price. Both hold for any answers given before. So u loses at most Σ_s Σ {price_i: v_s in
B_i}, whatever v_s is in each snapshot: an UPDATE may move u from one point to another, which is why
snapshots add up and are not compared. Losses that depend on u's public point alone add up under
adaptive choice as prices do, as long as on every path their sum stays within the total, which
`Ledger.charge` sees to for all points of B (a privacy filter with individual losses: Feldman and
Zrnic 2021, arXiv:2008.11193).

Values of one column are told apart as Python's, so only columns count whose equality is exact:
integers, booleans, and text in a table without a collation.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.kernel.terms.operations import conjuncts

UnitFilter = Mapping[str, Collection[Value]]
MAX_POINTS = 4096
"""Filters of one snapshot tell at most this many points apart: more are booked to everybody."""
_EXACT = {Type.INTEGER: int, Type.TEXT: str, Type.BOOLEAN: bool}


def charged_units(sources: Iterable[a.Relation], contract: TableContract) -> UnitFilter:
    """Returns a filter outside which no query over these relations reads a row; see the proof."""
    unit = contract.unit
    if unit is None or unit.table != contract.table.lower() or unit.column not in contract.unique:
        return {}
    pinned = [_pinned_values(source, contract) for source in dict.fromkeys(sources)]
    columns = set.intersection(*map(set, pinned)) if pinned else set()
    return {c: sorted(set().union(*(of[c] for of in pinned)), key=repr) for c in sorted(columns)}


def largest_sum(charges: Sequence[tuple[UnitFilter, int]], inside: UnitFilter) -> int:
    """Returns the largest sum of the amounts whose filters hold one point of `inside`.

    >>> women, men = {"sex": ["f"]}, {"sex": ["m"]}
    >>> charges = [(women, 5), (men, 3), ({}, 1)]
    >>> largest_sum(charges, {}), largest_sum(charges, men)
    (6, 4)
    """
    column = next((c for units, _ in charges for c in units), None)
    if column is None:
        return sum(amount for _, amount in charges)
    everywhere: list[tuple[UnitFilter, int]] = []  # of whatever value the column has
    by_value: dict[Value, list[tuple[UnitFilter, int]]] = defaultdict(list)
    inner = set(inside.get(column) or (v for units, _ in charges for v in units.get(column, ())))
    for units, amount in charges:
        for value in inner.intersection(units.get(column, ())):
            rest = {c: others for c, others in units.items() if c != column}
            by_value[value].append((rest, amount))
        if column not in units:
            everywhere.append((units, amount))
    unnamed = column not in inside or len(by_value) < len(inner)
    if not any(units for units, _ in everywhere):
        everywhere = [({}, sum(amount for _, amount in everywhere))]
    sums = [largest_sum([*everywhere, *some], inside) for some in by_value.values()]
    return max([*sums, largest_sum(everywhere, inside) if unnamed else 0])


def tell_too_many_points(booked: Collection[UnitFilter]) -> bool:
    """Returns whether filters tell more than MAX_POINTS points apart: sums would take long. The
    column '' stands for none."""
    named = (
        set().union(*(of.get(column, ()) for of in booked))
        for column in set().union(*booked) - {""}
    )
    return math.prod(1 + len(values) for values in named) > MAX_POINTS


def _pinned_values(relation: a.Relation, contract: TableContract) -> dict[str, set[Value]]:
    """Returns values of which each row of a relation has one, by column: of the unit's own table
    alone, filtered; {} for any other relation."""
    tests: list[a.Expr] = []
    while isinstance(relation, a.Where | a.Derive | a.Bounded):
        tests = [*conjuncts(relation.predicate), *tests] if isinstance(relation, a.Where) else tests
        relation = relation.source
    values_of: dict[str, set[Value]] = {}
    if isinstance(relation, a.Scan) and relation == a.Scan(relation.table):
        own = relation.table.lower() == contract.table.lower()
        for column, values in (_pinned_column(test, contract) for test in tests if own):
            values_of[column] = values_of.get(column, values) & values or values
    return {column: values for column, values in values_of.items() if values}


def _pinned_column(test: a.Expr, contract: TableContract) -> tuple[str, set[Value]]:
    """Returns a column with the values of which one is there wherever a test is true, if any."""
    match test:
        case a.Call("=", (a.Col(name), a.Lit(value, of)) | (a.Lit(value, of), a.Col(name))):
            values: tuple[Value, ...] = (value,) if of in _EXACT else ()  # 1 as a REAL is 1.0
        case a.In(a.Col(name), values):
            pass
        case _:
            return "", set()
    column = contract.column(name)
    exact = _EXACT.get(column.type) if column and column.type else None
    if exact is None or (exact is str and contract.collated) or {*map(type, values)} != {exact}:
        return "", set()
    return name.lower(), set(values)
