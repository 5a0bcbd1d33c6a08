"""`python tests/bench/synth.py`: whole CREATE SYNTHETIC TABLE statements on census rows.

For each run: CPU and wall seconds of the statement, peak memory of its process, and errors. Error
is the mean, over all marginals of k columns, of the total variation distance between the rows and
the synthetic rows, both normalised (half the L1 distance; 1 is the most there is). `inside` is the
mean over strata, each counted once, of the 2-way error inside the stratum.

Data: 197,000 rows of ../shared/data/acs2018_us_pubcov_sample.parquet (the first by a hash of their
number), its ten synthesis columns, AGEP and SCHL in 5 bins; adult_binned.parquet, 14 columns; or
`wide`: 200,000 pairs of those persons, 35 columns of 7 levels (values modulo 7).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
from bench.tables.every_table import METHODS, print_all
from support.vaults import declare, write

import sqlpriv
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.kernel.vault import Kernel

DATA = TESTS.parents[1] / "shared" / "data"
CENSUS = """CREATE TABLE people AS SELECT row_number() OVER () AS id, * FROM (
    SELECT ((AGEP - 15) // 10)::TINYINT AS AGEP,
        CASE WHEN SCHL < 16 THEN 0 WHEN SCHL < 18 THEN 1 WHEN SCHL < 20 THEN 2
             WHEN SCHL < 21 THEN 3 ELSE 4 END::TINYINT AS SCHL,
        MAR, DIS, coalesce(ESP, 0)::TINYINT AS ESP, coalesce(MIL, 0)::TINYINT AS MIL, DREM, SEX,
        RAC1P, coalesce(ESR, 0)::TINYINT AS ESR
    FROM (SELECT *, hash(file_row_number) AS h
          FROM read_parquet('{data}/acs2018_us_pubcov_sample.parquet', file_row_number = true))
    ORDER BY h LIMIT 197000);
ALTER TABLE people ADD PRIMARY KEY (id);"""
ADULT = """CREATE TABLE people AS SELECT row_number() OVER () AS id, *
    FROM read_parquet('{data}/adult_binned.parquet');
ALTER TABLE people ADD PRIMARY KEY (id);"""
PERSON = (
    "ST",
    "AGEP",
    "SCHL",
    "MAR",
    "SEX",
    "DIS",
    "ESP",
    "CIT",
    "MIG",
    "MIL",
    "ANC",
    "NATIVITY",
    "DEAR",
    "DEYE",
    "DREM",
    "ESR",
    "FER",
    "RAC1P",
)
WIDE = """CREATE TABLE people AS WITH coded AS (
    SELECT row_number() OVER (ORDER BY hash(file_row_number)) AS n, {coded}
    FROM read_parquet('{{data}}/acs2018_us_pubcov_sample.parquet', file_row_number = true))
    SELECT a.n AS id, {of_a}, {of_b} FROM coded a JOIN coded b ON b.n = a.n + 200000
    WHERE a.n <= 200000;
ALTER TABLE people ADD PRIMARY KEY (id);""".format(
    coded=", ".join(f"(coalesce({c}, 0) % 7)::TINYINT AS {c}" for c in PERSON),
    of_a=", ".join(f"a.{c} AS {c}" for c in PERSON),
    of_b=", ".join(f"b.{c} AS {c}2" for c in PERSON[:-1]),
)
LEVELS = {
    "wide": {c: range(7) for c in (*PERSON, *(f"{c}2" for c in PERSON[:-1]))},
    "census": {
        "AGEP": range(5),
        "SCHL": range(5),
        "MAR": range(1, 6),
        "DIS": range(1, 3),
        "ESP": range(9),
        "MIL": range(5),
        "DREM": range(1, 3),
        "SEX": range(1, 3),
        "RAC1P": range(1, 10),
        "ESR": range(7),
    },
    "adult": {
        "age": range(85),
        "workclass": range(9),
        "fnlwgt": range(100),
        "education-num": range(16),
        "marital-status": range(7),
        "occupation": range(15),
        "relationship": range(6),
        "race": range(5),
        "sex": range(2),
        "capital-gain": range(100),
        "capital-loss": range(100),
        "hours-per-week": range(99),
        "native-country": range(42),
        "income>50K": range(2),
    },
}
SQL = {"census": CENSUS, "adult": ADULT, "wide": WIDE}
RACE = {"census": "RAC1P", "adult": "race", "wide": "RAC1P"}
STRATA = ("", "sex", "both")
STATEMENT = (
    "CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {columns} FROM people{strata}"
    " USING {method} OPTIONS (epsilon = {epsilon}{options})"
)


def built(folder: Path, data: str) -> Path:
    """A vault with one of the tables, declared, with budget for everything."""
    vault = folder / f"{data}.duckdb"
    write(vault, SQL[data].format(data=DATA))
    kernel = Kernel(vault)
    domains = {name: Categories(tuple(levels)) for name, levels in LEVELS[data].items()}
    declare(kernel, domains=domains, budget=Budget("people", Rho.at_most(10**6), 1e-9))
    kernel.close()
    return vault


def one(vault: Path, statement: str) -> dict[str, float]:
    """Runs a statement in this process: seconds and memory."""
    from sqlpriv.session.session import Session

    session = Session(vault, role="analyst", principal="bench")
    began, cpu = time.perf_counter(), time.process_time()
    message = session.execute(statement).message
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    session.close()
    status = Path("/proc/self/status").read_text()
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
    print(message, file=sys.stderr)
    return {"cpu": cpu, "wall": wall, "peak": peak}


def apart(
    left: np.ndarray, right: np.ndarray, sizes: list[int], ways: int, skip: set[int]
) -> float:
    """Mean total variation over the marginals of `ways` columns, of codes (rows, columns)."""
    found = []
    columns = [c for c in range(len(sizes)) if c not in skip]
    for clique in itertools.combinations(columns, ways):
        shape = [sizes[c] for c in clique]
        tables = []
        for codes in (left, right):
            cells = np.ravel_multi_index([codes[:, c] for c in clique], shape)
            tables.append(np.bincount(cells, minlength=np.prod(shape)) / max(len(codes), 1))
        found.append(np.abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(found))


def codes(file: Path, table: str, data: str) -> np.ndarray:
    """Levels of every column, shape (rows, columns)."""
    names = ", ".join(f'"{name}"' for name in LEVELS[data])
    with duckdb.connect(str(file), read_only=True) as engine:
        columns = engine.execute(f"SELECT {names} FROM {table}").fetchnumpy()
    return np.stack([columns[n].astype(int) - levels[0] for n, levels in LEVELS[data].items()], 1)


def errors(vault: Path, data: str, inside: tuple[str, ...]) -> dict[str, float]:
    """The errors of the table `made`."""
    real = codes(vault, "people", data)
    fake = codes(vault.with_suffix(".release.duckdb"), "made", data)
    sizes = [len(levels) for levels in LEVELS[data].values()]
    found = {f"{k}-way": apart(real, fake, sizes, k, set()) for k in (2, 3)}
    if inside:
        at = [list(LEVELS[data]).index(name) for name in inside]
        shape = [sizes[c] for c in at]
        where = [np.ravel_multi_index([x[:, c] for c in at], shape) for x in (real, fake)]
        parts = [
            apart(real[where[0] == s], fake[where[1] == s], sizes, 2, set(at))
            for s in range(int(np.prod(shape)))
            if (where[0] == s).any()
        ]
        found["inside"] = float(np.mean(parts))
    return found


def errors_of_pairs(vault: Path) -> dict[str, float]:
    """The 2-way error of the table `made` over 35 columns; 6,545 triples would take minutes."""
    real = codes(vault, "people", "wide")
    fake = codes(vault.with_suffix(".release.duckdb"), "made", "wide")
    return {"2-way": apart(real, fake, [7] * real.shape[1], 2, set())}


@cache
def compiled(folder: Path) -> dict[str, str]:
    """Compiles the package, as pip does when it installs it; returns the environment for that."""
    environment = {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "compileall", "-q", str(Path(sqlpriv.__file__).parent)]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    return environment


def columns_of(strata: str, data: str) -> tuple[str, ...]:
    return {"": (), "sex": ("SEX",), "both": ("SEX", RACE[data])}[strata]


def measured(vault: Path, data: str, method: str, epsilon: float, strata: str, options: str) -> Any:
    """One row of the table: the statement runs in a process of its own."""
    by = f" STRATIFY BY {', '.join(columns_of(strata, data))}" if strata else ""
    statement = STATEMENT.format(
        columns=", ".join(f'"{name}"' for name in LEVELS[data]),
        strata=by,
        method=method,
        epsilon=epsilon,
        options=f", {options}" if options else "",
    )
    command = [sys.executable, __file__, "--one", statement, "--vault", str(vault)]
    paths = ":".join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, **compiled(vault.parent)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    inside = columns_of("both", data) if data == "census" else ()
    found = json.loads(done.stdout)
    return found | (errors(vault, data, inside) if data != "wide" else errors_of_pairs(vault))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="census", choices=list(SQL))
    parser.add_argument("--methods", nargs="*", default=[], help="independent mst mwem aim; all")
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0])
    parser.add_argument("--strata", nargs="+", choices=STRATA, default=["", "both"])
    parser.add_argument("--options", default="", help="more OPTIONS, as in SQL")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--vault", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--all-tables", action="store_true", help="every table of ../shared/data")
    parser.add_argument("--tables", nargs="*", default=[], help="with --all-tables: these alone")
    parser.add_argument("--rows", type=int, default=20_000, help="with --all-tables: of a table")
    parser.add_argument("--lines", type=Path, help="with --all-tables: append JSON lines there")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.vault, given.one)))
        return
    if given.all_tables:
        every = given.methods or METHODS
        print_all(given.tables, every, given.epsilons, given.rows, given.options, given.lines)
        return
    names = ("cpu", "wall", "peak", "2-way", "3-way", "inside")
    print(f"{'method':<12}{'epsilon':>8}{'strata':>7}" + "".join(f"{n:>9}" for n in names))
    with tempfile.TemporaryDirectory() as folder:
        vault = built(Path(folder), given.data)
        methods = given.methods or ["independent", "mst", "mwem", "aim"]
        asked = itertools.product(methods, given.epsilons, given.strata)
        for method, epsilon, strata in asked:
            row = measured(vault, given.data, method, epsilon, strata, given.options)
            shown = "".join(f"{row.get(n, float('nan')):9.4f}" for n in names)
            print(f"{method:<12}{epsilon:>8g}{strata or '-':>7}{shown}", flush=True)


if __name__ == "__main__":
    main()
