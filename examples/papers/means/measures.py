"""What one question answers, again and again, and how far it is from the truth."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass

import duckdb
import numpy as np
from laboratory import Laboratory
from people import STRATA

from sqlpriv.answer import means
from sqlpriv.answer.moments import read_moments
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.dialect import read
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.plan.planner import plan
from sqlpriv.session.declarations.budgets import budget_at
from sqlpriv.session.queries.programs.gate_requests import release_measurements

COMBINATIONS = [c for n in range(1, 6) for c in itertools.combinations(STRATA, n)]
SMALL = 0.001
"""Strata of at most this part of the people are those that the paper's authors leave out."""


@dataclass(frozen=True)
class Method:
    """How a mean is asked for.

    Args:
        name: In the results.
        call: `AVG` with `{}` for the column.
        stratified: Whether there is a STRATIFY BY.
        options: Of the statement, behind its price.
    """

    name: str
    call: str
    stratified: bool = True
    options: str = ""


OURS = Method("ours", "AVG({})", options=", population_share = auto")
FRESH = Method("unstratified", "AVG({})", stratified=False)
STRATA_ONLY = Method("strata only", "AVG({})")
MANY, WIDE = 8, ("WKHP", "JWMNP")
"""So many strata of these columns are clipped in `STRATA_ONLY`: by itself AVG does not scan the
rows three times for intervals of that width."""
QUANTILE = Method("strata by quantile", "AVG({} USING quantile)")
COINPRESS = Method("coinpress", "AVG({} USING coinpress)")
LAPLACE = Method("plain laplace", "AVG({} USING laplace)")
GAUSSIAN = Method("plain gaussian", "AVG({} USING gaussian)")


@dataclass(frozen=True)
class Price:
    """A price by its name in the results, and how it is written."""

    name: str
    option: str
    budget: Budget


RHO = Price("rho 0.5", "rho = 0.5", Budget("people", Rho(10**12), 1e-9))


def zcdp(epsilon: float) -> Price:
    """Returns the price of (epsilon, 1e-9)-DP by Gaussian noise."""
    return Price(f"eps {epsilon:g}", f"epsilon = {epsilon}", budget_at("people", 1e3, 1e-9))


def pure(epsilon: float) -> Price:
    """Returns the price of pure epsilon, by Laplace noise."""
    return Price(f"pure eps {epsilon:g}", f"epsilon = {epsilon}", budget_at("people", 1e3))


@dataclass(frozen=True)
class Truth:
    """Exact counts and means of the cells' values, persons, and the mean of all values."""

    n: np.ndarray
    mean: np.ndarray
    persons: np.ndarray
    whole: float

    @property
    def kept(self) -> np.ndarray:
        """Which cells the authors keep: above 0.1 % of the people, and any value."""
        return (self.persons > SMALL * self.persons.sum()) & (self.n > 0)


def truth(engine: duckdb.DuckDBPyConnection, by: tuple[str, ...], column: str) -> Truth:
    """Returns the truth of every cell of the domain, row-major; NaN where nobody is."""
    sizes = [STRATA[c][1] - STRATA[c][0] + 1 for c in by]
    n, total, persons = np.zeros((3, int(np.prod(sizes))))
    sql = (
        f"SELECT {cell_number(by)}, count({column}), sum({column}), count(*) FROM people GROUP BY 1"
    )
    for cell, count, added, people in engine.execute(sql).fetchall():
        n[cell], total[cell], persons[cell] = count, added or 0, people
    with np.errstate(invalid="ignore"):
        return Truth(n, total / n, persons, float(total.sum() / n.sum()))


def cell_count(by: tuple[str, ...]) -> int:
    """Returns how many cells a combination of the census has."""
    return math.prod(STRATA[c][1] - STRATA[c][0] + 1 for c in by)


def cell_number(by: tuple[str, ...]) -> str:
    """Returns SQL for the number of a row's cell, row-major."""
    number = "0"
    for c in by:
        low, high = STRATA[c]
        number = f"({number} * {high - low + 1} + {c} - {low})"
    return number


def repeated(
    laboratory: Laboratory,
    by: tuple[str, ...],
    column: str,
    method: Method,
    price: Price,
    exact: Truth,
    repetitions: int,
) -> dict[str, float | str | int | None]:
    """Returns mean errors over the repetitions; see README.md for what each column is."""
    started = time.process_time()
    errors = [
        _errors(*asked(laboratory, by, column, method, price), exact, method.stratified)
        for _ in range(repetitions)
    ]
    found = {
        name: None if value is None else float(np.mean([e[name] for e in errors]))
        for name, value in errors[0].items()
    }
    parity = [e["parity_error"] for e in errors]
    found["parity_deviation"] = float(np.std(np.array(parity, float), ddof=1))
    seconds = (time.process_time() - started) / repetitions
    public = {
        "combination": "+".join(by),
        "column": column,
        "method": method.name,
        "price": price.name,
        "k": int(exact.kept.sum()),
        "cells": exact.n.size,
    }
    return public | {"repetitions": repetitions, "cpu_seconds": seconds} | found


def asked(
    laboratory: Laboratory, by: tuple[str, ...], column: str, method: Method, price: Price
) -> tuple[np.ndarray, float]:
    """Asks once; returns the strata's means and the population's."""
    strata, whole = answered(laboratory, by, column, method, price)
    return strata.values, float(whole.values)


def answered(
    laboratory: Laboratory, by: tuple[str, ...], column: str, method: Method, price: Price
) -> tuple[means.Estimate, means.Estimate]:
    """Asks once, as a session would; returns the strata's estimates and the population's."""
    clipped = method is STRATA_ONLY and column in WIDE and cell_count(by) >= MANY
    call = (QUANTILE if clipped else method).call.format(column)
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({price.option}{method.options}) "
    sql += f"{call} AS x FROM people"
    sql += f" STRATIFY BY {', '.join(by)}" if method.stratified else ""
    (statement,) = read(sql)
    planned = plan(statement, laboratory.contract, price.budget, None)
    releases, adapted = release_measurements(planned, laboratory.release)
    by_query = {release.query: release for release in releases}
    output = planned.output
    recipe, own = output.recipes[0], output.own[0] if output.own else None
    found = {
        r: adapted[r] if r in adapted else read_moments(r, by_query)
        for r in (recipe, own)
        if r is not None
    }
    return two_levels(recipe, found[recipe], None, (own, found[own]) if own else None)


def _errors(
    strata: np.ndarray, whole: float, exact: Truth, stratified: bool
) -> dict[str, float | None]:
    """Returns the errors of one answer.

    Parity error is Definition 10 with ω = 1/k over the strata that the authors keep. A figure that
    is missing counts as wrong by all of it; without strata the population's stands for each.
    """
    guess = np.nan_to_num(strata) if stratified else np.full(exact.n.size, whole)
    apart = np.abs(guess - exact.mean)
    relative = apart / np.where(exact.mean == 0, np.nan, np.abs(exact.mean))
    kept = exact.kept
    small = ~kept & (exact.n > 0)
    large = kept & (exact.n >= 10_000)
    off = abs(whole / exact.whole - 1)
    return {
        "population_error": abs(whole - exact.whole),
        "population_square": (whole - exact.whole) ** 2,
        "population_relative": off,
        "parity_error": abs(whole / exact.whole - 1) / kept.sum()
        + float(np.nansum(relative[kept])),
        "worst_large": float(np.nanmax(relative[large])) if large.any() else None,
        "small_error": float(np.median(apart[small])) if small.any() else None,
    }
