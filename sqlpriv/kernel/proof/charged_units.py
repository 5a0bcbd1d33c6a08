"""Which units a charge concerns, and the most that any one unit can have lost.

A charge is booked to `Strata`: columns of the unit's own table, each with the values that a row
must have one of to be read. {} concerns everybody.

**Claim.** Group the charges by the state of the vault (snapshot) that they were made in. What one
unit has lost, over all of them, is at most the sum over snapshots of the most that any one point (a
value for each column) has been charged there: `most` of each.

**Proof.** Histories of the vault are neighbours if they differ in the presence of one unit u, with
all its rows. Inside a snapshot the contents do not change, and `concerned` names strata only where
the unit's column is UNIQUE in the unit's own table: u has at most one row there, which is one point
v_s. A charge booked to strata B paid for queries that read no other table, and of that one only
rows for which the predicate is true, hence rows with points in B. If v_s is outside B, none of u's
rows is read, the answer has one law with u and without, and u loses nothing; else u loses at most
the price. Both hold for any answers given before. So u loses at most Σ_s Σ {price_i: v_s in B_i},
whatever v_s is in each snapshot: an UPDATE may move u from one stratum into another, which is why
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

Strata = Mapping[str, Collection[Value]]
MAX_POINTS = 4096
"""Strata of one snapshot tell at most this many points apart: more are booked to everybody."""
_EXACT = {Type.INTEGER: int, Type.TEXT: str, Type.BOOLEAN: bool}


def concerned_strata(sources: Iterable[a.Relation], contract: TableContract) -> Strata:
    """Returns strata outside which no query over these relations reads a row; see the proof."""
    unit = contract.unit
    if unit is None or unit.table != contract.table.lower() or unit.column not in contract.unique:
        return {}
    boxes = [_box(source, contract) or {} for source in dict.fromkeys(sources)]
    columns = set.intersection(*map(set, boxes)) if boxes else set()
    return {c: sorted(set().union(*(box[c] for box in boxes)), key=repr) for c in sorted(columns)}


def most(charges: Sequence[tuple[Strata, int]], inside: Strata) -> int:
    """Returns the largest sum of the amounts whose strata hold one point of `inside`."""
    column = next((c for strata, _ in charges for c in strata), None)
    if column is None:
        return sum(amount for _, amount in charges)
    everywhere: list[tuple[Strata, int]] = []  # of whatever value the column has
    by_value: dict[Value, list[tuple[Strata, int]]] = defaultdict(list)
    for strata, amount in charges:
        if column not in strata:
            everywhere.append((strata, amount))
            continue
        rest = {c: values for c, values in strata.items() if c != column}
        for value in set(strata[column]):
            by_value[value].append((rest, amount))
    points = set(by_value).intersection(inside.get(column, by_value))
    unnamed = column not in inside or len(points) < len(inside[column])
    if not any(strata for strata, _ in everywhere):
        everywhere = [({}, sum(amount for _, amount in everywhere))]
    sums = [most([*everywhere, *by_value[point]], inside) for point in points]
    return max([*sums, most(everywhere, inside) if unnamed else 0])


def too_many(booked: Iterable[Strata]) -> bool:
    """Returns whether strata tell more than MAX_POINTS points apart: `most` would take long."""
    named: dict[str, set[Value]] = {}
    for strata in booked:
        for column, values in strata.items():
            named.setdefault(column, set()).update(values)
    return math.prod(1 + len(values) for values in named.values()) > MAX_POINTS


def _box(relation: a.Relation, contract: TableContract) -> dict[str, set[Value]] | None:
    """Returns the values that columns of rows of the relation have; None where it is not known."""
    match relation:
        case a.Scan(table, "") if table.lower() == contract.table.lower():
            return {}
        case a.Derive(source, _, _) | a.Bounded(source, _, _):
            return _box(source, contract)
        case a.Where(source, predicate):
            if (box := _box(source, contract)) is not None:
                for column, values in _pinned_columns(predicate, contract):
                    box[column] = box.get(column, values) & values or values
            return box
    return None


def _pinned_columns(predicate: a.Expr, contract: TableContract) -> list[tuple[str, set[Value]]]:
    """Returns columns with the values of which one is there wherever the predicate is true."""
    match predicate:
        case a.Call("and", args):
            return [pin for arg in args for pin in _pinned_columns(arg, contract)]
        case a.Call("=", (a.Col(name), a.Lit(value, of)) | (a.Lit(value, of), a.Col(name))):
            values: tuple[Value, ...] = (value,) if of in _EXACT else ()  # 1 as a REAL is 1.0
        case a.In(a.Col(name), values):
            pass
        case _:
            return []
    column = contract.column(name)
    exact = _EXACT.get(column.type) if column and column.type else None
    if exact is None or (exact is str and contract.collated) or {*map(type, values)} != {exact}:
        return []
    return [(name.lower(), set(values))]
