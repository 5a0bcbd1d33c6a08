"""Privacy prices as exact integers, and the way between rho and (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Rho:
    nano: int


@dataclass(frozen=True, order=True)
class Epsilon:
    nano: int


Price = Rho | Epsilon
