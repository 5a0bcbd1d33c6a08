"""How far one privacy unit can move a query or a score, and what a batch of queries costs.

Neighbouring databases differ in one unit with all its rows in all tables (DESIGN rule 1). Every
relation is unit-partitioned (`algebra`, operator by operator), and the renderer keeps, of any unit,
rows in at most g strata and at most m rows in each of them (`queries.bounding`); which of its rows
are kept depends on that unit's rows alone. So adding or removing a unit adds or removes at
most m kept rows in each of at most g strata, and leaves every other kept row as it was.

**Count, Distinct.** A kept row raises one cell of its stratum by at most 1. The unit moves its
strata by c_1, …, c_g' (g' <= g) with c_i <= m, in L1 *and* in L2 (all m rows may share a cell).
Hence L1 = m g, and L2² = m² g.

**Sum.** A kept row adds to one cell an integer of at most `steps` in absolute value: the last thing
the renderer does to it is to clamp it there. All m rows may share a cell and a sign. Hence
L1 = m g steps, and L2² = m² g steps².

`keys` never enter: they split a stratum into disjoint cells, and a vector's norm within a stratum
is largest when all rows meet in one cell. g is at most the number of strata that exist. Tests
attain every bound with a worst unit.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import MAX_INTEGER, Number, PrivacyUnit, TableContract, Type
from sqlpriv.kernel.terms.release import Measurement

REAL_STEPS = 2**40
"""Half the interval of a real sum is cut into this many steps. n rows are then rounded by at most
n (upper - lower) / 2**42, against noise of standard deviation >= m (upper - lower) / sqrt(8 rho):
under 1 % for n <= 10**9 at rho <= 100, and for n <= 10**10 at rho <= 1."""
SCORE_UNIT = 2**10
"""Estimates, penalties and weights are rounded to this fraction, so that scores are integers."""


class Lattice(NamedTuple):
    """The integers that a sum adds up: `value - middle` in units of `step`, within ±steps; for
    whole numbers the step is 1/2, so that nothing is rounded (2 x - lower - upper)."""

    middle: Fraction
    step: Fraction
    steps: int


class Sensitivity(NamedTuple):
    """The bounds proved above, in lattice units: `l1`, and the square of the L2 bound."""

    l1: int
    l2_squared: int


def lattice_of(query: a.Query | a.Clipped, type_: Type | None) -> Lattice:
    """Returns the integers that the query adds up; `type_` is the type of a sum's argument.

    >>> lattice_of(a.Sum(a.Scan("t"), a.Col("age"), 0, 100), Type.INTEGER)
    Lattice(middle=Fraction(50, 1), step=Fraction(1, 2), steps=100)
    """
    if isinstance(query, a.Clipped):
        return Lattice(Fraction(0), Fraction(1, REAL_STEPS), REAL_STEPS)  # see clipped_sums.py
    if isinstance(query, a.Count):
        return Lattice(Fraction(0), Fraction(1), 1)
    if not -MAX_INTEGER < query.lower <= query.upper < MAX_INTEGER:  # no NaN does
        raise Refused("the bounds of a sum are ordered and lie within ±2^62")
    lower, upper = Fraction(query.lower), Fraction(query.upper)
    middle = (lower + upper) / 2
    if type_ is Type.INTEGER and not lower.denominator == upper.denominator == 1:
        raise Refused("a sum of integers has integer bounds")
    if lower == upper:
        return Lattice(middle, Fraction(1), 0)
    if type_ is Type.INTEGER:
        return Lattice(middle, Fraction(1, 2), int(upper - lower))
    return Lattice(middle, (upper - lower) / (2 * REAL_STEPS), REAL_STEPS)


def fold_ends(fold: a.Fold) -> tuple[Number, Number]:
    """Returns the public ends of what a fold gives: what is beyond is clamped when used.

    Claim: folds that Python calls equal have the same ends, because losses add up by equal
    relations: a whole end is an int, so that it is not rounded where it is multiplied.

    >>> fold_ends(a.Fold("paid", "sum", a.Col("price"), 0, 50, reach=3))
    (0, 150)
    """
    if not (1 <= fold.reach <= 10**6 and fold.kind in ("count", "distinct", "sum", "min", "max")):
        raise KernelError("this is no aggregate inside a unit")
    low, high = (int(x) if x % 1 == 0 else x for x in (fold.lower, fold.upper))
    if fold.kind == "sum":
        low, high = min(low, low * fold.reach), max(high, high * fold.reach)
        if not -MAX_INTEGER < low <= high < MAX_INTEGER:
            raise Refused("the sums of units lie within ±2^62")
    return (0, fold.reach) if fold.kind in ("count", "distinct") else (low, high)


def bound_of(relation: a.Relation, contract: TableContract) -> PrivacyUnit:
    """Returns how many rows of a unit are kept of a relation, in how many strata: public facts.

    A table's are declared. A join has the larger ones of its private sides (the finest table's), a
    union their sums; one row for each unit is one row, and `Bounded` may say otherwise. Privacy
    does not rest on this choice: what is returned here is what bounding enforces and noise is made
    for.
    """
    unit = contract.unit or PrivacyUnit(contract.table, "")
    return replace(
        unit,
        rows_per_unit=_declared_bound(relation, contract, 0),
        groups_per_unit=_declared_bound(relation, contract, 1),
    )


def _declared_bound(relation: a.Relation, contract: TableContract, side: int) -> int:
    """Returns the bound on rows (side 0) or groups (1); 0 for a public relation."""
    match relation:
        case a.Scan(table):
            unit = contract.contract_of(table).unit
            return (unit.rows_per_unit, unit.groups_per_unit)[side] if unit else 0
        case a.Join(left, right, _, "inner" | "left"):
            return max(_declared_bound(part, contract, side) for part in (left, right))
        case a.Join(left):
            return _declared_bound(left, contract, side)
        case a.Union(_, parts):
            return min(10**6, sum(_declared_bound(part, contract, side) for part, _ in parts))
        case a.PerUnit(source, keys):
            return _declared_bound(source, contract, side) if keys else 1
        case a.Bounded(_, rows, groups):
            return min(10**6, max(1, (rows, groups)[side]))
    return _declared_bound(relation.source, contract, side)


def sensitivity(query: a.Query | a.Clipped, unit: PrivacyUnit, steps: int) -> Sensitivity:
    """Returns how far one unit can move the query's cells, in lattice units; see above.

    A unit of two rows in one stratum counts twice there:

    >>> sensitivity(a.Count(a.Scan("t")), PrivacyUnit("t", "id", rows_per_unit=2), 1)
    Sensitivity(l1=2, l2_squared=4)
    """
    m, g = unit.rows_per_unit, min(unit.groups_per_unit, a.strata_count(query))
    return Sensitivity(l1=m * g * steps, l2_squared=m * m * g * steps * steps)


Losses = dict[tuple[a.Relation, tuple[a.Key, ...]], list[int]]
"""By relation and list of strata: the sum of the prices, in nano, of all that covered a stratum."""


def joint_price(
    asked: Sequence[Measurement], contract: TableContract, before: Losses
) -> tuple[Price, Losses]:
    """Returns what measurements and selections cost with those before, and all losses.

    Claim: let r_s be the sum of the prices of all that covered stratum s. Within one relation and
    one list of strata they cost at most the sum of the g largest r_s, divided by g; over different
    relations or strata costs add up. Later questions may depend on earlier answers.

    Reason: each measurement's noise is scaled for a unit with m rows in g strata, so the part of
    its loss that one stratum causes is price / g: zCDP loss is L2² / (2 sigma²), a sum over strata,
    and pure loss is L1 / scale, likewise; a selection is one of price / g in each stratum. Bounding
    keeps the *same* g strata of a unit in all these queries (it ranks them by a hash of the unit
    and the stratum alone), so the unit's loss is the sum of r_s / g over those: parallel
    composition as a fact about one vector's norm. Which strata those are depends on no answer, so
    each unit's losses add up to at most the charges (Feldman and Zrnic 2021, arXiv:2008.11193).
    """
    if len({type(m.price) for m in asked}) != 1 or min(m.price.nano for m in asked) == 0:
        raise KernelError("a batch has prices of one kind, above zero")
    losses, nano = dict(before), 0
    for m in asked:
        group, total = (m.query.source, m.query.strata), a.strata_count(m.query)
        at = range(total) if m.query.within is None else set(m.query.within)
        loss = enumerate(losses.get(group, [0] * total))
        losses[group] = [n + m.price.nano if s in at else n for s, n in loss]
    for (source, _), each in losses.items():
        g = min(bound_of(source, contract).groups_per_unit, len(each))
        nano += -(-sum(sorted(each, reverse=True)[:g]) // g)
    return type(asked[0].price)(nano), losses


@dataclass(frozen=True, eq=False)
class Candidate:
    """One option of a private selection: a marginal, and what is publicly believed of it.

    Its score in stratum s is weight * (L1 distance of counts and estimate - penalty[s]). All
    candidates of a choice share source, strata and `within`; `estimate` is of `a.shape(query)`,
    `penalty` of one number a measured stratum (None for zeros), `weight` not negative.
    """

    query: a.Count
    estimate: NDArray[np.float64]
    weight: float = 1.0
    penalty: NDArray[np.float64] | None = None


def distance(candidates: Sequence[Candidate], rows_per_unit: int) -> int:
    """Returns how far one unit moves any candidate's `score` in any stratum.

    Claim: with weights w_c and estimates in whole units of 1 / U (U = SCORE_UNIT), the score
    w_c (Σ |U count - estimate| - penalty) is an integer, and at most max w_c * U * m apart on
    neighbours: a unit changes the counts of a stratum by at most m in L1, and nothing else in the
    score depends on a row. The difference may have either sign. Sums fit 64 bits: a table has fewer
    than 2^45 rows, and estimates add up to no more (`check_candidates`).
    """
    most = max(1, *(round(c.weight * SCORE_UNIT) for c in candidates))
    return most * SCORE_UNIT * rows_per_unit


def total_distance(candidates: Sequence[Candidate], rows_per_unit: int) -> int:
    """Returns how far one unit moves the sum of all candidates' scores in any stratum.

    Claim: each term w_c (Σ |U count - estimate| - penalty) moves by at most w_c U m (`distance`),
    whichever cells the unit's rows are in, so the sum by at most U m Σ w_c. Where every table is
    empty and the estimates are 0, m rows of one unit raise all of the terms by that: it is tight.
    """
    weights = (round(c.weight * SCORE_UNIT) for c in candidates)
    return rows_per_unit * SCORE_UNIT * max(1, sum(weights))


def score(candidate: Candidate, exact: NDArray[np.int64]) -> list[int]:
    """Returns a candidate's score in every measured stratum; see `distance`."""
    believed = np.rint(candidate.estimate * SCORE_UNIT).astype(np.int64)
    apart = np.abs(np.reshape(exact, believed.shape) * SCORE_UNIT - believed)
    totals = apart.reshape(len(believed), -1).sum(axis=1).tolist()
    penalty = [0.0] * len(totals) if candidate.penalty is None else candidate.penalty
    weight = round(candidate.weight * SCORE_UNIT)
    return [weight * (t - round(p * SCORE_UNIT)) for t, p in zip(totals, penalty, strict=True)]


