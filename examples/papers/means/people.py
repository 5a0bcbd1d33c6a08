"""New York's people of 2018, simulated from the exact sizes and means of the paper's strata.

The complete file is not freely at hand. What is known exactly of each of the 94 strata of SEX, DIS,
NATIVITY, RAC1P and five bins of AGEP above 0.1 % of the rows: how many have a value of each column,
and its mean. Values are drawn from the same column of real rows (adults of 19 to 34, all states),
bent until the stratum's mean is met: PINCP by a factor, the others, which are bounded, by a power
of their place in the domain. The people of the strata that are not listed, 4 % of all, are dealt
out at random to the 266 other cells: strata of a few dozen people, as small ones are.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from sqlpriv.kernel.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)

SHARED = Path(__file__).resolve().parents[4] / "shared"
STRATA = {"SEX": (1, 2), "DIS": (1, 2), "NATIVITY": (1, 2), "RAC1P": (1, 9), "AGEP": (0, 4)}
DOMAINS = {"SCHL": (0, 24), "WKHP": (0, 99), "JWMNP": (0, 200), "PINCP": (-8300, 1423000)}
PERSONS = 191_372
"""With a value of SCHL in the complete file."""
AGES = "least(AGEP // 20, 4)"
"""The bins that a complete file's ages are put into."""


def contract(column: str) -> TableContract:
    """Returns what is declared of the table, as far as one value column is asked."""
    strata = tuple(Column(c, Type.INTEGER, "TINYINT", Interval(*d), required=True)
                   for c, d in STRATA.items())  # fmt: skip
    value = Column(column, Type.INTEGER, "INTEGER", Interval(*DOMAINS[column], nullable=True))
    columns = (Column("id", Type.INTEGER, "INTEGER"), *strata, value)
    facts = TableFacts(True, frozenset(c.name.lower() for c in columns))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


def load(engine: duckdb.DuckDBPyConnection, path: str) -> None:
    """Makes the table of a complete person file (CSV or Parquet) with the census's own columns."""
    strata = ", ".join(f"{AGES if c == 'AGEP' else c} AS {c}" for c in STRATA)
    engine.execute(
        f"CREATE TABLE people AS SELECT row_number() OVER () AS id, {strata}, "
        f"{', '.join(DOMAINS)} FROM '{path}'"
    )


def simulate(engine: duckdb.DuckDBPyConnection, rows: int, seed: int = 2018) -> None:
    """Makes the table of that many simulated people."""
    rng, cells = np.random.default_rng(seed), _cells(rows, np.random.default_rng(seed + 1))
    shapes = {column: _shape(column) for column in DOMAINS}
    parts = []
    for cell in cells.itertuples():
        part = {c: np.full(cell.persons, getattr(cell, c), dtype=np.int8) for c in STRATA}
        for column, (low, high) in DOMAINS.items():
            have = min(round(cell.persons * getattr(cell, f"{column}_known")), cell.persons)
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


def _cells(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Returns every cell with its persons, and each column's mean and share of known values."""
    found = pd.read_csv(SHARED / "reference" / "ny2018_strata_true_means_and_sizes.csv")
    found = found[found.combination == "+".join(STRATA)]
    keys = found.stratum_id.str.extractall(r"=([\d.]+)")[0].astype(float).astype(int).unstack()
    keys.columns = list(STRATA)
    found = pd.concat([found, keys], axis=1)
    table = found.pivot_table(index=list(STRATA), columns="column_name",
                              values=["exact_data_size", "true_mean"])  # fmt: skip
    product = pd.MultiIndex.from_product(
        [range(low, high + 1) for low, high in STRATA.values()], names=list(STRATA)
    )
    sizes = table["exact_data_size"].reindex(product)
    means = table["true_mean"].reindex(product)
    unlisted = sizes["SCHL"].isna()
    left = PERSONS - sizes["SCHL"].sum()
    persons = sizes["SCHL"].copy()
    persons[unlisted] = left * rng.dirichlet(np.full(int(unlisted.sum()), 0.5))
    cells = pd.DataFrame({"persons": np.maximum((persons * rows / PERSONS).round(), 1).astype(int)})
    for column in DOMAINS:
        total, rate = sizes[column].sum(), sizes[column].sum() / sizes["SCHL"].sum()
        mean = (means[column] * sizes[column]).sum() / total
        cells[f"{column}_mean"] = means[column].fillna(mean)
        cells[f"{column}_known"] = (sizes[column] / sizes["SCHL"]).fillna(rate)
    return cells.reset_index()


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
