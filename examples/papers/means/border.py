"""Where the border lies: the declared interval against the true spread, estimator by estimator.

20,000 values in 10 groups: normal ones (group means 0 to 9, spread 1), and long-tailed ones
(exponentials of normal values, scaled to the spread 1). The declared interval is ±w/2 around 5.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from laboratory import Laboratory
from measures import Method, Price, asked

from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.session.declarations.budgets import budget_at

ROWS, GROUPS = 20_000, 10
WIDTHS = (20, 40, 80, 160, 320, 1_000, 3_000, 10_000, 100_000, 1_000_000)
METHODS = tuple(
    Method(name, f"AVG({{}} USING {name})") for name in ("gaussian", "quantile", "coinpress")
)
PRICE = Price("rho 0.02", "rho = 0.02", budget_at("people", 1e3, 1e-9))


def contract(width: float) -> TableContract:
    """Returns what is declared of the table."""
    columns = (
        Column("id", Type.INTEGER, "BIGINT"),
        Column("g", Type.INTEGER, "BIGINT", Interval(0, GROUPS - 1), required=True),
        Column("x", Type.REAL, "DOUBLE", Interval(5 - width / 2, 5 + width / 2), required=True),
    )
    facts = TableFacts(True, frozenset({"id", "g", "x"}))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


def measured(repetitions: int) -> list[dict[str, Any]]:
    """Returns root mean square errors of the groups' means, by width, shape and estimator."""
    rng, found = np.random.default_rng(5), []
    groups = rng.integers(0, GROUPS, ROWS)
    tail = np.exp(rng.normal(0, 1, ROWS))
    shapes = {"normal": groups + rng.normal(0, 1, ROWS), "long tail": groups / 3 + tail / 2.16}
    for shape, values in shapes.items():
        truth = np.array([values[groups == g].mean() for g in range(GROUPS)])
        with duckdb.connect() as engine:
            engine.register("drawn", pa.table({"id": np.arange(ROWS), "g": groups, "x": values}))
            engine.execute("CREATE TABLE people AS SELECT * FROM drawn")
            for width in WIDTHS:
                laboratory = Laboratory(engine, contract(float(width)))
                inside = np.array(
                    [
                        np.clip(values, 5 - width / 2, 5 + width / 2)[groups == g].mean()
                        for g in range(GROUPS)
                    ]
                )
                for method in METHODS:
                    errors = [
                        asked(laboratory, ("g",), "x", method, PRICE)[0] - truth
                        for _ in range(repetitions)
                    ]
                    rms = float(np.sqrt(np.mean(np.square(errors))))
                    found.append(
                        {
                            "shape": shape,
                            "width": width,
                            "method": method.name,
                            "error": rms,
                            "clipped": float(np.abs(inside - truth).max()),
                            "repetitions": repetitions,
                        }
                    )
    return found