def check_candidates(candidates: Sequence[Candidate], allowed: NDArray[np.bool_]) -> None:
    """Raises KernelError unless the candidates are one choice: see `Allowance.choose`."""
    parts = [(c.query.source, c.query.strata, c.query.within, c.query.of) for c in candidates]
    if not parts or any(part != parts[0] or part[-1] is not None for part in parts):
        raise KernelError("candidates of a choice share relation and strata, and count rows")
    strata = len(a.measured_strata(candidates[0].query))
    if allowed.shape != (strata, len(candidates)) or not allowed.any(axis=1).all():
        raise KernelError("each stratum chooses among at least one candidate")
    for c in candidates:
        penalty = np.zeros(strata) if c.penalty is None else c.penalty
        shapes = c.estimate.shape == a.shape(c.query) and penalty.shape == (strata,)
        finite = np.isfinite(c.estimate).all() and np.isfinite(penalty).all()
        if (
            not (shapes and finite)
            or not 0 <= c.weight <= 2**20
            or np.abs(c.estimate).sum() > 2**45
        ):
            raise KernelError("an estimate, weight or penalty of a candidate is out of shape")


MAX_RANK = 1000
"""The largest denominator of a rank: scores then fit 64 bits, for a table of up to 2^45 rows."""


def level_scores(query: a.Level, exact: Sequence[int]) -> NDArray[np.int64]:
    """Returns the scores, shape (cells, levels), from the exact counts of the cells' histograms.

    Let L, h and U be the rows below, at and above a level, and a / b the rank. The score is
    -max((b - a) L - a (h + U), a U - (b - a)(L + h)): at a level in whose rows the rank lies it is
    not below 0, elsewhere it is b times the rows too few or too many (Smith 2011, for levels with
    ties). Without a rank it is h.

    Claim: a unit moves the scores of the cells of a stratum by c_1, c_2, …, in whichever direction,
    where Σ c_i <= `level_distance`. A kept row is in one level of one cell, so one of L, h, U
    changes by 1, and either side of max by max(a, b - a) at most; m rows add up. So one choice in
    each cell of a stratum costs what one would: with noise scaled for distance D, the loss of a
    choice whose scores move by c is proportional to c, or c² for zCDP (`noise.chooser`), and
    Σ c_i <= D, Σ c_i² <= D².
    """
    h = np.reshape(np.array(exact, dtype=np.int64), (-1, len(query.levels.values)))
    if query.rank is None:
        return h
    share, rest = query.rank[0], query.rank[1] - query.rank[0]
    up_to = h.cumsum(axis=1)
    below, above = up_to - h, up_to[:, -1:] - up_to
    few, many = rest * below - share * (h + above), share * above - rest * up_to
    return np.asarray(-np.maximum(few, many))


