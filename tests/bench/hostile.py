"""`python tests/bench/hostile.py`: small hostile tables through every method, by public SQL.

Each table of `tables/hostile_tables.py` is synthesized by each method, without strata and with
STRATIFY BY, at each epsilon. With `--random FIRST LAST` it is those of `tables/random_tables.py`,
with `--wild FIRST LAST` those of `tables/wild_tables.py`, with `--mixed FIRST LAST` those of
`tables/mixed_tables.py`. A line is printed for each statement that breaks what holds of all: an
exception that is not one of ours, a published type other than the private one, a value outside the
declared domain, more than LIMIT_S seconds of processor time, also for a refusal, a number of rows
that noise does not explain, values off a step that all private ones are multiples of, zeros or
NULLs of many rows that are lost, or a grade that is better than the error of pairs of columns. The
end tells how many statements were made, refused (with the reasons) and broken. `--some N` takes
every Nth combination of method, epsilon and strata, from a place that depends on the table.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import re
import signal
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
import pandas as pd
from bench.tables.every_table import predict_errors
from bench.tables.figures import marginal_errors, read_frame
from bench.tables.hostile_tables import Hostile, hostile_tables
from bench.tables.mixed_tables import mixed_table
from bench.tables.random_tables import random_table
from bench.tables.wild_tables import wild_table

from sqlpriv.errors import Error
from sqlpriv.session.session import Session
from sqlpriv.statements import quote_name
from sqlpriv.synth.quality.quality_line import GRADES
from sqlpriv.synth.registry import REGISTRY

LIMIT_S = 60
MOST_PAIRS = 100
"""Of columns, of which the error is measured."""
LOST = 0.05
"""The part of a table's rows that are zero, or NULL, from which on half of them must be drawn."""
OWNED = """
ALTER TABLE t ADD PRIMARY KEY (id);
ALTER TABLE t ADD PRIVACY_KEY (id);
ALTER TABLE t SET PU;
ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1000000, delta = 1e-9, keys_delta = 1e-6);
"""
QUICK = {
    "gem": "rounds = 2, steps = 50, components = 50",
    "rap": "tables = 4, steps = 50, points = 100",
    "rap++": "tables = 4, steps = 50, points = 100",
    "dpmerf": "features = 50, steps = 100, points = 100",
}
"""Options of methods that compile for each domain."""


def build(folder: Path, table: Hostile) -> Path:
    """Returns a vault of the table."""
    vault = folder / "t.duckdb"
    named = ", ".join(f"{e} AS {quote_name(n)}" for n, e in table.columns.items())
    with duckdb.connect(str(vault)) as engine:
        engine.execute(f"CREATE TABLE t AS SELECT i AS id, {named} FROM range({table.rows}) r(i)")
    alter = "ALTER TABLE t ALTER COLUMN {} SET PRIVACY DOMAIN {};"
    with Session(vault, role="owner") as owner:
        owner.run(OWNED + "".join(alter.format(quote_name(n), d) for n, d in table.domains.items()))
    return vault


def predicate(column: str, domain: str) -> str:
    """Returns SQL that is true of the domain's values."""
    null = f" OR {column} IS NULL" if "NULL" in domain.removesuffix("'NULL'") else ""
    if domain.startswith("BETWEEN"):
        low, high = domain[9 : domain.rindex(")")].split(", ")
        return f"{column} BETWEEN {low} AND {high}{null}"
    return f"{column} {domain}{null}"


def write_declared(vault: Path, table: Hostile) -> Path:
    """Returns a file of the private rows that take part, numbers clamped into their intervals."""
    file = vault.with_name("declared.duckdb")
    file.unlink(missing_ok=True)
    columns, conditions = [], ["true"]
    with duckdb.connect(str(file)) as engine:
        engine.execute(f"ATTACH '{vault}' AS vault (READ_ONLY)")
        for name, kind, *_ in engine.execute("DESCRIBE vault.t").fetchall():
            quoted, domain = quote_name(name), table.domains.get(name, "")
            value = quoted
            if domain.startswith("BETWEEN"):
                low, high = domain[9 : domain.rindex(")")].split(", ")
                value = f"least(greatest({quoted}, {low}), {high})::{kind}"
                value = f"CASE WHEN {quoted} IS NOT NULL THEN {value} END"
                conditions += [f"{quoted} IS NOT NULL"] * ("NULL" not in domain)
            elif domain:
                conditions.append(f"({predicate(quoted, domain)}) IS TRUE")
            columns.append(f"{value} AS {quoted}")
        where = " AND ".join(conditions)
        engine.execute(f"CREATE TABLE t AS SELECT {', '.join(columns)} FROM vault.t WHERE {where}")
    return file


