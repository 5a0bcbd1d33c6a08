"""Tables whose means by strata are measured: rows by stratum, of files and of distributions.

Files are those of `../shared/data`; each is taken with an interval that an owner would declare who
knows the column's meaning, not its values. Changes of the estimators were judged on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@dataclass(frozen=True, eq=False)
class StratifiedRows:
    """Rows of one table: a value and a stratum each.

    Args:
        x: Values inside [lower, upper], of shape (rows,).
        stratum: Number of each row's stratum, row-major in the strata columns, of shape (rows,).
        sizes: How many values each strata column has.
        lower, upper: The declared interval.
        whole: Whether x is an INTEGER.
    """

    x: np.ndarray
    stratum: np.ndarray
    sizes: tuple[int, ...]
    lower: float
    upper: float
    whole: bool = False

    @property
    def strata(self) -> int:
        """How many strata there are, empty ones included."""
        return math.prod(self.sizes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the strata columns."""
        return tuple(f"g{number}" for number in range(len(self.sizes)))

    @property
    def contract(self) -> TableContract:
        """What is declared of the table `people`."""
        lower, upper = (int(e) if self.whole else e for e in (self.lower, self.upper))
        kind, name = (Type.INTEGER, "BIGINT") if self.whole else (Type.REAL, "DOUBLE")
        columns = (
            Column("id", Type.INTEGER, "BIGINT"),
            *(
                Column(name, Type.INTEGER, "BIGINT", Interval(0, size - 1), required=True)
                for name, size in zip(self.columns, self.sizes, strict=True)
            ),
            Column("x", kind, name, Interval(lower, upper), required=True),
        )
        facts = TableFacts(True, frozenset({"id", *self.columns, "x"}))
        return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


class FileColumn(NamedTuple):
    """A numeric column of a file, by columns of the same.

    Args:
        file: Under `DATA`, without its ending.
        of: The number, as SQL; rows where it is NULL are left out.
        by: Expressions of the strata; NULL is a value of its own.
        lower, upper: What an owner would declare.
        whole: Whether it is a whole number.
    """

    file: str
    of: str
    by: tuple[str, ...]
    lower: float
    upper: float
    whole: bool = True


FILES = {
    "departure delay": FileColumn(
        "nycflights_flights", "dep_delay", ("carrier", "origin"), -60, 1440
    ),
    "arrival delay": FileColumn("nycflights_flights", "arr_delay", ("dest",), -120, 1440),
    "air time": FileColumn("nycflights_flights", "air_time", ("month", "carrier"), 0, 1440),
    "doctor's visits": FileColumn(
        "randhie", "mdvis", ("hlthg + 2 * hlthf + 4 * hlthp", "round(disea / 6)"), 0, 365
    ),
    "plan's maximum": FileColumn("randhie", "lpi", ("round(disea)", "idp"), 0, 100, False),
    "financial assets": FileColumn(
        "pension_401k", "nettfa", ("fsize", "marr"), -1_000, 10_000, False
    ),
    "family income": FileColumn("pension_401k", "inc", ("age",), 0, 1_000, False),
    "capital gain": FileColumn("adult", "capital_gain", ("race", "sex"), 0, 99_999),
    "capital loss": FileColumn("adult", "capital_loss", ("occupation",), 0, 10_000),
    "working hours": FileColumn("adult", "hours_per_week", ("native_country",), 0, 168),
    "prior offences": FileColumn("compas_two_years", "priors_count", ("race", "sex"), 0, 100),
    "days to screening": FileColumn(
        "compas_two_years", "c_days_from_compas", ("race", "age_cat"), 0, 36_500
    ),
    "age of the accused": FileColumn("compas_two_years", "age", ("race", "sex"), 0, 120),
    "young adults' income": FileColumn(
        "acs2018_us_mobility_sample", "PINCP", ("RAC1P", "SEX"), -20_000, 5_000_000
    ),
    "way to work": FileColumn("acs2018_us_mobility_sample", "JWMNP", ("ST",), 0, 1_440),
    "account balance": FileColumn(
        "tpch_sf001_customer", "c_acctbal", ("c_nationkey",), -1_000, 10_000, False
    ),
}


