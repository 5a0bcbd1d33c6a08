"""The paper's mixture of normal groups (Figures 3, 6 and 7): error by rows, groups and α."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
from laboratory import Laboratory
from measures import RHO, Method, Price, asked

from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)

ROWS, GROUPS, ALPHAS = (
    (4000, 8000, 12000, 16000, 20000),
    (3, 6, 12),
    (0.3, 0.5, 0.7, 1.0, 3.0, 10.0),
)
REACH = 100.0
"""Values are declared to lie within ±REACH: a wide interval, as where COINPRESS is used."""
METHODS = (
    Method("coinpress", "AVG({} USING coinpress)", stratified=False),
    Method("strat coinpress", "AVG({} USING coinpress)"),
    Method("plain gaussian", "AVG({} USING gaussian)", stratified=False),
    Method(
        "ours: strata and population, quantile",
        "AVG({} USING quantile)",
        options=", population_share = 0.5",
    ),
)


def contract(k: int) -> TableContract:
    """Returns what is declared of a table of k groups."""
    columns = (
        Column("id", Type.INTEGER, "BIGINT"),
        Column("g", Type.INTEGER, "BIGINT", Interval(0, k - 1), required=True),
        Column("x", Type.REAL, "DOUBLE", Interval(-REACH, REACH), required=True),
    )
    facts = TableFacts(True, frozenset({"id", "g", "x"}))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


def drawn(n: int, k: int, alpha: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns groups and values: shares from Dirichlet(α), σ_i from U(0.1, 2), μ_i from N(0, 1)."""
    groups = rng.choice(k, n, p=rng.dirichlet(np.full(k, alpha)))
    middles, spreads = rng.normal(0, 1, k), rng.uniform(0.1, 2, k)
    return groups, rng.normal(middles[groups], spreads[groups])


def measured(repetitions: int, price: Price = RHO) -> list[dict[str, float | str | int]]:
    """Returns the population's mean absolute error of every method at every setting."""
    rng, found = np.random.default_rng(3), []
    for n in ROWS:
        for k in GROUPS:
            for alpha in ALPHAS:
                errors = np.mean(
                    [_once(n, k, alpha, rng, price) for _ in range(repetitions)], axis=0
                )
                found += [
                    {
                        "n": n,
                        "k": k,
                        "alpha": alpha,
                        "method": m.name,
                        "error": float(e),
                        "repetitions": repetitions,
                    }
                    for m, e in zip(METHODS, errors, strict=True)
                ]
    return found


def _once(n: int, k: int, alpha: float, rng: np.random.Generator, price: Price) -> list[float]:
    groups, values = drawn(n, k, alpha, rng)
    with duckdb.connect() as engine:
        engine.register("drawn", pa.table({"id": np.arange(n), "g": groups, "x": values}))
        engine.execute("CREATE TABLE people AS SELECT * FROM drawn")
        laboratory = Laboratory(engine, contract(k))
        return [
            abs(asked(laboratory, ("g",), "x", method, price)[1] - values.mean())
            for method in METHODS
        ]