Line = dict[str, Any]


def flaws(vault: Path, table: Hostile) -> list[str]:
    """Returns what is wrong with the table `made`."""
    found = []
    with duckdb.connect(str(vault), read_only=True) as engine:
        private = {n: t for n, t, *_ in engine.execute("DESCRIBE t").fetchall()}
    with duckdb.connect(str(vault.with_suffix(".release.duckdb")), read_only=True) as engine:
        types = {n: t for n, t, *_ in engine.execute("DESCRIBE made").fetchall()}
        if missing := set(table.columns) - set(types):
            found.append(f"{missing} are missing")
        for name, kind in types.items():
            enums = kind.startswith("ENUM(") and private[name].startswith("ENUM(")
            if kind != private[name] and not enums:  # labels are the declared ones
                found.append(f"{name} is {kind}, not {private[name]}")
            if name in table.domains:
                inside = predicate(quote_name(name), table.domains[name])
                bad = f"SELECT {quote_name(name)} FROM made WHERE ({inside}) IS NOT TRUE LIMIT 1"
                found += [f"{name} holds {x!r}" for (x,) in engine.execute(bad).fetchall()]
    return found


def flaws_of_rows(
    vault: Path, table: Hostile, epsilon: float, message: str, line: Line
) -> list[str]:
    """Returns what is wrong with the rows of the table `made`, beside the private rows as declared;
    adds its errors to `line`."""
    wide = [n for n, domain in table.domains.items() if domain.startswith("BETWEEN")]
    names = list(table.domains)
    real = read_frame(write_declared(vault, table), "t", names)
    rows = len(real)
    drawn = read_frame(vault.with_suffix(".release.duckdb"), "made", names)
    problems = []
    if line["method"] != "stability" and abs(len(drawn) - rows) > (150 / epsilon + 0.02 * rows):
        problems.append(f"{len(drawn)} rows for {rows}")
    for name in wide:
        values, fake = (x[name].dropna().to_numpy() for x in (real, drawn))
        if rows >= 5_000 and epsilon >= 1 and len(fake) and (values % 1 == 0).all():
            step = int(np.gcd.reduce(values.astype(np.int64)))
            if step > 1 and (off := float(np.mean(fake % step != 0))) > 0.05:
                problems.append(f"{name}: {off:.0%} are no multiples of {step}")
    line["apart"] = {name: apart(real[name], drawn[name]) for name in wide} if len(drawn) else {}
    if rows >= 2_000 and epsilon >= 1:
        for name, (_, _, *shares) in line["apart"].items():
            for what, (before, now) in zip(("zeros", "NULLs"), shares, strict=True):
                if before >= LOST and now < before / 2:
                    problems.append(f"{name}: {now:.1%} of rows are {what}, of {before:.1%}")
    many = [n for n in wide if real[n].nunique() > 40]
    line |= {f"{k}-way": e for k, e in marginal_errors(real, drawn, many, MOST_PAIRS).items()}
    word = re.findall(r"quality: ([a-z ]+):", message)
    line |= {"rows": rows, "columns": len(table.columns), "drawn": len(drawn), "grade": word}
    most = {grade: end for end, grade in GRADES}.get(word[0] if word else "", 1.0)
    if line.get("2-way", 0) > 1.5 * most:
        problems.append(f"graded {word}, error of pairs {line['2-way']:.3f}")
    return problems


def apart(
    real: pd.Series, drawn: pd.Series
) -> tuple[float, float, tuple[float, float], tuple[float, float]]:
    """Returns how far the mean is off, in standard deviations, the drawn standard deviation by the
    real one, and the shares of zeros and of NULLs among the real and the drawn rows."""
    values, fake = real.dropna().to_numpy(float), drawn.dropna().to_numpy(float)
    spread = max(float(values.std()), 1e-12) if len(values) else 1.0
    off, ratio = np.nan, np.nan
    if len(values) and len(fake):
        off, ratio = (float(fake.mean()) - float(values.mean())) / spread, fake.std() / spread
    zeros, missing = (
        tuple(float(np.mean(x)) for x in pair)
        for pair in ((real == 0, drawn == 0), (real.isna(), drawn.isna()))
    )
    return off, float(ratio), zeros, missing


