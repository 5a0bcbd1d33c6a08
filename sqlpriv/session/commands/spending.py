"""What was asked and paid, by statement, by noised answer, and day by day. All of it is public.

Times are those when a statement was asked, in whole minutes (UTC). The time when an answer was
sealed is not shown: with the time of the question it would tell how long the read took, which
depends on the rows.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.proof.charged_units import UnitFilter, largest_sum
from sqlpriv.kernel.terms.budget import KINDS, PERIODS, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.statements.keywords import HIDDEN, LABEL
from sqlpriv.system import arrow

_MARKED_NAME = re.compile(rf'"{HIDDEN}[a-z]+\d+{LABEL}([^"]+)"')
_STATEMENTS = """
WITH seals AS (SELECT statement_id, count(*) AS number FROM seal GROUP BY 1),
again AS (
    SELECT seal.statement_id, count(DISTINCT replay.statement_id) AS number
    FROM replay JOIN seal ON seal.id = replay.seal_id GROUP BY 1
)
SELECT statement.id, statement.at, statement.principal, statement.text, charge.unit_table,
    charge.kind, sum(charge.nano), coalesce(max(seals.number), 0), coalesce(max(again.number), 0)
FROM statement
JOIN charge ON charge.statement_id = statement.id
LEFT JOIN seals ON seals.statement_id = statement.id
LEFT JOIN again ON again.statement_id = statement.id
GROUP BY statement.id, charge.unit_table, charge.kind
ORDER BY statement.id
"""
_SEALS = """
SELECT release.id, statement.at, release.principal, release.statement, release.unit_table,
    release.kind, release.nano, release.replays
FROM release
JOIN seal ON seal.id = release.id
JOIN statement ON statement.id = seal.statement_id
ORDER BY release.id
"""
_CHARGES = """
SELECT substr(charge.at, 1, 10), charge.unit_table, charge.kind, charge.snapshot_id, charge.strata,
    charge.nano, charge.statement_id
