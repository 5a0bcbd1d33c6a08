"""Whether strata are one model follows from how far they are seen to be apart."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.vaults import contract

import sqlpriv
from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth import synthesis
from sqlpriv.synth.api.method import Strata
from sqlpriv.synth.job import Job
from sqlpriv.synth.quality.quality_line import Findings
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES, STRATA, LEVELS, ROWS = ("a", "b", "c", "d", "e", "f"), 8, 8, 20_000
COLUMNS = ("s", *NAMES)
TABLE = contract(
    dict.fromkeys(COLUMNS, "INTEGER"),
    {name: Categories(tuple(range(LEVELS))) for name in NAMES}
    | {"s": Categories(tuple(range(STRATA)))},
)


def synthesized(moved: float, method: str) -> tuple[Job, FakeGate]:
    """Makes a table of strata whose columns' means are moved by so many standard deviations, at
    epsilon = 1."""
    rng = np.random.default_rng(3)
    stratum = np.arange(ROWS) % STRATA
    rows = {"s": stratum.tolist()}
    for name in NAMES:
        values = rng.normal(0, 1, ROWS) + moved * rng.normal(0, 1, STRATA)[stratum]
        rows[name] = (
            np.clip(np.floor(values * 1.5 + LEVELS / 2), 0, LEVELS - 1).astype(int).tolist()
        )
    job = prepare(TABLE, COLUMNS, ("s",), None, method, {}, rho_of(1.0, 1e-9))
    assert job.method.one_model is not None
    way = job.method.one_model(ROWS, job.parts[1], job.space, job.options)
    assert way is Strata.UNLESS_APART, "by sizes alone"
    gate = FakeGate(rows, TABLE, job.price)
    synthesize(job, gate)
    assert gate.spent == job.price.nano
    return job, gate


def is_one_model(moved: float, method: str) -> bool:
    """Returns whether everybody's pairs are counted."""
    return any(not m.query.strata for m in synthesized(moved, method)[1].tables)


@pytest.mark.parametrize("method", ["mst", "privbayes"])
def test_strata_far_apart_are_fitted_by_themselves_where_sizes_would_make_them_one(
    method: str,
) -> None:
    """Eight strata of 2,500 rows; the twin, strata that are alike, are one model."""
    assert not is_one_model(1.5, method)
    assert is_one_model(0.0, method)


@pytest.mark.parametrize("method", ["mst", "privbayes", "hdmm"])
def test_what_a_look_may_decide_has_a_forecast_of_its_own(method: str) -> None:
    """Where sizes say one model and the look may say otherwise, the second forecast is larger; a
    hundredth of the rows leaves the look no say, and there is none."""
    job = prepare(TABLE, COLUMNS, ("s",), None, method, {}, rho_of(1.0, 1e-9))
    apart = job.expected_error_apart(ROWS)
    assert apart is not None
    assert apart.two_way > 1.1 * job.expected_error(ROWS).two_way
    assert job.expected_error_apart(ROWS / 100) is None


@pytest.mark.parametrize("method", ["mst", "privbayes"])
@pytest.mark.parametrize("moved", [1.5, 0.0])
def test_an_answer_is_told_the_forecast_of_what_the_look_decided(
    method: str, moved: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of strata far apart the second forecast; the twin, strata that are alike, has the first."""
    found: list[Findings] = []
    monkeypatch.setattr(synthesis, "quality_line", lambda f: found.append(f) or "")
    job, _ = synthesized(moved, method)
    rows = found[0].total
    forecasts = [job.expected_error(rows), job.expected_error_apart(rows)]
    assert forecasts[0] != forecasts[1]
    assert found[0].expected == forecasts[moved > 0]


@pytest.mark.parametrize(
    ("pooling", "way"), [(0.02, Strata.EACH), (0.0, Strata.EACH), (0.9, Strata.ONE)]
)
def test_a_small_part_for_the_population_is_not_one_model(pooling: float, way: Strata) -> None:
    """Two hundredths of the price measure everybody with more noise than the strata's sum has."""
    job = prepare(TABLE, COLUMNS, ("s",), None, "aim", {"pooling": pooling}, rho_of(5.0, 1e-9))
    assert job.method.one_model is not None
    assert job.method.one_model(ROWS, job.parts[1], job.space, job.options) is way
    assert job.expected_error_apart(ROWS) is None


def test_explain_tells_both_forecasts(tmp_path: Path) -> None:
    path = tmp_path / "v.duckdb"
    with duckdb.connect(path) as connection:
        columns = ", ".join(f"(i % 8)::INTEGER AS {name}" for name in COLUMNS)
        connection.execute(f"CREATE TABLE t AS SELECT i AS id, {columns} FROM range(100) r(i)")
    domains = ", ".join(f"COLUMN {name} IN (0, 1, 2, 3, 4, 5, 6, 7)" for name in COLUMNS)
    with sqlpriv.connect(path, role="owner") as session:
        session.execute(
            f"ALTER TABLE t SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), {domains}, "
            "BUDGET (epsilon = 10, delta = 1e-9))"
        )
        explained = session.execute(
            f"EXPLAIN PRIVACY CREATE SYNTHETIC TABLE x AS SELECT {', '.join(NAMES)} FROM t "
            "STRATIFY BY s USING mst OPTIONS (epsilon = 0.5)"
        ).fetchall()
    told = [row for row in explained if "finds strata far apart" in str(row)]
    assert len(told) % 2 == 0
    assert told
