"""Random tables such as registers, shops and clinics keep: see `tests/bench/hostile.py --mixed`.

A table has 3 to 40 columns and 200 to 30,000 rows, each drawn by its logarithm. Columns are heavy
tailed, hold zeros or values below 0, are skewed by a mass at either declared end, constant, NULL
throughout, identifiers, dates of working days, timestamps of whole minutes, rates, prices that end
in .99, UUIDs, lists of hundreds of codes, ENUMs or BOOLEANs; two in five columns follow from an
earlier number. A fifth have NULLs, of which the domain does not always know.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bench.tables.hostile_tables import Hostile
from bench.tables.random_tables import Drawn, sometimes_null, uniform

FEWEST, MOST = (3, 200), (40, 30_000)
"""Columns and rows."""
FOLLOWS, MISSING, TOLD = 0.4, 0.2, 0.8
"""Parts of columns that follow from an earlier number, that have NULLs, and of those the part whose
domain says so."""


def mixed_table(seed: int) -> Hostile:
    """Returns a table: the same for the same seed."""
    rng = np.random.default_rng([seed, 20])
    count, rows = (
        int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
        for low, high in zip(FEWEST, MOST, strict=True)
    )
    strata = int(rng.integers(2, 7))
    shares = np.cumsum(rng.dirichlet(np.full(strata, 2.0)))[:-1]
    u = uniform(rng)
    columns = {"s": " + ".join(f"({u} > {share:.4f})::INT" for share in shares)}
    domains = {"s": f"IN ({', '.join(map(str, range(strata)))})"}
    latents: list[str] = []
    for c in range(count - 1):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        latent = uniform(rng)
        if latents and rng.random() < FOLLOWS:
            weight = rng.uniform(0.2, 2)
            other = latents[int(rng.integers(len(latents)))]
            latent = f"(({other} + {weight:.2f} * {latent}) / {1 + weight:.2f})"
        latents.append(latent)
        sql, domain = kind(latent, rng)
        if domain and rng.random() < MISSING:
            sql = sometimes_null(sql, rng)
            if rng.random() < TOLD and "NULL" not in domain:
                listed = domain.startswith("IN")
                domain = f"{domain[:-1]}, NULL)" if listed else f"{domain} OR NULL"
        name = f"{kind.__name__.strip('_')}{c}"
        columns[name] = sql
        if domain:
            domains[name] = domain
    return Hostile(columns, domains, "s", rows)


def _normal(u: str, rng: np.random.Generator) -> str:
    return f"(sqrt(-2 * ln({u})) * cos(6.2831853 * {uniform(rng)}))"


def _pareto(u: str, rng: np.random.Generator) -> Drawn:
    scale, shape = 10 ** rng.uniform(0, 3), rng.uniform(1.5, 4)
    top = int(10 ** rng.integers(5, 9))
    return (
        f"least({scale:.2f} * pow(1 - {u}, {-1 / shape:.4f}), {top})::DECIMAL(14,2)",
        f"BETWEEN (0, {top})",
    )


def _profit(u: str, rng: np.random.Generator) -> Drawn:
    scale = 10 ** rng.uniform(1, 4)
    top = int(10 ** np.ceil(np.log10(scale) + 2))
    side = f"CASE WHEN {uniform(rng)} < 0.3 THEN -1 ELSE 1 END"
    sql = f"greatest(least({scale:.2f} * {side} * -ln({u}), {top}), {-top})::DOUBLE"
    return sql, f"BETWEEN ({-top}, {top})"


def _charge(u: str, rng: np.random.Generator) -> Drawn:
    share, scale = rng.uniform(0.1, 0.97), 10 ** rng.uniform(2, 4)
    amount = f"least(exp({rng.uniform(0.3, 1.2):.2f} * {_normal(u, rng)}) * {scale:.1f}, 999999.99)"
    sql = f"CASE WHEN {u} < {share:.3f} THEN 0 ELSE {amount} END::DECIMAL(9,2)"
    return sql, "BETWEEN (0, 1000000)"


def _counted(u: str, rng: np.random.Generator) -> Drawn:
    mean, top = 10 ** rng.uniform(-0.5, 1.5), int(rng.choice([50, 99, 365, 1_000]))
    sql = f"least(floor(-ln({u}) * {mean:.3f}), {top})::{rng.choice(['SMALLINT', 'INT', 'BIGINT'])}"
    return sql, f"BETWEEN (0, {top})"


def _celsius(u: str, rng: np.random.Generator) -> Drawn:
    sql = f"round({rng.uniform(-5, 25):.1f} + {rng.uniform(2, 9):.1f} * {_normal(u, rng)}, 1)"
    return f"{sql}::{rng.choice(['FLOAT', 'DOUBLE'])}", "BETWEEN (-60, 60)"


def _balance(u: str, rng: np.random.Generator) -> Drawn:
    spread = 10 ** rng.uniform(2, 5)
    other = rng.uniform(0.05, 0.5)
    sql = f"({spread:.1f} * ({_normal(u, rng)} - CASE WHEN {u} < {other:.2f} THEN 4 ELSE 0 END))"
    return f"{sql}::BIGINT", f"BETWEEN ({-int(20 * spread)}, {int(20 * spread)})"


def _age(u: str, rng: np.random.Generator) -> Drawn:
    sql = f"least(floor({rng.integers(0, 19)} + 90 * pow({u}, {rng.uniform(0.8, 2):.2f})), 95)::INT"
    return sql, "BETWEEN (0, 95)"


def _percent(u: str, rng: np.random.Generator) -> Drawn:
    sql = f"greatest(least(round(100 * (1.4 * {u} - 0.2), {rng.integers(0, 3)}), 100), 0)"
    return f"{sql}::{rng.choice(['DECIMAL(5,2)', 'DOUBLE'])}", "BETWEEN (0, 100)"


def _price(u: str, rng: np.random.Generator) -> Drawn:
    top = int(10 ** rng.integers(2, 4))
    return f"(floor({top} * pow({u}, 3)) + 0.99)::DECIMAL(8,2)", f"BETWEEN (0, {top + 1})"


def _salary(u: str, rng: np.random.Generator) -> Drawn:
    step = int(rng.choice([50, 500, 1_000]))
    sql = f"({step} * round(exp({rng.uniform(9.8, 10.8):.2f} + 0.5 * {_normal(u, rng)}) / {step}))"
    return f"{sql}::INT", "BETWEEN (0, 1000000)"


def _year(u: str, rng: np.random.Generator) -> Drawn:
    return f"floor(2024 - 70 * pow({u}, {rng.uniform(1, 4):.2f}))::SMALLINT", "BETWEEN (1900, 2030)"


def _constant(_u: str, rng: np.random.Generator) -> Drawn:
    return (
        ("0::INT", "BETWEEN (0, 500)"),
        ("3.5::DOUBLE", "BETWEEN (-10, 10)"),
        ("'EUR'", "IN ('EUR', 'USD', 'GBP')"),
        ("DATE '2024-02-29'", "BETWEEN (DATE '2020-01-01', DATE '2025-12-31')"),
    )[int(rng.integers(4))]


def _empty(_u: str, rng: np.random.Generator) -> Drawn:
    return (
        ("NULL::DECIMAL(10,2)", "BETWEEN (0, 1000) OR NULL"),
        ("NULL::TIMESTAMP", "BETWEEN ('2000-01-01', '2030-01-01') OR NULL"),
        ("NULL::BOOLEAN", "IN (true, false, NULL)"),
    )[int(rng.integers(3))]


def _number_of_row(_u: str, rng: np.random.Generator) -> Drawn:
    return f"({rng.integers(10**6)} + 7 * i)::BIGINT", "BETWEEN (0, 10000000)"


def _working_day(u: str, rng: np.random.Generator) -> Drawn:
    days = int(10 ** rng.uniform(1.5, 4))
    day = f"floor({days} * sqrt({u}))::INT"
    sql = f"DATE '2024-12-30' - 7 * ({day} // 5) - 3 + {day} % 5"
    return f"({sql})::DATE", "BETWEEN (DATE '1980-01-01', DATE '2025-12-31')"


def _minute(u: str, rng: np.random.Generator) -> Drawn:
    minutes = int(10 ** rng.uniform(3, 6))
    sql = f"TIMESTAMP '2019-06-01' + to_minutes(floor({minutes} * {u})::BIGINT)"
    return sql, "BETWEEN ('2015-01-01', '2025-01-01')"


def _instant(u: str, rng: np.random.Generator) -> Drawn:
    seconds = int(10 ** rng.uniform(4, 8))
    sql = f"TIMESTAMPTZ '2020-01-01 00:00+00' + to_microseconds(floor({seconds}e6 * {u})::BIGINT)"
    return sql, "BETWEEN ('2019-01-01', '2024-01-01')"


def _code(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(np.exp(rng.uniform(np.log(40), np.log(1_500))))
    labels = ", ".join(f"'C{k:04d}'" for k in range(levels))
    power = rng.uniform(1, 5)
    number = f"floor({levels} * pow({u}, {power:.2f}))::INT"
    return f"'C' || lpad(({number})::VARCHAR, 4, '0')", f"IN ({labels})"


def _rating(u: str, rng: np.random.Generator) -> Drawn:
    labels = "'very low', 'low', 'fair', 'high', 'very high'"
    sql = f"[{labels}][1 + floor(5 * pow({u}, {rng.uniform(0.5, 3):.2f}))::INT]"
    return f"({sql})::ENUM({labels})", f"IN ({labels})"


def _word(u: str, rng: np.random.Generator) -> Drawn:
    levels = int(rng.integers(2, 16))
    labels = ", ".join(f"'w {k}'" for k in range(levels))
    return f"'w ' || floor({levels} * pow({u}, 2))::INT", f"IN ({labels})"


def _rarely(u: str, rng: np.random.Generator) -> Drawn:
    return f"{u} < {10 ** rng.uniform(-3, -0.3):.4f}", "IN (true, false)"


def _key(_u: str, _rng: np.random.Generator) -> Drawn:
    return "uuid()", ""


KINDS: tuple[Callable[[str, np.random.Generator], Drawn], ...] = (
    _pareto,
    _profit,
    _charge,
    _charge,
    _counted,
    _counted,
    _celsius,
    _balance,
    _age,
    _percent,
    _price,
    _salary,
    _year,
    _constant,
    _empty,
    _number_of_row,
    _working_day,
    _minute,
    _instant,
    _code,
    _rating,
    _word,
    _word,
    _rarely,
    _key,
)
