"""Random tables of every type that people have, odd ones among them: see `hostile.py --wild`.

Beside the kinds of `random_tables` a column may be a TIME, a TIMESTAMPTZ, a HUGEINT, a listed UUID,
a long text, all NULL, a list of 2,000 values, a FLOAT, dates centuries apart, or have a domain that
hardly holds its values. Every fourth table has no row, one row, 100 narrow columns, or one column
beside the strata's; the others have up to 12 columns and 20 to 20,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from bench.tables import random_tables
from bench.tables.hostile_tables import Hostile
from bench.tables.random_tables import sometimes_null, uniform

Drawn = random_tables.Drawn
EVERY_FOURTH = ("no row", "one row", "100 columns", "one column")
MOST_COLUMNS, MOST_ROWS = 12, 20_000


def wild_table(seed: int) -> Hostile:
    """Returns a table: the same for the same seed."""
    rng = np.random.default_rng(seed)
    shape = EVERY_FOURTH[seed // 4 % len(EVERY_FOURTH)] if seed % 4 == 3 else ""
    rows = int(np.exp(rng.uniform(np.log(20), np.log(MOST_ROWS))))
    rows = {"no row": 0, "one row": 1, "100 columns": 2_000}.get(shape, rows)
    count = {"100 columns": 99, "one column": 1}.get(shape, int(rng.integers(2, MOST_COLUMNS)))
    kinds = NARROW if shape == "100 columns" else (*random_tables.KINDS, *ODD, *ODD)
    columns, domains = {"s": "(i % 3)::INT"}, {"s": "IN (0, 1, 2)"}
    for c, latent in zip(range(count), _latents(rng), strict=False):
        kind = kinds[int(rng.integers(len(kinds)))]
        name = f"{kind.__name__.strip('_')}{c}"
        sql, domain = kind(latent, rng)
        if domain and rng.random() < 0.2:
            sql = sometimes_null(sql, rng)
            if rng.random() < 0.8 and "NULL" not in domain:
                listed = domain.startswith("IN")
                domain = f"{domain[:-1]}, NULL)" if listed else f"{domain} OR NULL"
        columns[name] = sql
        if domain:
            domains[name] = domain
    return Hostile(columns, domains, "s", rows)


def _latents(rng: np.random.Generator) -> Iterator[str]:
    """Yields SQL of numbers above 0 and below 1, of which some go together."""
    shared = uniform(rng)
    while True:
        own = uniform(rng)
        yield own if rng.random() < 0.4 else f"(({shared} + 0.5 * {own}) / 1.5)"


def _time(u: str, _rng: np.random.Generator) -> Drawn:
    return f"TIME '00:00' + to_seconds(floor(86399 * {u})::BIGINT)", ""


def _zoned(u: str, rng: np.random.Generator) -> Drawn:
    seconds = int(10 ** rng.uniform(3, 9))
    sql = f"TIMESTAMPTZ '1990-01-01 00:00+00' + to_seconds(floor({seconds} * {u})::BIGINT)"
    return sql, "BETWEEN ('1980-01-01', '2040-01-01')"


def _huge(u: str, rng: np.random.Generator) -> Drawn:
    power = int(rng.integers(6, 16))
    top = 10**power
    return f"floor({top} * pow({u}, 4))::HUGEINT", f"BETWEEN (0, {top})"


def _listed_uuid(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(rng.integers(2, 30))
    head = "00000000-0000-0000-0000-0000000000"
    labels = ", ".join(f"'{head}{k:02d}'" for k in range(levels))
    number = f"lpad((floor({levels} * {u})::INT)::VARCHAR, 2, '0')"
    return f"('{head}' || {number})::UUID", f"IN ({labels})"


def _long_text(u: str, rng: np.random.Generator) -> Drawn:
    levels, length = int(rng.integers(2, 12)), int(rng.integers(200, 5_000))
    labels = ", ".join(f"'{chr(97 + k) * length}'" for k in range(levels))
    return f"repeat(chr(97 + floor({levels} * {u})::INT), {length})", f"IN ({labels})"


def _nothing(_u: str, rng: np.random.Generator) -> Drawn:
    kind, domain = (
        ("INT", "BETWEEN (0, 9) OR NULL"),
        ("DOUBLE", "BETWEEN (0, 1e6) OR NULL"),
        ("VARCHAR", "IN ('a', 'b', NULL)"),
        ("DATE", "BETWEEN (DATE '2000-01-01', DATE '2030-01-01') OR NULL"),
    )[int(rng.integers(4))]
    return f"NULL::{kind}", domain


def _codes(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(rng.choice([300, 1_000, 2_000]))
    labels = ", ".join(f"'k{k:04d}'" for k in range(levels))
    return f"'k' || lpad((floor({levels} * pow({u}, 2))::INT)::VARCHAR, 4, '0')", f"IN ({labels})"


def _float(u: str, rng: np.random.Generator) -> Drawn:
    scale = 10 ** rng.uniform(-6, 6)
    return f"({scale:.6g} * {u} / (1.001 - {u}))::FLOAT", f"BETWEEN (0, {1000 * scale:.6g})"


def _far_dates(u: str, rng: np.random.Generator) -> Drawn:
    sql = f"CASE WHEN {u} < {rng.uniform(0.001, 0.3):.3f} THEN DATE '1900-01-01'"
    sql += f" WHEN {u} > 0.95 THEN DATE '9999-12-31'"
    sql += f" ELSE DATE '2020-01-01' + floor(900 * {u})::INT END"
    return sql, "BETWEEN (DATE '1900-01-01', DATE '9999-12-31')"


def _wrong(u: str, rng: np.random.Generator) -> Drawn:
    low, high = sorted(int(x) for x in rng.integers(0, 2_000, 2))
    return f"floor(1000 * {u})::INT", f"BETWEEN ({low}, {high})"


def _wrong_list(u: str, rng: np.random.Generator) -> Drawn:
    listed = ", ".join(f"'w{k}'" for k in range(int(rng.integers(1, 20)), 25))
    return f"'w' || floor(30 * {u})::INT", f"IN ({listed})"


def _power_law(u: str, rng: np.random.Generator) -> Drawn:
    return f"floor(pow({u}, {-rng.uniform(0.3, 1.2):.3f}))::BIGINT", "BETWEEN (0, 1000000000)"


def _log_normal(u: str, rng: np.random.Generator) -> Drawn:
    other = uniform(rng)
    normal = f"(sqrt(-2 * ln({u})) * cos(6.2831853 * {other}))"
    return f"(exp({rng.uniform(0, 8):.3f} + {rng.uniform(0.5, 2):.3f} * {normal}))::DOUBLE", (
        "BETWEEN (0, 1e8)"
    )


def _sentinel(u: str, rng: np.random.Generator) -> Drawn:
    code = int(rng.choice([-9, -1, 999, 9999]))
    share = rng.uniform(0.01, 0.6)
    sql = f"CASE WHEN {uniform(rng)} < {share:.3f} THEN {code} ELSE floor(90 * {u}) END::INT"
    return sql, "BETWEEN (-10, 10000)"


ODD: tuple[Callable[[str, np.random.Generator], Drawn], ...] = (
    _time,
    _zoned,
    _huge,
    _listed_uuid,
    _long_text,
    _nothing,
    _codes,
    _float,
    _far_dates,
    _wrong,
    _wrong_list,
    _power_law,
    _log_normal,
    _sentinel,
)
NARROW = (random_tables._small, random_tables._flag, random_tables._constant, random_tables._zeros)
