"""How many people, values and which mean each of the 360 cells of New York 2018 has.

Known exactly: the sizes and means of the 742 strata above 0.1 % of the rows, in 31 combinations of
SEX, DIS, NATIVITY, RAC1P and five bins of AGEP, and by each combination what all others have
together. Cells are the table of largest entropy that agrees with all of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

SHARED = Path(__file__).resolve().parents[4] / "shared"
STRATA = {"SEX": (1, 2), "DIS": (1, 2), "NATIVITY": (1, 2), "RAC1P": (1, 9), "AGEP": (0, 4)}
PERSONS = 191_372
"""With a value of SCHL in the complete file."""
RACES = (138474, 24024, 508, 5, 244, 17030, 72, 10964, 5646)
"""Persons by RAC1P (the paper's Table 3): where the fit starts from."""
Table = tuple[np.ndarray, np.ndarray]
"""Each cell's stratum, and the strata's totals."""


def fitted(columns: tuple[str, ...]) -> pd.DataFrame:
    """Returns every cell's keys and `persons`, and by column its `…_known` values and `…_mean`."""
    listed = pd.read_csv(SHARED / "reference" / "ny2018_strata_true_means_and_sizes.csv")
    product = pd.MultiIndex.from_product([range(a, b + 1) for a, b in STRATA.values()])
    cells = pd.DataFrame(product.tolist(), columns=list(STRATA))
    listed["total"] = listed.exact_data_size * listed.true_mean
    everybody = listed[listed.combination == "SEX"].groupby("column_name")
    whole = everybody[["exact_data_size", "total"]].sum()

    def fit(start: np.ndarray, column: str, quantity: str) -> np.ndarray:
        rows = listed[listed.column_name == column].groupby("combination", sort=False)
        total = whole.loc[column, quantity]
        tables = [_table(part, part[quantity].to_numpy(float), total, cells) for _, part in rows]
        return proportional(start, tables)

    cells["persons"] = fit(np.array(RACES, float)[cells.RAC1P - 1], "SCHL", "exact_data_size")
    for column in columns:
        known = fit(cells.persons.to_numpy(), column, "exact_data_size")
        total = fit(known, column, "total")
        cells[f"{column}_known"] = known
        cells[f"{column}_mean"] = total / np.maximum(known, 1e-9)
    return cells


def _table(part: pd.DataFrame, totals: np.ndarray, whole: float, cells: pd.DataFrame) -> Table:
    """Returns one combination's strata; the last stands for all that are not listed."""
    keys = part.combination.iloc[0].split("+")
    number = {name: i for i, name in enumerate(part.stratum_id)}
    names = cells[keys].agg(lambda row: "-".join(f"{k}={row[k]}.0" for k in keys), axis=1)
    at = names.map(number).fillna(len(number)).to_numpy(int)
    return at, np.append(totals, max(whole - totals.sum(), 0.0))


def proportional(start: np.ndarray, tables: list[Table]) -> np.ndarray:
    """Returns cells that add up to every table's totals, as near to their start as can be.

    Iterative proportional fitting (Deming and Stephan 1940).
    """
    cells = start.astype(float)
    for _ in range(100):
        for at, totals in tables:
            found = np.bincount(at, cells, len(totals))
            cells = cells * (totals / np.where(found > 0, found, 1.0))[at]
    return cells