def level_distance(query: a.Level, rows_per_unit: int) -> int:
    """Returns the bound proved in `level_scores`, or refuses a rank that is none.

    >>> median = a.Level(a.Scan("t"), a.Key(a.Col("age"), (1, 2)), rank=(1, 2))
    >>> level_distance(median, rows_per_unit=3)
    3
    """
    if query.rank is None:
        return rows_per_unit
    share, of = query.rank
    if {type(share), type(of)} != {int} or not 0 <= share <= of <= MAX_RANK or of == 0:
        raise KernelError(f"a rank is a share a / b with 0 <= a <= b <= {MAX_RANK}")
    return max(share, of - share) * rows_per_unit


def selection_hash(candidates: Sequence[Candidate], allowed: NDArray[np.bool_]) -> str:
    """Returns the name under which a choice is sealed: equal only for the same choice."""
    shared = candidates[0].query
    parts: list[object] = ["choose", shared.source, shared.strata, shared.within]
    parts += [allowed.shape, allowed.tobytes()]
    for c in candidates:
        arrays = (np.zeros(0) if x is None else x for x in (c.estimate, c.penalty))
        digests = (hashlib.sha256(x.astype("<f8").tobytes()).hexdigest() for x in arrays)
        parts += [c.query.keys, float(c.weight), *digests]
    return a.query_hash(parts)