FROM charge ORDER BY charge.id
"""
_PAYERS = """
SELECT DISTINCT statement.principal
FROM charge JOIN statement ON statement.id = charge.statement_id
WHERE charge.unit_table = ?
"""
_BUDGETS = """
SELECT substr(at, 1, 10), unit_table, holder, principal, kind, nano, delta FROM budget ORDER BY id
"""
_WHEN = [
    ("at", pa.string()),
    ("principal", pa.string()),
    ("statement", pa.string()),
    ("unit_table", pa.string()),
    ("rho", pa.float64()),
    ("epsilon", pa.float64()),
]


def minute_of(at: str) -> str:
    """Returns the minute of a time of the ledger.

    >>> minute_of("2026-11-22T21:24:08.512+00:00")
    '2026-11-22 21:24'
    """
    return at[:16].replace("T", " ")


def statements_paid(
    ledger: Ledger, names: Mapping[str, str], viewer: str | None = None
) -> pa.Table:
    """SHOW PRIVACY RELEASES: every statement that was charged, oldest first.

    `measurements` are its noised answers, `replays` the later statements that were answered from
    them at no cost.

    Args:
        ledger: Where it is recorded.
        names: Accounts in the ledger → what their tables are called now.
        viewer: Who asks, where some tables are hidden from them: of others' statements they see
            no text, and none at all that was charged to a table that is not in `names`.
    """
    deltas = _deltas(ledger)
    with ledger.begin() as db:
        records = db.execute(_STATEMENTS).fetchall()
    rows = []
    for number, at, who, text, account, kind, nano, measurements, replays in records:
        if viewer is not None and account not in names:
            continue
        price = KINDS[kind](int(nano))
        row = {"id": number, "at": minute_of(at), "principal": who}
        row |= {"statement": _as_written(text) if viewer in (None, who) else None}
        row |= {"unit_table": names.get(account, account), **_amounts(price, deltas.get(account))}
        rows.append({**row, "measurements": measurements, "replays": replays})
    counts = [("measurements", pa.int64()), ("replays", pa.int64())]
    return arrow.table(rows, pa.schema([("id", pa.int64()), *_WHEN, *counts]))


def _as_written(text: str) -> str:
    """Returns a statement without the marks in the names of keys that no output has as it is; on
    one line, unless a comment or a text in quotes ends with its line.

    >>> _as_written('SELECT age // 10 AS "__group0:decade",\\n  COUNT(*)\\nFROM people')
    'SELECT age // 10 AS "decade", COUNT(*) FROM people'
    """
    lines = _MARKED_NAME.sub(r'"\1"', text).split("\n")
    if any(line.count("'") % 2 or line.count('"') % 2 or "--" in line for line in lines):
        return "\n".join(lines)
    return " ".join(filter(None, map(str.strip, lines)))


def noised_answers(ledger: Ledger, names: Mapping[str, str], viewer: str | None = None) -> pa.Table:
    """SHOW PRIVACY RELEASES DETAILS: every noised answer that was given, oldest first.

    Its arguments are those of `statements_paid`.
    """
    deltas = _deltas(ledger)
    with ledger.begin() as db:
        records = db.execute(_SEALS).fetchall()
    rows = []
    for number, at, who, text, account, kind, nano, replays in records:
        if viewer is not None and account not in names:
            continue
        row = {"id": number, "at": minute_of(at), "principal": who}
        row |= {"statement": _as_written(text) if viewer in (None, who) else None}
        row |= {"unit_table": names.get(account, account)}
        row |= _amounts(KINDS[kind](nano), deltas.get(account))
        rows.append({**row, "replays": replays})
    return arrow.table(rows, pa.schema([("id", pa.int64()), *_WHEN, ("replays", pa.int64())]))


def budget_history(ledger: Ledger, names: Mapping[str, str], named_alone: bool = False) -> pa.Table:
    """SHOW PRIVACY BUDGET HISTORY: day by day, what was charged, and every budget that was set.

    `spent` is the most that any one unit had lost at the end of the day, over all days so far; of a
    budget of periods, `in_period` is what it had lost since the period began. Where `named_alone`,
    tables that are not in `names` are left out.
    """
    with ledger.begin() as db:
        budgets, charges = db.execute(_BUDGETS).fetchall(), db.execute(_CHARGES).fetchall()
        standing = db.execute("SELECT unit_table, per FROM standing WHERE holder = ''").fetchall()
    periods = {account: PERIODS[per] for account, per in standing if per}
    rows = []
    for day, account, holder, who, kind, nano, delta in budgets:
        event = f"ceiling of {holder} set" if holder else "budget set"
        row = {"day": day, "unit_table": names.get(account, account), "event": event}
        row |= {"principal": who, **_amounts(KINDS[kind](nano), delta)}
        rows.append(row)
    deltas = _deltas(ledger)
    in_period = days_of(charges, periods)
    for (day, account), (statements, paid, spent) in days_of(charges).items():
        delta = deltas.get(account)
        row = {"day": day, "unit_table": names.get(account, account), "event": "charged"}
        row |= {"statements": statements, **_amounts(paid, delta)}
        row |= {f"{name}_spent": amount for name, amount in _amounts(spent, delta).items()}
        if account in periods:
            (_, _, lost) = in_period[day, account]
            row |= {f"{name}_in_period": amount for name, amount in _amounts(lost, delta).items()}
        rows.append(row)
    if named_alone:
        rows = [row for row in rows if row["unit_table"] in names.values()]
    rows.sort(key=lambda row: str(row["day"]))
    texts = [(name, pa.string()) for name in ("day", "unit_table", "event", "principal")]
    names_of_numbers = ["rho", "epsilon", "rho_spent", "epsilon_spent"]
    if periods:
        names_of_numbers += ["rho_in_period", "epsilon_in_period"]
    numbers = [(name, pa.float64()) for name in names_of_numbers]
    return arrow.table(rows, pa.schema([*texts, ("statements", pa.int64()), *numbers]))


def payers(ledger: Ledger, unit_table: str) -> list[str]:
    """Returns in whose names something was charged to a table, each in one spelling, ascending."""
    with ledger.begin() as db:
        names = db.execute(_PAYERS, (unit_table.lower(),)).fetchall()
    return sorted({name.lower(): name for (name,) in names}.values())


def days_of(
    charges: Sequence[tuple[Any, ...]],
    periods: Mapping[str, Callable[[dt.date], dt.date]] | None = None,
) -> dict[tuple[str, str], tuple[int, Price, Price]]:
    """Returns, by day and account, the statements charged, their prices' sum, and what is spent.

    What is spent is counted as the ledger counts it: inside one state of the vault, charges that
    concern different strata do not add up.

    Args:
        charges: (day, account, kind, snapshot, its units as JSON, nano, statement), oldest first.
        periods: Of accounts that are spent by the period: the first day of a day's period.
    """
    statements: dict[tuple[str, str], set[int]] = defaultdict(set)
    paid: dict[tuple[str, str], int] = defaultdict(int)
    booked: dict[tuple[str, dt.date | None], dict[int | None, list[tuple[UnitFilter, int]]]]
    booked = defaultdict(lambda: defaultdict(list))
    last_of_day = {charge[:2]: i for i, charge in enumerate(charges)}
    days: dict[tuple[str, str], tuple[int, Price, Price]] = {}
    for i, (day, account, kind, snapshot, units, nano, statement) in enumerate(charges):
        key = (day, account)
        statements[key].add(statement)
        paid[key] += nano
        first_day = (periods or {}).get(account)
        together = account, first_day(dt.date.fromisoformat(day)) if first_day else None
        booked[together][snapshot].append((json.loads(units), nano))
        if last_of_day[key] == i:
            spent = sum(largest_sum(some, {}) for some in booked[together].values())
            days[key] = (len(statements[key]), KINDS[kind](paid[key]), KINDS[kind](spent))
    return days


def _deltas(ledger: Ledger) -> dict[str, float]:
    """Returns the delta that each account's amounts are shown at."""
    with ledger.begin() as db:
        return dict(db.execute("SELECT unit_table, delta FROM standing WHERE holder = ''"))


def _amounts(price: Price, delta: float | None) -> dict[str, float | None]:
    epsilon = None if delta is None else epsilon_shown(price, delta)
    return {"rho": price.value if isinstance(price, Rho) else None, "epsilon": epsilon}


def table_names(contracts: Iterable[TableContract]) -> dict[str, str]:
    """Returns accounts in the ledger → what their tables are called now."""
    return {contract.own_account: contract.table for contract in contracts}
