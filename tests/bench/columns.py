"""`python tests/bench/columns.py`: each numeric column of synthetic tables beside the real one.

Every statement is a whole CREATE SYNTHETIC TABLE of up to 20,000 rows of a table of ../shared/data,
over the real gate. Printed for each numeric column: the share of zeros in the real and in the
synthetic rows, the Kolmogorov-Smirnov distance, the error of the mean in standard deviations, the
relative error of the standard deviation, and the mean absolute error of Spearman's correlation with
the other numeric columns. NULLs are left out of all of them.

The declared ends are what an owner would write down without looking: codes' own ends, and round
numbers for amounts.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
from numpy.typing import NDArray
from support.vaults import declare, write

from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories, ColumnDomain, Interval
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.session import Session

DATA = TESTS.parents[1] / "shared" / "data"
ROWS = 20_000
NUMBERS: dict[str, dict[str, tuple[float, float]]] = {
    "adult": {
        "age": (17, 90),
        "education_num": (1, 16),
        "capital_gain": (0, 99_999),
        "capital_loss": (0, 5_000),
        "hours_per_week": (1, 99),
        "fnlwgt": (0, 1_500_000),
    },
    "nycflights_flights": {
        "dep_delay": (-60, 1_500),
        "arr_delay": (-100, 1_500),
        "air_time": (0, 720),
        "distance": (0, 5_000),
        "sched_dep_time": (0, 2_359),
        "month": (1, 12),
    },
    "randhie": {
        "mdvis": (0, 100),
        "lncoins": (0.0, 5.0),
        "lpi": (0.0, 10.0),
        "fmde": (0.0, 10.0),
        "disea": (0.0, 60.0),
        "physlm": (0.0, 1.0),
    },
    "pension_401k": {
        "inc": (0.0, 200.0),
        "age": (25, 64),
        "fsize": (1, 13),
        "nettfa": (-1_000.0, 2_000.0),
    },
    "compas_two_years": {
        "age": (18, 100),
        "juv_fel_count": (0, 20),
        "priors_count": (0, 50),
        "days_b_screening_arrest": (-500, 1_500),
        "decile_score": (1, 10),
        "start": (0, 1_000),
        "end": (0, 1_200),
    },
    "nist_ma2018": {
        "AGEP": (0, 99),
        "PINCP": (-10_000, 1_500_000),
        "POVPIP": (0, 501),
        "PWGTP": (0, 1_500),
        "INDP": (0, 9_999),
        "EDU": (1, 12),
    },
}
LISTED = {
    "adult": ("sex", "race", "marital_status", "income"),
    "nycflights_flights": ("carrier", "origin"),
    "randhie": ("idp", "hlthg", "hlthf", "hlthp"),
    "pension_401k": ("e401k", "marr", "male", "p401k", "pira"),
    "compas_two_years": ("sex", "race", "c_charge_degree", "two_year_recid"),
    "nist_ma2018": ("SEX", "MSP", "HISP", "RAC1P", "OWN_RENT"),
}
FIGURES = ("zeros", "made", "KS", "mean", "sd", "spearman")
Columns = dict[str, NDArray[np.float64]]


def quoted_names(table: str) -> str:
    """Returns the columns that are synthesized, as SQL text."""
    return ", ".join(f'"{name}"' for name in (*NUMBERS[table], *LISTED[table]))


def build_vault(folder: Path, table: str) -> Path:
    """Returns a vault of ROWS rows of the table at most, with domains and budget declared."""
    vault = folder / f"{table}.duckdb"
    chosen = quoted_names(table)
    source = f"read_parquet('{DATA}/{table}.parquet', file_row_number = true)"
    write(
        vault,
        f"CREATE TABLE people AS SELECT row_number() OVER () AS id, {chosen} FROM"
        f" (FROM {source} ORDER BY hash(file_row_number) LIMIT {ROWS});"
        "ALTER TABLE people ADD PRIMARY KEY (id);",
    )
    domains: dict[str, ColumnDomain] = {
        name: Interval(low, high, nullable=True) for name, (low, high) in NUMBERS[table].items()
    }
    with duckdb.connect(str(vault), read_only=True) as engine:
        for name in LISTED[table]:
            rows = engine.execute(f'SELECT DISTINCT "{name}" FROM people ORDER BY ALL').fetchall()
            domains[name] = Categories(tuple(value for (value,) in rows))
    kernel = Kernel(vault)
    declare(kernel, domains=domains, budget=Budget("people", Rho.at_most(10**6), 1e-9))
    kernel.close()
    return vault


def read_columns(file: Path, table: str, names: tuple[str, ...]) -> Columns:
    """Returns the numeric columns, NaN for NULL."""
    selected = ", ".join(f'"{name}"::DOUBLE AS "{name}"' for name in names)
    with duckdb.connect(str(file), read_only=True) as engine:
        arrays = engine.execute(f"SELECT {selected} FROM {table}").fetchnumpy()
    return {n: np.ma.filled(np.ma.asarray(arrays[n], dtype=np.float64), np.nan) for n in names}


def rank_correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Returns Spearman's correlation over the rows in which both are known; 0 of a constant."""
    known = ~np.isnan(left) & ~np.isnan(right)
    ranks = [_ranks(column[known]) for column in (left, right)]
    if min((rank.std() for rank in ranks), default=0.0) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean rank of each value."""
    if not values.size:
        return np.zeros(1)
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def compare_columns(real: Columns, drawn: Columns) -> dict[str, dict[str, float]]:
    """Returns FIGURES by column."""
    errors: dict[str, list[float]] = {name: [] for name in real}
    for u, v in itertools.combinations(real, 2):
        gap = rank_correlation(real[u], real[v]) - rank_correlation(drawn[u], drawn[v])
        errors[u].append(abs(gap))
        errors[v].append(abs(gap))
    return {n: _compare(real[n], drawn[n]) | {"spearman": np.mean(errors[n])} for n in real}


def _compare(real: NDArray[np.float64], drawn: NDArray[np.float64]) -> dict[str, float]:
    real, drawn = np.sort(real[~np.isnan(real)]), np.sort(drawn[~np.isnan(drawn)])
    if not drawn.size:
        return dict.fromkeys(FIGURES, np.nan)
    every = np.concatenate([real, drawn])
    shares = [np.searchsorted(x, every, side="right") / x.size for x in (real, drawn)]
    return {
        "zeros": np.mean(real == 0),
        "made": np.mean(drawn == 0),
        "KS": np.abs(shares[0] - shares[1]).max(),
        "mean": (drawn.mean() - real.mean()) / real.std(),
        "sd": drawn.std() / real.std() - 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=list(NUMBERS), choices=list(NUMBERS))
    parser.add_argument("--methods", nargs="+", default=["aim", "mst"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.1])
    parser.add_argument("--options", default="", help="more OPTIONS, as in SQL")
    parser.add_argument("--runs", type=int, default=1, help="print the mean of absolute figures")
    parser.add_argument("--short", action="store_true", help="only the mean over each table")
    given = parser.parse_args()
    head = "".join(f"{name:>9}" for name in FIGURES)
    print(f"{'method':<12}{'eps':>5} {'column':<36}{head}{'seconds':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for table in given.tables:
            for method, epsilon in itertools.product(given.methods, given.epsilons):
                print_table(Path(folder), table, method, epsilon, given)


def print_table(
    folder: Path, table: str, method: str, epsilon: float, given: argparse.Namespace
) -> None:
    """Makes the synthetic table as often as told, each time in a vault that has sold nothing yet
    (an answer that was sealed before would be replayed), and prints a line for each column."""
    more, runs, seconds = f", {given.options}" if given.options else "", [], 0.0
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            vault = build_vault(Path(fresh), table)
            real = read_columns(vault, "people", tuple(NUMBERS[table]))
            session = Session(vault, role="analyst", principal="bench")
            began = time.perf_counter()
            session.execute(
                f"CREATE SYNTHETIC TABLE drawn AS SELECT {quoted_names(table)} FROM people"
                f" USING {method} OPTIONS (epsilon = {epsilon}{more})"
            )
            seconds += (time.perf_counter() - began) / given.runs
            session.close()
            drawn = read_columns(vault.with_suffix(".release.duckdb"), "drawn", tuple(real))
            runs.append(compare_columns(real, drawn))
    absolute = abs if given.runs > 1 else float
    rows = {n: [np.mean([absolute(r[n][f]) for r in runs]) for f in FIGURES] for n in runs[0]}
    if not given.short:
        for name, row in rows.items():
            figures = "".join(f"{x:9.3f}" for x in row)
            print(f"{method:<12}{epsilon:>5g} {table + '.' + name:<36}{figures}", flush=True)
    figures = "".join(
        f"{np.mean(np.abs([row[i] for row in rows.values()])):9.3f}" for i in range(6)
    )
    print(f"{method:<12}{epsilon:>5g} {table:<36}{figures}{seconds:9.1f}", flush=True)


if __name__ == "__main__":
    main()
