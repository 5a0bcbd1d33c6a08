"""New York's people of 2018, simulated from the exact sizes and means of the paper's strata.

The complete file is not freely at hand. `cells` tells how many people each of the 360 cells of SEX,
DIS, NATIVITY, RAC1P and five bins of AGEP has, how many of them have a value of each column, and
its mean. Values are drawn from the same column of real rows (adults of 19 to 34, all states), bent
until the cell's mean is met: PINCP by a factor, the others, which are bounded, by a power of their
place in the domain.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from cells import PERSONS, SHARED, STRATA, fitted

from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)

DOMAINS = {"SCHL": (0, 24), "WKHP": (0, 99), "JWMNP": (0, 200), "PINCP": (-8300, 1423000)}
AGES = "least(AGEP // 20, 4)"
"""The bins that a complete file's ages are put into."""


def contract(column: str) -> TableContract:
    """Returns what is declared of the table, as far as one value column is asked."""
    strata = tuple(
        Column(c, Type.INTEGER, "TINYINT", Interval(*d), required=True) for c, d in STRATA.items()
    )
    value = Column(column, Type.INTEGER, "INTEGER", Interval(*DOMAINS[column], nullable=True))
    columns = (Column("id", Type.INTEGER, "INTEGER"), *strata, value)
    facts = TableFacts(True, frozenset(c.name.lower() for c in columns))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


def write(table: Path, path: str | None, rows: int) -> None:
    """Writes the people as Parquet: those of a complete person file, or so many simulated ones."""
    with duckdb.connect() as engine:
        if path:
            load(engine, path)
        else:
            simulate(engine, rows)
        engine.execute(f"COPY people TO '{table}'")


def opened(table: Path) -> duckdb.DuckDBPyConnection:
    """Returns an engine with the people in memory; one of several processes, so of one thread."""
    engine = duckdb.connect(config={"threads": 1})
    engine.execute(f"CREATE TABLE people AS FROM '{table}'")
    return engine


def load(engine: duckdb.DuckDBPyConnection, path: str) -> None:
    """Makes the table of a complete person file (CSV or Parquet) with the census's own columns."""
    strata = ", ".join(f"{AGES if c == 'AGEP' else c} AS {c}" for c in STRATA)
    engine.execute(
        f"CREATE TABLE people AS SELECT row_number() OVER () AS id, {strata}, "
        f"{', '.join(DOMAINS)} FROM '{path}'"
    )


def simulate(engine: duckdb.DuckDBPyConnection, rows: int, seed: int = 2018) -> None:
    """Makes the table of that many simulated people, or nearly: cells are rounded at random."""
    rng, cells = np.random.default_rng(seed), fitted(tuple(DOMAINS))
    shapes = {column: _shape(column) for column in DOMAINS}
    counts = [c for c in cells if c == "persons" or c.endswith("_known")]
    whole = np.floor(cells[counts] * (rows / PERSONS) + rng.random((len(cells), 1)))
    cells[counts] = whole.astype(int)
    parts = []
    for cell in cells.itertuples():
        part = {c: np.full(cell.persons, getattr(cell, c), dtype=np.int8) for c in STRATA}
        for column, (low, high) in DOMAINS.items():
            have = min(getattr(cell, f"{column}_known"), cell.persons)
            drawn = rng.choice(shapes[column], have)
            drawn = _bent(drawn, shapes[column], getattr(cell, f"{column}_mean"), low, high)
            value = np.full(cell.persons, np.nan)
            value[rng.permutation(cell.persons)[:have]] = drawn
            part[column] = value
        parts.append(pd.DataFrame(part))
    table = pd.concat(parts, ignore_index=True)
    engine.register("drawn", table)
    values = ", ".join(
        f"CAST(CASE WHEN NOT isnan({c}) THEN {c} END AS INTEGER) AS {c}" for c in DOMAINS
    )
    number = "(row_number() OVER ())::INTEGER AS id"
    engine.execute(
        f"CREATE TABLE people AS SELECT {number}, {', '.join(STRATA)}, {values} FROM drawn"
    )
    engine.unregister("drawn")


def _shape(column: str) -> np.ndarray:
    """Returns the column's values in real rows, sorted."""
    file = SHARED / "data" / "acs2018_us_mobility_sample.parquet"
    rows = duckdb.sql(f"SELECT {column} FROM '{file}' WHERE {column} IS NOT NULL ORDER BY 1")
    return np.asarray(rows.fetchnumpy()[column], dtype=float)


def _bent(drawn: np.ndarray, shape: np.ndarray, mean: float, low: float, high: float) -> np.ndarray:
    """Returns the values with the wanted mean, whole and inside the domain."""
    if high > 10_000:
        return np.clip(np.rint(drawn * mean / shape.mean()), low, high)
    grid = (np.clip(shape[:: max(len(shape) // 2000, 1)], low, high) - low) / (high - low)
    least, most = 0.02, 50.0
    for _ in range(50):
        power = (least * most) ** 0.5
        above = low + (high - low) * (grid**power).mean() > mean
        least, most = (power, most) if above else (least, power)
    return np.rint(low + (high - low) * ((np.clip(drawn, low, high) - low) / (high - low)) ** power)
