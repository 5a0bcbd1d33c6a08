"""`python tests/bench/long_lists.py EPSILON METHOD …`: what a long list keeps of another column.

Generated rows: a code, most of few rows; its area, of ten, in nine rows of ten; an amount by area;
two columns of two and three levels. Side by side, codes of one area are neighbours in the declared
list; apart, every tenth code is of one area. Printed: the share of rows whose code and area belong
together, and CPU seconds of the statement; with `--wide N` CPU seconds for N columns of six levels.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

from sqlpriv.errors import Error
from sqlpriv.session.session import Session

ROWS, CODES, AREAS = 20_000, 2_000, 10
AREA = {"side by side": f"code // {CODES // AREAS}", "apart": f"code % {AREAS}"}
LISTED = """
CREATE TABLE people AS SELECT i AS id, 'k' || code AS code, area,
    (area * 10 + hash(i, 7) % 30)::INT AS amount, (hash(i, 8) % 2)::INT AS sex,
    (hash(i, 9) % 3)::INT AS kind
FROM (SELECT i, code,
          (CASE WHEN hash(i, 5) % 10 < 9 THEN {area} ELSE hash(i, 6) % {areas} END)::INT AS area
      FROM (SELECT i, floor({codes} * pow((hash(i) % 100000) / 100000.0, 3))::INT AS code
            FROM range({rows}) t(i)));
"""
WIDE = "CREATE TABLE people AS SELECT i AS id, {columns} FROM range({rows}) t(i);"
OWNED = """
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
"""


def build(folder: Path, order: str, wide: int) -> tuple[Path, list[str]]:
    """Returns a vault and the columns to be made; `order` '' for the one of `wide` columns."""
    vault = folder / "people.duckdb"
    if order:
        make = LISTED.format(area=AREA[order], areas=AREAS, codes=CODES, rows=ROWS)
        codes = ", ".join(f"'k{i}'" for i in range(CODES))
        domains = {"code": f"IN ({codes})", "area": f"BETWEEN (0, {AREAS - 1})", "sex": "IN (0, 1)"}
        domains |= {"amount": "BETWEEN (0, 130)", "kind": "IN (0, 1, 2)"}
    else:
        each = "((hash(i, {c} // 4) % 6 + hash(i, {c} + 1000) % 2) % 6)::INT AS c{c}"
        make = WIDE.format(columns=", ".join(each.format(c=c) for c in range(wide)), rows=ROWS)
        domains = {f"c{c}": "BETWEEN (0, 5)" for c in range(wide)}
    alter = "ALTER TABLE people ALTER COLUMN {} SET PRIVACY DOMAIN {};"
    declare = [alter.format(name, domain) for name, domain in domains.items()]
    with Session(vault, role="owner") as owner:
        owner.run(make + OWNED + "".join(declare))
    return vault, list(domains)


def kept(file: Path, table: str, order: str) -> float:
    """Returns the share of rows whose area is that of their code."""
    with duckdb.connect(str(file), read_only=True) as engine:
        coded = f"SELECT substr(code, 2)::INT AS code, area FROM {table}"
        query = f"SELECT avg((area = {AREA[order]})::INT) FROM ({coded})"
        return float(engine.execute(query).fetchall()[0][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("epsilon", type=float)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--wide", type=int, default=0, help="columns of six levels")
    given = parser.parse_args()
    for order in [""] if given.wide else AREA:
        with tempfile.TemporaryDirectory() as folder:
            vault, columns = build(Path(folder), order, given.wide)
            if order:
                print(f"{order}: real rows {kept(vault, 'people', order):.3f}", flush=True)
            for method in given.methods:
                select = f"SELECT {', '.join(columns)} FROM people"
                using = f'USING "{method}" OPTIONS (epsilon = {given.epsilon})'
                session, began = Session(vault, role="analyst"), time.process_time()
                try:
                    session.execute(f"CREATE OR REPLACE SYNTHETIC TABLE made AS {select} {using}")
                except Error as refusal:
                    print(f"{method:<12} {str(refusal).splitlines()[0]}", flush=True)
                    continue
                finally:
                    session.close()
                share = kept(vault.with_suffix(".release.duckdb"), "made", order) if order else 0.0
                shown = f" {share:.3f}" if order else ""
                print(f"{method:<12}{shown} {time.process_time() - began:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
