"""Sums of clipped values, made of exact counts and sums of bins: one read serves any ends.

A cell's rows lie in bins (`algebra.Clipped`). With l and u the ends of the cell, and L and U the
same in steps of the sums' lattice, rows below l count as L, rows above u as U, and all others as
the lattice's integer t of their x. Of n rows with the total T of these, the released integer is

    floor((2 T - n (L + U)) K / (U - L)),   K = REAL_STEPS

**Claim.** It moves by at most K for each row that is added or removed, as a `Sum` within ±1 does
whose steps are K. So the proofs of `sensitivity` hold for it.

**Proof.** A row's t lies in [L, U]. Clamping and rounding to the lattice are monotone in x, so
x >= l implies t >= L, and x <= u implies t <= U. Rows of other bins count as L or U, which are
within. Bins are told apart exactly: a row is in the bins from the one that begins at l on if and
only if x >= l, and in the bins before the one that begins at u (or, of whole numbers, at the next
one above u) only if x <= u. Beyond 2^53 a whole x that is compared as a double is rounded, maybe up
to l, and so is a whole l that a double x is compared with, maybe down to x: an l beyond 2^52 is
therefore taken to be lower by more than either may be rounded. An end at or beyond one of the
declared interval leaves all rows on its inner side, and is -steps, or steps, or beyond. Hence
2 t - (L + U) is within ±(U - L), and what is inside the floor moves by at most K a row, if the
counts and the sums are of the same kept rows (`queries.joint_batches`). K a row is a whole number,
floor is monotone and commutes with adding a whole number, so the floor moves by no more.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from sqlpriv.errors import KernelError
from sqlpriv.kernel.proof.sensitivity import REAL_STEPS, Lattice
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Number, Type


class Clip(NamedTuple):
    """The bins `first` to `last` - 1 lie inside the ends, whose numbers in steps are L and U."""

    first: int
    last: int
    low: Fraction
    high: Fraction


def clips_of(query: a.Clipped, of: Type, grid: Lattice) -> list[Clip]:
    """Returns how each cell is clipped. Raises KernelError for ends that are none of the bins'.

    Args:
        query: With one pair of ends for each cell.
        of: The type of x.
        grid: The lattice of the sums.
    """
    places, clips = {edge: i for i, edge in enumerate(query.bins.edges, 1)}, {}
    for low, high in dict.fromkeys(query.ends):
        first = 0 if low <= query.lower else places.get(low, -1)
        above = math.floor(high) + 1  # of 4.5, not 5.5: 5 would be below that
        last = places.get(high, places.get(above, -1) if of is Type.INTEGER else -1)
        last = len(places) + 1 if high >= query.upper else 0 if high <= query.lower else last
        clip = Clip(
            first,
            last,
            _number(low - (int(abs(low)) >> 52), of, grid),
            _number(high, of, grid),
        )
        if min(first, last) < 0 or clip.low >= clip.high:
            raise KernelError("a sum is clipped between ends of bins")
        clips[low, high] = clip
    return [clips[ends] for ends in query.ends]


def clipped_sums(clips: Sequence[Clip], counts: Sequence[int], sums: Sequence[int]) -> list[int]:
    """Returns the integer of each cell, from the exact answers to `query.by_bin`, row-major."""
    size, answers = len(counts) // len(clips), []
    for i, (first, last, low, high) in enumerate(clips):
        rows, steps = counts[i * size : (i + 1) * size], sums[i * size : (i + 1) * size]
        # whole numbers of parts of a step: fractions take eight times as long
        lower, upper, parts = (
            low.numerator * high.denominator,
            high.numerator * low.denominator,
            low.denominator * high.denominator,
        )
        total = (
            parts * sum(steps[first:last]) + lower * sum(rows[:first]) + upper * sum(rows[last:])
        )
        answers.append((2 * total - sum(rows) * (lower + upper)) * REAL_STEPS // (upper - lower))
    return answers


def _number(end: Number, of: Type, grid: Lattice) -> Fraction:
    """Returns an end in steps: as `udfs/quantise.sql` has it of reals inside, exact elsewhere."""
    exact = (Fraction(end) - grid.middle) / grid.step
    if of is Type.INTEGER or not -grid.steps < exact < grid.steps:
        return exact
    number = (float(end) - float(grid.middle)) / float(grid.step)
    rounded = math.floor(abs(Fraction(number)) + Fraction(1, 2))
    return Fraction(max(-grid.steps, min(int(math.copysign(rounded, number)), grid.steps)))
