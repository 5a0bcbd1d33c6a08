"""`python tests/bench/linked.py [EPSILON] [METHOD]`: linked synthetic tables and independent ones.

Tables: planes and their flights (nycflights, the unit is a plane, `../shared/data`), and generated
customers with orders and items. Independent: each table by itself at the same part of the price,
its rows dealt to parents at random. Printed: half the L1 distance to the true shares, 0 to 1, of
children per parent and, on average over pairs, of a child's column by a parent's column (numbers
in eight groups of equally many true rows), and CPU seconds.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from sqlpriv.session.session import Session

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FLIGHTS = f"""
CREATE TABLE planes (tailnum VARCHAR PRIMARY KEY, type VARCHAR, engine VARCHAR, engines INT,
    seats INT);
INSERT INTO planes SELECT tailnum, type, engine, engines, seats
    FROM '{DATA}/nycflights_planes.parquet';
CREATE TABLE flights AS SELECT row_number() OVER () AS flight_number, tailnum, month, origin,
    carrier, distance, arr_delay FROM '{DATA}/nycflights_flights.parquet'
    WHERE tailnum IN (SELECT tailnum FROM planes);
ALTER TABLE flights ADD PRIMARY KEY (flight_number);
ALTER TABLE planes SET PRIVACY (KEY (tailnum), BUDGET (epsilon = 1000, delta = 1e-9),
    COLUMN type IN ('Fixed wing multi engine', 'Fixed wing single engine', 'Rotorcraft'),
    COLUMN engine IN ('Turbo-fan', 'Turbo-jet', 'Turbo-prop', 'Turbo-shaft', 'Reciprocating',
                      '4 Cycle'),
    COLUMN engines BETWEEN (1, 4), COLUMN seats BETWEEN (1, 500));
ALTER TABLE flights SET PRIVACY (BOUND (rows_per_unit = 600), LINK (tailnum) REFERENCES
    planes(tailnum), COLUMN month BETWEEN (1, 12), COLUMN origin IN ('EWR', 'JFK', 'LGA'),
    COLUMN carrier IN ({{carriers}}), COLUMN distance BETWEEN (0, 5000),
    COLUMN arr_delay BETWEEN (-120, 1300) OR NULL);
"""
ORDERS = """
CREATE TABLE customers AS SELECT i AS id, (hash(i) % 5)::INT AS region,
    (18 + hash(i, 1) % 70)::INT AS age FROM range(20000) t(i);
ALTER TABLE customers ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT row_number() OVER () AS number, id AS customer,
    (CASE WHEN age > 50 AND hash(id, j, 2) % 4 < 3 THEN 'book' WHEN hash(id, j, 3) % 2 = 0
     THEN 'game' ELSE 'toy' END) AS kind, round(5 + region * 10 + hash(id, j, 4) % 4000 / 100, 2)
     AS price FROM customers, range(12) t(j) WHERE j < hash(id, 5) % (2 + 2 * region);
ALTER TABLE orders ADD PRIMARY KEY (number);
CREATE TABLE items AS SELECT row_number() OVER () AS line, number,
    (1 + hash(number, j) % (CASE kind WHEN 'book' THEN 2 ELSE 6 END))::INT AS pieces
    FROM orders, range(5) t(j) WHERE j < 1 + hash(number, 9) % (CASE kind WHEN 'toy' THEN 5 ELSE 2
    END);
ALTER TABLE items ADD PRIMARY KEY (line);
ALTER TABLE customers SET PRIVACY (KEY (id), BUDGET (epsilon = 1000, delta = 1e-9),
    COLUMN region BETWEEN (0, 4), COLUMN age BETWEEN (18, 90));
ALTER TABLE orders SET PRIVACY (BOUND (rows_per_unit = 12), LINK (customer) REFERENCES
    customers(id), COLUMN kind IN ('book', 'game', 'toy'), COLUMN price BETWEEN (0, 100));
ALTER TABLE items SET PRIVACY (BOUND (rows_per_unit = 60), LINK (number) REFERENCES
    orders(number), COLUMN pieces BETWEEN (1, 6));
"""
SCHEMAS = {
    "flights": (FLIGHTS, (("planes", "flights", "tailnum", "tailnum"),)),
    "orders": (
        ORDERS,
        (("customers", "orders", "id", "customer"), ("orders", "items", "number", "number")),
    ),
}
Link = tuple[str, str, str, str]
LEVELS = 8


def read_tables(file: Path, prefix: str, links: Sequence[Link]) -> dict[str, pd.DataFrame]:
    """Returns every table of a schema."""
    names = dict.fromkeys(name for parent, child, *_ in links for name in (parent, child))
    with duckdb.connect(str(file), read_only=True) as reader:
        return {name: reader.execute(f'FROM "{prefix}{name}"').df() for name in names}


def codes_of(true: pd.Series, made: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Returns a column's codes in both tables: of values, or of groups of true ones."""
    if pd.api.types.is_numeric_dtype(true) and true.nunique() > LEVELS:
        edges = np.unique(np.nanquantile(true, np.linspace(0, 1, LEVELS + 1)[1:-1]))
        return tuple(
            np.where(x.isna(), -1, np.searchsorted(edges, x, "right")) for x in (true, made)
        )
    codes, _ = pd.factorize(pd.concat([true, made]), use_na_sentinel=False)
    return codes[: len(true)], codes[len(true) :]


