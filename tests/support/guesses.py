"""Guessing who is there by how long an answer took."""

from __future__ import annotations

from itertools import pairwise


def best_limit(seen: list[tuple[bool, float]]) -> float:
    """Returns the seconds above which most timings were of somebody who was there: of equally good
    limits the middle of the widest gap, which tells later timings apart best."""
    gaps = [*pairwise(sorted(took for _, took in seen))]

    def rightness(gap: tuple[float, float]) -> tuple[int, float]:
        return sum((took > gap[0]) == there for there, took in seen), gap[1] - gap[0]

    return sum(max(gaps, key=rightness)) / 2