def run(
    vault: Path, table: Hostile, sql: str, what: str, verbose: bool, line: Line | None = None
) -> str:
    """Runs a statement, prints what it breaks, and returns how it ended; a line is filled in for a
    random table alone."""
    session = Session(vault, role="analyst")
    if line is not None:
        session.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 50) COUNT(*) FROM t")
        line |= predict_errors(session, sql)
    began = time.process_time()
    signal.alarm(10 * LIMIT_S)
    try:
        message = session.execute(sql).message
    except Error as refusal:
        if (seconds := time.process_time() - began) > LIMIT_S:
            print(f"{what}: refused after {seconds:.0f} CPU s: {refusal}", flush=True)
        return f"refused: {str(refusal).splitlines()[0]}"
    except Exception:
        print(f"{what}: TRACEBACK\n{traceback.format_exc()[-1500:]}", flush=True)
        return "broken"
    finally:
        signal.alarm(0)
        session.close()
    seconds, found = time.process_time() - began, flaws(vault, table)
    if seconds > LIMIT_S:
        found.append(f"{seconds:.0f} CPU s")
    if line is not None:
        line |= {"cpu": seconds, "message": message}
        found += flaws_of_rows(vault, table, line["epsilon"], message, line)
    if verbose or found:
        print(f"{what}: {seconds:.1f} CPU s: {'; '.join(found)}\n{message}", flush=True)
    return "broken" if found else "made"


def main() -> None:
    tables = hostile_tables()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=[m for m in REGISTRY if m != "topdown"])
    parser.add_argument("--tables", nargs="+", default=list(tables))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.001, 1.0])
    parser.add_argument("--plain", action="store_true", help="without strata alone")
    parser.add_argument("--verbose", action="store_true", help="what every statement tells")
    parser.add_argument("--random", nargs=2, type=int, help="random tables, by first and last seed")
    parser.add_argument("--wild", nargs=2, type=int, help="wild tables, by first and last seed")
    parser.add_argument("--mixed", nargs=2, type=int, help="mixed tables, by first and last seed")
    parser.add_argument("--some", type=int, default=1, help="every Nth statement of a table")
    parser.add_argument("--lines", type=Path, help="of drawn tables: append JSON lines there")
    given = parser.parse_args()
    kinds = {"random": random_table, "wild": wild_table, "mixed": mixed_table}
    drawn = given.random or given.wild or given.mixed
    if drawn:
        kind, draw = next((k, f) for k, f in kinds.items() if getattr(given, k))
        tables = {f"{kind} {k}": draw(k) for k in range(drawn[0], drawn[1] + 1)}
        given.tables = list(tables)
    ends: collections.Counter[str] = collections.Counter()
    for name in given.tables:
        table = tables[name]
        columns = ", ".join(map(quote_name, table.columns))
        with tempfile.TemporaryDirectory() as folder:
            vault = build(Path(folder), table)
            strata = ("",) if given.plain else ("", f" STRATIFY BY {table.strata}")
            every = itertools.product(given.methods, given.epsilons, strata)
            begin = zlib.crc32(name.encode()) % given.some
            for method, epsilon, by in itertools.islice(every, begin, None, given.some):
                more = f", {QUICK[method]}" if method in QUICK else ""
                using = f'USING "{method}" OPTIONS (epsilon = {epsilon}{more})'
                sql = (
                    f"CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {columns} FROM t{by} {using}"
                )
                what = f"{name}, {method}, epsilon {epsilon:g}{by}"
                line = {"table": name, "method": method, "epsilon": epsilon, "strata": by}
                end = run(vault, table, sql, what, given.verbose, line if drawn else None)
                ends[end] += 1
                if given.lines:
                    with given.lines.open("a") as appended:
                        appended.write(json.dumps(line | {"end": end}, default=float) + "\n")
    for end, count in ends.most_common():
        print(f"{count:6} {end}")


def _stop(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _stop)
    main()
