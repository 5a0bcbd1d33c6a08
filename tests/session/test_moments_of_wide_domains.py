"""Moments of columns whose squares, or products, pass what the kernel's sums may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from suites.run import without_noise
from support.exact_people import planned
from support.templates import vault_of

from sqlpriv.answer.moments import read_moments
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE firms AS SELECT i AS id,
    power(10, 3 + 8 * ((i * 7919) % 1000) / 1000) AS assets,
    (i * i * 12007 % 1999 - 999) * 1000000 AS profit, (i * 31) % 1000 AS age
FROM range(2000) AS r(i);
ALTER TABLE firms ADD PRIMARY KEY (id);
ALTER TABLE firms SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1),
    COLUMN assets BETWEEN (0, 1e12), COLUMN profit BETWEEN (-1000000000, 1000000000),
    COLUMN age BETWEEN (0, 1000), BUDGET (epsilon = 1000000));
"""
FIGURES = [
    "VARIANCE(assets)",
    "VAR_POP(profit)",
    "STDDEV(assets)",
    "SKEWNESS(assets)",
    "KURTOSIS(assets)",
    "KURTOSIS(profit)",
    "KURTOSIS_POP(assets)",
    "COVAR_POP(assets, profit)",
    "COVAR_SAMP(assets, age)",
    "CORR(assets, profit)",
    "REGR_SLOPE(assets, age)",
    "REGR_SLOPE(age, assets)",
    "REGR_INTERCEPT(assets, profit)",
    "REGR_R2(profit, assets)",
    "REGR_SXX(profit, assets)",
    "REGR_SXY(assets, profit)",
]


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), role="owner", principal="o") as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


def figures(session: Session, outputs: list[str]) -> list[float]:
    table = session.execute(f"SELECT {', '.join(outputs)} FROM firms").table
    return [float(column[0].as_py()) for column in table.columns]


def test_they_are_what_duckdb_says(owner: Session) -> None:
    exact = figures(owner, FIGURES)
    for _ in without_noise():
        for name, value in zip(FIGURES, exact, strict=True):
            (answer,) = figures(owner, [f"WITH DIFFERENTIAL_PRIVACY {name}"])
            assert math.isclose(answer, value, rel_tol=1e-6), name


def test_their_half_widths_are_in_the_units_of_the_figures(owner: Session) -> None:
    """A domain is 2^30 times as long as the other, and so is everything in it: noise of both has
    the same deviations but for units. Without the unit of squares in `read_moments`, or that of a
    covariance, they would differ by the unit, 512, or its square. No draw of noise is compared,
    only half-widths, at a large price. Their ends vary by 1.3 times in 60 draws, and rarely more:
    2.6 times was seen in a few hundred. Less than 8 passes."""
    names = ("VAR_POP(x)", "STDDEV(x)", "COVAR_POP(x, age)", "REGR_SLOPE(x, age)")
    half_widths = []
    for unit in (1, 2**30):
        outputs = [f"ERROR({name})" for name in names]
        source = f"(SELECT LEAST(GREATEST(assets / 1e9 * {unit}, 0), 1000 * {unit}) AS x, age"
        table = owner.execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY {', '.join(outputs)} FROM {source} FROM firms)"
        ).table
        half_widths.append([float(column[0].as_py()) for column in table.columns])
    by_unit = [math.log2(b / a) for a, b in zip(*half_widths, strict=True)]
    assert by_unit == pytest.approx([60, 30, 30, 30], abs=math.log2(8))


def test_squares_in_larger_units_are_noised_by_the_square_of_the_unit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ± of a variance is made of them; by the unit itself it would be too short."""
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) VARIANCE(income) AS x FROM people"
    recipe = planned(sql).output.recipes[0]
    asked = (recipe.count, recipe.total, recipe.square)
    answers = {q: Release(1, q, np.ones(1), 3.0, Rho(1), False) for q in asked if q is not None}
    plain = read_moments(recipe, answers)
    monkeypatch.setattr(Recipe, "square_unit", 16.0 * recipe.square_unit)
    wide = read_moments(recipe, answers)
    assert (wide.q == 16 * plain.q).all()
    assert wide.var_q == 16**2 * plain.var_q
