"""Random tables of mixed columns, as text: see `tests/bench/hostile.py --random`.

Every column is drawn from KINDS: skewed, zero-inflated and round whole numbers, reals, DECIMALs,
dates and times in wide domains, text of few and of many values, ENUM, BOOLEAN, UUID, constants and
copies of earlier columns; one in four has NULLs. A table has 2 to 60 columns and 50 to 200,000
rows, each drawn by its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bench.tables.hostile_tables import Hostile

MOST_COLUMNS, MOST_ROWS = 60, 200_000
PRIME = 1_000_003

Drawn = tuple[str, str]
"""SQL of a column over `i`, and what stands after SET PRIVACY DOMAIN."""


def random_table(
    seed: int, most_columns: int = MOST_COLUMNS, most_rows: int = MOST_ROWS
) -> Hostile:
    """Returns a table: the same for the same arguments."""
    rng = np.random.default_rng(seed)
    count = int(np.exp(rng.uniform(np.log(2), np.log(most_columns + 1))))
    rows = int(np.exp(rng.uniform(np.log(50), np.log(most_rows))))
    columns, domains = {"s": "(i % 3)::INT"}, {"s": "IN (0, 1, 2)"}
    latent = uniform(rng)
    for c in range(count - 1):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        name = f"{kind.__name__.strip('_')}{c}"
        own = uniform(rng)
        source = own if rng.random() < 0.4 else f"(({latent} + 0.5 * {own}) / 1.5)"
        if kind is _copy and len(columns) > 1:
            original = list(columns)[int(rng.integers(1, len(columns)))]
            columns[name] = columns[original]
            if original in domains:
                domains[name] = domains[original]
            continue
        sql, domain = kind(source, rng)
        if domain and rng.random() < 0.25:
            sql = sometimes_null(sql, rng)
            domain = f"{domain[:-1]}, NULL)" if domain.startswith("IN") else f"{domain} OR NULL"
        columns[name] = sql
        if domain:
            domains[name] = domain
    return Hostile(columns, domains, "s", rows)


def uniform(rng: np.random.Generator) -> str:
    """Returns SQL of a number above 0 and below 1."""
    return f"((hash(i, {rng.integers(10**6)}) % {PRIME} + 0.5) / {PRIME})"


def sometimes_null(sql: str, rng: np.random.Generator) -> str:
    """Returns SQL of a value, which is NULL in a part of the rows, from .01 to .9 of them."""
    return f"CASE WHEN {uniform(rng)} < {rng.uniform(0.01, 0.9):.3f} THEN NULL ELSE {sql} END"


def _skewed(u: str, rng: np.random.Generator) -> Drawn:
    scale, power = 10 ** rng.uniform(0, 4), rng.uniform(0.3, 2)
    top = int(10 ** np.ceil(np.log10(scale) + rng.uniform(0.5, 3)))
    return (
        f"least(floor({scale:.3f} * pow(-ln({u}), {power:.3f})), {top})::INT",
        f"BETWEEN (0, {top})",
    )


def _zeros(u: str, rng: np.random.Generator) -> Drawn:
    share, top = rng.uniform(0.3, 0.99), int(10 ** rng.integers(2, 7))
    sql = f"CASE WHEN {u} < {share:.4f} THEN 0 ELSE floor({top} * pow({u}, 8)) END::INT"
    return sql, f"BETWEEN ({rng.choice([0, -top])}, {top})"


def _rounded(u: str, rng: np.random.Generator) -> Drawn:
    step = int(rng.choice([5, 10, 100, 250, 1000]))
    return f"({step} * floor(80 * {u}))::INT", f"BETWEEN (0, {step * 100})"


def _small(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(rng.integers(2, 20))
    return f"floor({levels} * pow({u}, 2))::TINYINT", f"BETWEEN (0, {levels - 1})"


def _real(u: str, rng: np.random.Generator) -> Drawn:
    low = float(rng.choice([0, -1, -1000]))
    return (
        f"({low} + {rng.uniform(1, 100):.3f} * {u} * {u})::DOUBLE",
        f"BETWEEN ({low}, {low + 200})",
    )


def _decimal(u: str, rng: np.random.Generator) -> Drawn:
    digits = int(rng.choice([1, 2, 4]))
    top = 10 ** int(rng.integers(2, 6))
    return f"({top} * pow({u}, 3))::DECIMAL(12,{digits})", f"BETWEEN (0, {top})"


def _date(u: str, rng: np.random.Generator) -> Drawn:
    first, days = 1900 + int(rng.integers(0, 110)), int(10 ** rng.uniform(1, 4.5))
    domain = "BETWEEN (DATE '1800-01-01', DATE '2200-12-31')"
    if rng.random() < 0.5:
        domain = f"BETWEEN (DATE '{first}-01-01', DATE '{first + days // 365 + 1}-12-31')"
    return f"DATE '{first}-01-01' + floor({days} * {u})::INT", domain


def _moment(u: str, rng: np.random.Generator) -> Drawn:
    seconds = int(10 ** rng.uniform(3, 9))
    sql = f"TIMESTAMP '1990-01-01' + to_seconds(floor({seconds} * {u})::BIGINT)"
    return sql, "BETWEEN ('1980-01-01', '2040-01-01')"


def _text(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(np.exp(rng.uniform(np.log(2), np.log(400))))
    labels = ", ".join(f"'v{k}'" for k in range(levels))
    return f"'v' || floor({levels} * pow({u}, 3))::INT", f"IN ({labels})"


def _enum(u: str, rng: np.random.Generator) -> Drawn:
    labels = ", ".join(f"'e{k}'" for k in range(int(rng.integers(2, 30))))
    used = int(rng.integers(1, labels.count(",") + 2))
    return f"('e' || floor({used} * {u})::INT)::ENUM({labels})", f"IN ({labels})"


def _flag(u: str, rng: np.random.Generator) -> Drawn:
    return f"{u} < {rng.uniform(0.001, 0.999):.4f}", "IN (true, false)"


def _uuid(_u: str, _rng: np.random.Generator) -> Drawn:
    return "uuid()", ""


def _constant(_u: str, rng: np.random.Generator) -> Drawn:
    return f"{rng.integers(100)}::INT", "BETWEEN (0, 1000)"


def _copy(u: str, rng: np.random.Generator) -> Drawn:
    return _small(u, rng)


KINDS: tuple[Callable[[str, np.random.Generator], Drawn], ...] = (
    _skewed,
    _skewed,
    _zeros,
    _zeros,
    _rounded,
    _small,
    _small,
    _real,
    _decimal,
    _date,
    _moment,
    _text,
    _text,
    _enum,
    _flag,
    _uuid,
    _constant,
    _copy,
)