def distance(true: Sequence[np.ndarray], made: Sequence[np.ndarray]) -> float:
    """Returns half the L1 distance of the joint shares."""
    tables = [pd.DataFrame(dict(enumerate(codes))) for codes in (true, made)]
    shares = [table.value_counts(normalize=True) for table in tables]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def errors(
    true: dict[str, pd.DataFrame], made: dict[str, pd.DataFrame], link: Link, modelled: set[str]
) -> tuple[float, float]:
    """Returns the errors of children per parent, and of child columns by parent columns."""
    parent, child, key, column = link
    sizes = [t[parent][key].map(t[child][column].value_counts()).fillna(0) for t in (true, made)]
    joined = [
        t[child].merge(t[parent], left_on=column, right_on=key, suffixes=("", " of parent"))
        for t in (true, made)
    ]
    pairs = []
    for mine, theirs in itertools.product(true[child], true[parent]):
        if mine in modelled and theirs in modelled:
            codes = [codes_of(joined[0][c], joined[1][c]) for c in (mine, theirs)]
            pairs.append(distance([c[0] for c in codes], [c[1] for c in codes]))
    each = codes_of(sizes[0], sizes[1])
    return distance([each[0]], [each[1]]), float(np.mean(pairs))


def make_independent(
    session: Session, columns: dict[str, list[str]], price: float, method: str
) -> None:
    """Makes each table by itself."""
    for name, selected in columns.items():
        session.execute(
            f"CREATE OR REPLACE SYNTHETIC TABLE i_{name} AS SELECT {', '.join(selected)}"
            f" FROM {name} USING {method} OPTIONS (epsilon = {price})"
        )


def linked_at_random(
    tables: dict[str, pd.DataFrame], links: Sequence[Link]
) -> dict[str, pd.DataFrame]:
    """Returns the tables with keys, and links drawn at random."""
    rng = np.random.default_rng(1)
    dealt = {name: table.copy() for name, table in tables.items()}
    for parent, child, key, column in links:
        dealt[parent][key] = np.arange(len(dealt[parent]))
        dealt[child][column] = rng.integers(0, len(dealt[parent]), len(dealt[child]))
    return dealt


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("epsilon", type=float, nargs="?", default=1.0)
    arguments.add_argument("method", nargs="?", default="aim")
    given = arguments.parse_args()
    print(f"{'parent → child':<22}{'':14}{'children each':>15}{'by parent':>12}{'CPU s':>8}")
    for name, (script, links) in SCHEMAS.items():
        with tempfile.TemporaryDirectory() as folder:
            vault = Path(folder) / f"{name}.duckdb"
            if name == "flights":
                listed = duckdb.sql(
                    f"SELECT DISTINCT carrier FROM '{DATA}/nycflights_flights.parquet' ORDER BY 1"
                ).fetchall()
                script = script.format(carriers=", ".join(f"'{c}'" for (c,) in listed))
            with Session(vault, role="owner") as owner:
                owner.run(script)
            tables = list(dict.fromkeys(t for link in links for t in link[:2]))
            with Session(vault) as analyst:
                began = time.process_time()
                analyst.execute(
                    f"CREATE SYNTHETIC SCHEMA s AS TABLES {', '.join(tables)}"
                    f" USING {given.method} OPTIONS (epsilon = {given.epsilon})"
                )
                linked_time = time.process_time() - began
                contracts = {c.lower(): x for c, x in analyst.catalog().released.items()}
                keys = {x for link in links for x in link[2:]} | {"flight_number", "line"}
                columns = {t: [c for c in contracts[f"s_{t}"] if c not in keys] for t in tables}
                began = time.process_time()
                price = given.epsilon / len(tables)
                make_independent(analyst, columns, price, given.method)
                alone_time = time.process_time() - began
            true = read_tables(vault, "", links)
            release = vault.with_suffix(".release.duckdb")
            made = {
                "linked": (read_tables(release, "s_", links), linked_time),
                "independent": (
                    linked_at_random(read_tables(release, "i_", links), links),
                    alone_time,
                ),
            }
            modelled = {c for names in columns.values() for c in names}
            for link in links:
                for kind, (rows, seconds) in made.items():
                    each, by_parent = errors(true, rows, link, modelled)
                    label = f"{link[0]} → {link[1]}" if kind == "linked" else ""
                    print(f"{label:<22}{kind:<14}{each:>15.3f}{by_parent:>12.3f}{seconds:>8.1f}")


if __name__ == "__main__":
    main()
