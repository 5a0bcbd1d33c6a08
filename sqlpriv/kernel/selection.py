"""Scores of a private selection among marginals: exact integers, and how far a unit moves them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import KernelError
from sqlpriv.kernel import algebra as a

SCORE_UNIT = 2**10
"""Estimates, penalties and weights are rounded to this fraction, so that scores are integers."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One option of a private selection: a marginal, and what is publicly believed of it.

    Its score in stratum s is weight * (L1 distance of counts and estimate - penalty[s]); a unit
    moves it by at most weight * rows_per_unit.

    Args:
        query: A count; all candidates of a choice share source, strata and `within`.
        estimate: float64 of `algebra.shape(query)`.
        weight: Not negative.
        penalty: float64, one a measured stratum; None for zeros.
    """

    query: a.Count
    estimate: NDArray[np.float64]
    weight: float = 1.0
    penalty: NDArray[np.float64] | None = None


Score = Callable[[Candidate, int, list[int]], int]


def scoring(candidates: Sequence[Candidate], rows_per_unit: int) -> tuple[int, Score]:
    """Returns how far one unit moves any score, and the score.

    Claim: with weights w_c and estimates in whole units of 1 / U (U = SCORE_UNIT), the score
    w_c (Σ |U count - estimate| - penalty) is an integer, and at most max w_c * U * m apart on
    neighbours: a unit changes the counts of a stratum by at most m in L1, and nothing else in the
    score depends on a row. The difference may have either sign: scores are not monotone.
    """
    weights = {id(c): round(c.weight * SCORE_UNIT) for c in candidates}

    def score(candidate: Candidate, stratum: int, exact: list[int]) -> int:
        cells = math.prod(a.shape(candidate.query)[1:])
        counts = exact[stratum * cells : (stratum + 1) * cells]
        believed = np.rint(candidate.estimate[stratum].ravel() * SCORE_UNIT).tolist()
        apart = sum(abs(SCORE_UNIT * n - int(e)) for n, e in zip(counts, believed, strict=True))
        penalty = 0.0 if candidate.penalty is None else candidate.penalty[stratum]
        return weights[id(candidate)] * (apart - round(penalty * SCORE_UNIT))

    return max(*weights.values(), 1) * SCORE_UNIT * rows_per_unit, score


def check_candidates(candidates: Sequence[Candidate], allowed: NDArray[np.bool_]) -> None:
    """Raises KernelError unless the candidates are one choice: see `Allowance.choose`."""
    if not candidates:
        raise KernelError("there is no candidate to choose from")
    first = candidates[0].query
    strata = len(a.measured_strata(first))
    if allowed.shape != (strata, len(candidates)) or not allowed.any(axis=1).all():
        raise KernelError("each stratum chooses among at least one candidate")
    for c in candidates:
        same = (c.query.source, c.query.strata, c.query.within)
        if same != (first.source, first.strata, first.within) or c.query.of is not None:
            raise KernelError("candidates of a choice share relation and strata, and count rows")
        fits = c.estimate.shape == a.shape(c.query) and np.isfinite(c.estimate).all()
        penal = c.penalty is None or c.penalty.shape == (strata,)
        if not fits or not penal or not 0 <= c.weight <= 2**20 or np.abs(c.estimate).max() > 2**40:
            raise KernelError("an estimate, weight or penalty of a candidate is out of shape")


def selection_hash(candidates: Sequence[Candidate], allowed: NDArray[np.bool_]) -> str:
    """Returns the name under which a choice is sealed: equal only for the same choice."""
    digest = hashlib.sha256(b"choose")
    digest.update(repr(allowed.shape).encode() + allowed.tobytes())
    for c in candidates:
        penalty = b"-" if c.penalty is None else c.penalty.astype("<f8").tobytes()
        parts = (a.fingerprint(c.query).encode(), c.estimate.astype("<f8").tobytes(), penalty)
        digest.update(float(c.weight).hex().encode())
        for part in parts:
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()
