"""What one unit loses by what was released, from the noise that OpenDP was asked for.

No bound of the kernel is used: no sensitivity, no distance, no joint price. How far the unit moves
what noise is added to, or a score, is the difference of exact answers with and without it; the
scale is the one that OpenDP was given; and the loss follows by a formula written here:

* discrete Gaussian of scale s: Σ move² / (2 s²), in zCDP (arXiv:2004.00010, Theorem 14);
* discrete Laplace of scale s: Σ |move| / s, in pure DP;
* the choice with Gumbel noise of scale s: its probabilities are those of exp(score / s). Where
  moves of scores lie in a range r, logarithms of their ratios lie in a range r / s, which is r / s
  in pure DP and (r / s)² / 8 in zCDP (arXiv:2004.07223);
* permute-and-flip of scale s: the same r / s (all scores moved alike move no probability);
* a selection of keys: as the Gaussian for the counts of keys that are there with and without the
  unit; a key that is there with it alone passes with the probability that discrete Gaussian noise
  reaches the threshold less one, which is summed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sqlpriv.kernel.checked import parts_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import NANO, Price, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from support.purchases import Draw, Lost, Purchase, Purchases
from support.unit_losses import integers

ADDITIVE = ("make_gaussian", "make_laplace")
STEPS = 2**40
"""What half the interval of a real sum is cut into."""


def noise_loss(seen: Purchases, whole: Sequence[Any], other: Sequence[Any]) -> Lost:
    """What the unit loses that makes the difference of these answers.

    Raises AssertionError where OpenDP was given other numbers than these answers, or a seal tells
    of another noise than was drawn.
    """
    nano, yocto, moved = Fraction(0), Fraction(0), False
    for purchase, draws, mine, others in zip(seen.bought, seen.draws, whole, other, strict=True):
        if not draws and not any(lattice_steps(purchase, m) for m in purchase.measurements):
            continue  # sums over an interval of one number are 0 in every database
        if purchase.keys:
            (draw,) = draws
            assert sorted(draw.exact) == sorted(mine.values())
            changed = {k for k in mine | others if mine.get(k, 0) != others.get(k, 0)}
            kept = [mine[k] - others[k] for k in changed if k in mine and k in others]
            nano += additive_loss(draw, kept)
            chance = passing_chance(draw.scale, draw.threshold) * (len(changed) - len(kept))
            yocto += Fraction(chance) * 10**24
            moved |= bool(changed)
        elif purchase.candidates:
            nano += candidates_loss(purchase, draws, mine, others)
            moved |= mine != others
        else:
            left = list(draws)
            for one in purchase.measurements:
                loss = measurement_loss(seen, purchase, one, left, mine, others)
                nano += loss
                moved |= loss > 0
            assert not left, "a draw that belongs to no measurement"
    return Lost(nano, yocto, moved)


def measurement_loss(
    seen: Purchases,
    purchase: Purchase,
    one: Measurement,
    left: list[Draw],
    mine: Mapping[a.Parts, list[Any]],
    others: Mapping[a.Parts, list[Any]],
) -> Fraction:
    """Nano that the unit loses by one measurement, whose draws are taken off those left."""
    scope, parts = Scope(one.query.source, purchase.contract), parts_of(one.query)
    exact, without = (integers(one.query, x[parts], scope) for x in (mine, others))
    if isinstance(one.query, a.Level):
        rows = zip(*(x.reshape(-1, x.shape[-1]).tolist() for x in (exact, without)), strict=True)
        return sum(
            (choice_loss(left.pop(0), row, row_without, one.price) for row, row_without in rows),
            Fraction(0),
        )
    moves = [int(x) for x in (exact - without).ravel()]
    steps = lattice_steps(purchase, one)
    if not steps:
        assert not any(moves)
        return Fraction(0)
    draw = left.pop(0)
    assert len(draw.exact) == len(moves)
    assert not any(draw.exact)
    check_seal(seen, one, draw, steps)
    return additive_loss(draw, moves)


def lattice_steps(purchase: Purchase, one: Measurement) -> Fraction:
    """How many steps of the lattice of its integers make 1; 0 for a sum of equal ends."""
    query = one.query
    if isinstance(query, a.Clipped):
        return Fraction(STEPS)
    if not isinstance(query, a.Sum):
        return Fraction(1)
    lower, upper = Fraction(query.lower), Fraction(query.upper)
    if lower == upper:
        return Fraction(0)
    is_whole = Scope(query.source, purchase.contract).type(query.of) is Type.INTEGER
    return Fraction(2) if is_whole else 2 * STEPS / (upper - lower)


def check_seal(seen: Purchases, one: Measurement, draw: Draw, steps: Fraction) -> None:
    """The ± that analysts are told is that of the noise that was drawn."""
    s, named = draw.scale, a.query_hash(one.query)
    deviation = s if draw.mechanism == "make_gaussian" else laplace_deviation(s)
    told = [x.sigma for x in seen.sealed if (x.query_hash, x.price) == (named, one.price)]
    assert told, "an answer without a seal"
    assert all(math.isclose(x * float(steps), deviation, rel_tol=1e-9) for x in told)


def laplace_deviation(scale: float) -> float:
    """The standard deviation of P(z) ~ q^|z|, with q = exp(-1 / scale): sqrt(2 q) / (1 - q)."""
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / -math.expm1(-1 / scale)


def additive_loss(draw: Draw, moves: Sequence[int]) -> Fraction:
    """Nano lost by noise that is added to integers that move so far."""
    assert draw.mechanism in (*ADDITIVE, "make_gaussian_threshold")
    scale = Fraction(draw.scale)
    if draw.mechanism == "make_laplace":
        return sum(map(abs, moves)) / scale * NANO
    return sum(x * x for x in moves) / (2 * scale**2) * NANO


def choice_loss(
    draw: Draw, scores: Sequence[int], without: Sequence[int], price: Price
) -> Fraction:
    """Nano lost by a choice among candidates of these scores, with the unit and without it."""
    assert draw.mechanism == "make_noisy_max"
    assert draw.exact == list(scores)
    moves = [int(x) - int(y) for x, y in zip(scores, without, strict=True)]
    spread = (max(moves) - min(moves)) / Fraction(draw.scale)
    return (spread**2 / 8 if isinstance(price, Rho) else spread) * NANO


def candidates_loss(purchase: Purchase, draws: Sequence[Draw], mine: Any, others: Any) -> Fraction:
    """Nano lost by choices among candidates, one in each stratum, or by sums of their scores."""
    by_stratum = [*zip(np.array(mine, object).T, np.array(others, object).T, strict=True)]
    if purchase.summed:
        (draw,) = draws
        return additive_loss(draw, [int(x.sum() - y.sum()) for x, y in by_stratum])
    price = purchase.measurements[0].price
    pairs = zip(draws, by_stratum, strict=True)
    return sum((choice_loss(draw, x, y, price) for draw, (x, y) in pairs), Fraction(0))


def passing_chance(scale: float, threshold: int) -> float:
    """The probability that discrete Gaussian noise is at least the threshold less 1.

    >>> round(passing_chance(1.0, 2), 3)
    0.301
    """
    far = math.ceil(40 * scale) + threshold
    step = max(1, round(scale / 1000))  # trapezes where there are very many numbers
    grid = [*range(threshold - 1, far, step)]
    above = (
        sum((bell(x, scale) + bell(y, scale)) / 2 * (y - x) for x, y in pairwise(grid))
        + bell(grid[0], scale) / 2
    )
    return above / (scale * math.sqrt(2 * math.pi) if scale > 1 else bells(scale))


def bell(z: int, scale: float) -> float:
    return math.exp(-(z**2) / (2 * scale**2))


def bells(scale: float) -> float:
    """The sum of all bells of a narrow one."""
    return 1 + 2 * sum(bell(z, scale) for z in range(1, math.ceil(40 * scale) + 1))