def _lifetimes(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    size = _uneven_sizes(k, 60_000)
    scale = np.exp(rng.normal(1.2, 0.5, k))
    return _drawn(size, lambda g, n: np.floor(scale[g] * rng.weibull(0.7, n)))


def _bills(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    size, middle = _uneven_sizes(k, 15_000), rng.normal(9.3, 0.35, k)
    return _drawn(size, lambda g, n: np.exp(middle[g] + 1.1 * rng.standard_t(12, n)))


def _limits(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    size, middle = _uneven_sizes(k, 30_000), rng.normal(14, 3, k)
    return _drawn(size, lambda g, n: 1e4 * np.ceil(rng.gamma(1.7, np.abs(middle[g]) / 1.7, n)))


def _wages(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    size, middle = _uneven_sizes(k, 400_000), rng.normal(10.4, 0.25, k)
    return _drawn(size, lambda g, n: np.exp(rng.normal(middle[g], 0.8, n)))


def _temperatures(rng: np.random.Generator, k: int) -> tuple[np.ndarray, np.ndarray]:
    size, middle = _uneven_sizes(k, 40_000), rng.normal(0, 6, k)
    return _drawn(size, lambda g, n: rng.normal(middle[g], 4, n))


GENERATED: dict[
    str, tuple[Callable[..., tuple[np.ndarray, np.ndarray]], tuple[int, ...], float, float, bool]
] = {
    "lifetimes": (_lifetimes, (2, 8), 0, 365, True),
    "bills": (_bills, (4, 19), 0, 1e6, False),
    "limits": (_limits, (2, 7), 0, 1e6, True),
    "wages, clamped": (_wages, (2, 9), 0, 250_000, False),
    "temperatures": (_temperatures, (5, 6), -100, 100, False),
}
"""Drawn once each, with strata of very uneven sizes whose means differ."""
NAMES = (*FILES, *GENERATED)


def _uneven_sizes(k: int, rows: int) -> np.ndarray:
    """Returns sizes from a fraction of all rows down to a handful, geometrically."""
    share = 2.0 ** -(np.arange(k) * 12 / k)
    return np.maximum(np.rint(rows * share / share.sum()), 1).astype(int)


def _drawn(
    size: np.ndarray, draw: Callable[[np.ndarray, int], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    stratum = np.repeat(np.arange(len(size)), size)
    return stratum, draw(stratum, len(stratum))


@cache
def load(name: str) -> StratifiedRows:
    """Returns the rows of a table by its name, one of `NAMES`."""
    if name in GENERATED:
        draw, sizes, lower, upper, whole = GENERATED[name]
        stratum, x = draw(np.random.default_rng(19), math.prod(sizes))
        return StratifiedRows(np.clip(x, lower, upper), stratum, sizes, lower, upper, whole)
    column = FILES[name]
    ranks = ", ".join(
        f"dense_rank() OVER (ORDER BY {by}) - 1 AS g{i}" for i, by in enumerate(column.by)
    )
    rows = duckdb.sql(
        f"SELECT ({column.of})::DOUBLE AS x, {ranks} FROM '{DATA / column.file}.parquet'"
        f" WHERE {column.of} IS NOT NULL"
    ).fetchnumpy()
    keys = [np.asarray(rows[f"g{i}"]).astype(int) for i in range(len(column.by))]
    sizes = tuple(int(key.max()) + 1 for key in keys)
    stratum = np.ravel_multi_index(keys, sizes)
    order = np.argsort(stratum, kind="stable")
    x = np.clip(np.asarray(rows["x"]), column.lower, column.upper)
    return StratifiedRows(x[order], stratum[order], sizes, column.lower, column.upper, column.whole)
