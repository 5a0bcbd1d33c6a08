"""`python tests/bench/strata.py`: what STRATIFY BY costs or gains each method, beside no strata.

Each row: a table, strata, a method and an epsilon; then, for each of two errors, that without
STRATIFY BY (`none`, the strata's columns among the others), that of every stratum synthesized as a
table of its own (`alone`), that with STRATIFY BY (`strata`), and the last by the better of the
first two. The errors are means over the strata that hold at least LEAST rows, each counted once:

- `means`: distance of a column's mean from the true one inside the stratum, in standard deviations
  of the column over the whole table; the mean over columns.
- `inside`: total variation distance of a pair of columns inside the stratum; the mean over pairs.

Tables of ../shared/data, at most 40,000 rows of each, numbers cut at their quantiles into 16 levels
(the cuts are the bench's own, not private); delta 1e-9. The noise is that of
tests/support/fake_gate.

`--chosen 2 8 40` measures made-up tables of so many strata, of equal sizes and by Zipf's law, that
are alike, slightly and far apart, and beside both errors `all`: that of pairs of all rows together.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import numpy as np
import pandas as pd
from bench.tables.random_strata import APART, chosen_strata, random_strata
from support.fake_gate import FakeGate
from support.places import SHARED

from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Categories, Column, PrivacyUnit, TableContract, Type
from sqlpriv.synth.synthesis import prepare, synthesize

ROWS, BINS, LEAST = 40_000, 16, 20
ALLOWED = 1.05
TABLES = {
    "employment": ("acs2018_ny_employment_20k", "AGEP SCHL MAR RELP DIS ESP CIT MIL ESR_EMPLOYED"),
    "adult": (
        "adult_binned",
        "age workclass education-num marital-status occupation relationship hours-per-week"
        " income>50K",
    ),
    "compas": (
        "compas_two_years",
        "age decile_score priors_count c_charge_degree two_year_recid v_decile_score"
        " juv_misd_count",
    ),
    "randhie": ("randhie", "mdvis lncoins lpi fmde disea hlthg hlthf hlthp"),
    "br2000": ("privbayes_br2000", "a0 a2 a3 a4 a6 a7 a8 a9 a10 a11"),
    "flights": ("nycflights_flights", "month dep_delay arr_delay air_time distance sched_dep_time"),
}
STRATA = {
    "employment": ("SEX", "SEX RAC1P"),
    "adult": ("sex", "race sex"),
    "compas": ("sex", "sex race"),
    "randhie": ("idp", "physlm"),
    "br2000": ("a5", "a1"),
    "flights": ("origin", "origin carrier"),
}
QUICK = {"gem": {"rounds": 20, "steps": 40, "components": 200}}


@dataclass(frozen=True, eq=False)
class Coded:
    """A table of level numbers and its contract."""

    rows: pd.DataFrame
    columns: tuple[str, ...]
    strata: tuple[str, ...]
    contract: TableContract


def coded(table: str, strata: str, rows: int) -> Coded:
    """Reads a table: each column as the numbers of its levels."""
    file, names = TABLES[table]
    columns, by = tuple(names.split()), tuple(strata.split())
    frame = pd.read_parquet(SHARED / "data" / f"{file}.parquet", columns=[*by, *columns])
    frame = frame.sample(min(rows, len(frame)), random_state=0)
    return declared_levels({name: _levels(frame[name]) for name in frame}, columns, by)


def declared_levels(
    levels: dict[str, np.ndarray], columns: tuple[str, ...], by: tuple[str, ...]
) -> Coded:
    """Returns the table of these level numbers, each column declared with all of its levels."""
    declared = tuple(
        Column(c, Type.INTEGER, "INTEGER", Categories(tuple(range(int(levels[c].max()) + 1))))
        for c in levels
    )
    unit = PrivacyUnit("people", "id")
    return Coded(pd.DataFrame(levels), columns, by, TableContract("people", declared, unit))


def _levels(column: pd.Series) -> np.ndarray:
    if column.nunique() > BINS and pd.api.types.is_numeric_dtype(column):
        column = pd.qcut(column, BINS, labels=False, duplicates="drop")
    numbers, _ = pd.factorize(column, sort=True, use_na_sentinel=False)
    return numbers


def made(data: Coded, strata: bool, method: str, epsilon: float, seed: int) -> pd.DataFrame:
    """Returns the synthetic rows of one statement."""
    price = rho_of(epsilon, 1e-9)
    by = data.strata if strata else ()
    names = (*data.strata, *data.columns)
    job = prepare(data.contract, names, by, None, method, QUICK.get(method, {}), price)
    rows = {name: data.rows[name].tolist() for name in data.rows}
    out = synthesize(job, FakeGate(rows, data.contract, price, seed=seed))
    return out.table.to_pandas()


def alone(data: Coded, method: str, epsilon: float, seed: int) -> pd.DataFrame:
    """Returns the rows of one statement for each stratum, each at the whole price."""
    price = rho_of(epsilon, 1e-9)
    parts = []
    for stratum, rows in data.rows.groupby(list(data.strata)):
        job = prepare(data.contract, data.columns, (), None, method, QUICK.get(method, {}), price)
        real = {name: rows[name].tolist() for name in rows}
        gate = FakeGate(real, data.contract, price, seed=seed)
        part = synthesize(job, gate).table.to_pandas()
        parts.append(part.assign(**dict(zip(data.strata, stratum, strict=True))))
    return pd.concat(parts)


def errors(data: Coded, rows: pd.DataFrame) -> tuple[float, float]:
    """Returns `means` and `inside`."""
    spread = data.rows.std().clip(lower=1e-9)
    means, inside = [], []
    fakes = dict(list(rows.groupby(list(data.strata))))
    for stratum, real in data.rows.groupby(list(data.strata)):
        if len(real) < LEAST:
            continue
        fake = fakes.get(stratum, rows)  # without a row of its own it says what the table says
        apart = [abs(real[c].mean() - fake[c].mean()) / spread[c] for c in data.columns]
        means.append(float(np.mean(apart)))
        pairs = itertools.combinations(data.columns, 2)
        inside.append(float(np.mean([_distance(real, fake, *pair) for pair in pairs])))
    return float(np.mean(means)), float(np.mean(inside))


def _distance(real: pd.DataFrame, fake: pd.DataFrame, u: str, v: str) -> float:
    shape = max(real[v].max(), fake[v].max()) + 1
    codes = [(x[u] * shape + x[v]).to_numpy() for x in (real, fake)]
    length = max(int(c.max()) for c in codes) + 1
    shares = [np.bincount(c, minlength=length) / len(c) for c in codes]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", nargs=2, type=int, help="random tables, by first and last seed")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=["mst", "mwem", "privbayes", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--chosen", nargs="+", type=int, help="numbers of strata of made-up tables")
    parser.add_argument(
        "--seeds", nargs=2, type=int, default=[0, 2], help="of these, first to last"
    )
    given = parser.parse_args()
    if given.chosen:
        print_chosen(given)
        return
    heads = ("none", "alone", "strata", "ratio")
    shown = " ".join(f"{h:>7}" for h in (*heads, *heads, "s"))
    print(f"{'':<40}{'means':<32}inside")
    print(f"{'table':<11}{'strata':<16}{'method':<10}{'eps':>5} {shown}")
    if given.random:
        given.tables, tables = [], range(given.random[0], given.random[1] + 1)
        cells = list(itertools.product(given.methods, given.epsilons))
        ratios: dict[tuple[str, float], list[list[float]]] = {cell: [] for cell in cells}
        for seed, (method, epsilon) in itertools.product(tables, cells):
            frame, columns, by = random_strata(seed)
            data = declared_levels({n: frame[n].to_numpy() for n in frame}, columns, by)
            name = f"random {seed:<4}{len(frame):>6} rows, {frame.groupby(list(by)).ngroups:>2} s"
            ratios[method, epsilon].append(
                print_row(data, f"{name:<27}", method, epsilon, given.runs)
            )
        for (method, epsilon), of_tables in ratios.items():
            array = np.array(of_tables)
            over = (array > ALLOWED).mean(axis=0)
            typical = np.exp(np.log(array).mean(axis=0))
            print(
                f"{method}, epsilon {epsilon:g}: ratios of means {typical[0]:.3f} (above {ALLOWED}"
                f" {over[0]:.0%}, worst {array[:, 0].max():.2f}), inside {typical[1]:.3f}"
                f" ({over[1]:.0%}, {array[:, 1].max():.2f})"
            )
    for table in given.tables:
        for strata in STRATA[table]:
            data = coded(table, strata, given.rows)
            for method, epsilon in itertools.product(given.methods, given.epsilons):
                print_row(data, f"{table:<11}{strata:<16}", method, epsilon, given.runs)


def print_chosen(given: argparse.Namespace) -> None:
    """Prints the three errors of made-up tables, means over seeds, and what their ratios are."""
    heads = " ".join(f"{h:>7}" for h in ("none", "alone", "strata", "ratio"))
    print(f"{'':<35}{'means':<32}{'inside':<32}all")
    print(f"{'strata':<35}{heads} {heads} {heads}")
    ratios = []
    cells = itertools.product(given.chosen, ("equal", "zipf"), APART, given.methods, given.epsilons)
    for strata, sizes, apart, method, epsilon in cells:
        of_seeds = []
        for seed in range(given.seeds[0], given.seeds[1] + 1):
            frame, columns, by = chosen_strata(strata, sizes, apart, seed)
            data = declared_levels({n: frame[n].to_numpy() for n in frame}, columns, by)
            tables = [
                made(data, False, method, epsilon, seed),
                alone(data, method, epsilon, seed),
                made(data, True, method, epsilon, seed),
            ]
            of_seeds.append([(*errors(data, rows), of_all(data, rows)) for rows in tables])
        none, by_itself, stratified = np.mean(of_seeds, axis=0)
        ratios.append(stratified / np.minimum(none, by_itself))
        shown = np.stack([none, by_itself, stratified, ratios[-1]], axis=1).ravel()
        line = " ".join(f"{x:7.3f}" for x in shown)
        print(f"{strata:<4}{sizes:<7}{apart:<10}{method:<10}{epsilon:<4g}{line}", flush=True)
    array = np.array(ratios)
    print(
        f"ratios: {np.exp(np.log(array).mean(axis=0)).round(3)}, worst {array.max(axis=0).round(2)}"
    )


def of_all(data: Coded, rows: pd.DataFrame) -> float:
    """Returns the total variation distance of pairs of columns of all rows, the mean over pairs."""
    pairs = itertools.combinations(data.columns, 2)
    return float(np.mean([_distance(data.rows, rows, *pair) for pair in pairs]))


def print_row(data: Coded, name: str, method: str, epsilon: float, runs: int) -> list[float]:
    """Prints the errors of one table, strata, method and epsilon, means over the runs; returns the
    ratios of `means` and `inside`."""
    of_runs, seconds = [], 0.0
    for seed in range(runs):
        began = time.process_time()
        stratified = made(data, True, method, epsilon, seed)
        seconds += (time.process_time() - began) / runs
        whole, apart = made(data, False, method, epsilon, seed), alone(data, method, epsilon, seed)
        of_runs.append([errors(data, rows) for rows in (whole, apart, stratified)])
    shares = np.mean(of_runs, axis=0)
    shown = []
    for none, by_itself, strata in shares.T:
        shown += [none, by_itself, strata, strata / min(none, by_itself)]
    line = " ".join(f"{x:7.3f}" for x in (*shown, seconds))
    print(f"{name}{method:<10}{epsilon:>5g} {line}", flush=True)
    return [shown[3], shown[7]]


if __name__ == "__main__":
    main()
