"""Questions about closed rows, which earlier answers serve although the table was written since.

`ALTER TABLE visits SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')` is an owner's word,
in public, that rows of days before November are not written any more. A question that reads such
rows alone is answered by what was sealed for it in an earlier state of the vault, for nothing.

**Why this tells nobody anything.** A replayed answer was released and paid for before: it is
post-processing. Whether there is one follows from public facts: the question, what is declared now
and was declared then, and what was released. Nothing looks at whether the rows are still the same.
If that decided, the price of a question would tell, for nothing, that somebody's row came in late.

**Which answers can be stale.** All of them, where an owner's word did not hold: a replayed answer
is about the rows of the day when it was sealed. The owner alone is told whether closed rows changed
(`SHOW PRIVACY WINDOWS`); `DROP PRIVACY WINDOW` makes questions new again.

**Which earlier states serve** a question over a relation:

1. Every table that the relation reads has a window, and right above the table a conjunct of its
   filter compares the bare time column with a constant, so that all rows lie before some moment.
   OR, NOT and functions of the column are no such conjunct, nor is one above a join. A public
   table has no window, so a question that joins one is new after any write.
2. When the earlier state was read, rows before that moment were declared closed already: an answer
   that was sealed while October was still coming in does not serve once October is closed.
3. From then on nothing was declared otherwise of these tables, and of those that lead from them to
   their unit, but who may use them and days that moved on. So the bounds, keys and domains that an
   answer was made with are those in force.

Of these states the first that has an answer serves, each measurement by itself, so that a question
which was paid for is answered alike ever after, whoever buys a dearer answer later. What a unit
loses is unchanged: every charge that was made stays, and adds up, as that of a question of its own.
"""

from __future__ import annotations

import datetime as dt
import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import UNDECLARED, Declared, TableContract
from sqlpriv.plan.row_times import end_of_rows, midnight_of, scanned_tables

STATES_AT_ONCE = 500
"""How many earlier states one look-up goes through: a ledger may have one for every hour."""
CLOSED = "about rows that the owner declared closed"


@dataclass(frozen=True)
class Window:
    """`SET PRIVACY WINDOW`: rows whose time `column` lies before the day (UTC) are closed."""

    column: str
    closed_before: dt.date


def declared_window(body: Declared) -> Window | None:
    """Returns the window that a declaration's body holds; None where there is none."""
    return Window(body["window"][0], _day(body)) if body["window"] else None


@dataclass(frozen=True)
class _History:
    """What the ledger says of the states before one state; it never changes.

    Attributes:
        states: (number of the state, number of the last declaration then), the first one first.
        windows: Lower-case table → its window.
        since: Lower-case table → the first declaration from which on nothing was declared otherwise
            of it, but its grants and its window's day.
        days: Lower-case table → (number of the declaration, day) of its window since then.
    """

    states: Sequence[tuple[int, int]] = ()
    windows: Mapping[str, Window] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)
    days: Mapping[str, Sequence[tuple[int, dt.date]]] = field(default_factory=dict)

    @classmethod
    def before(cls, ledger: Ledger, snapshot: int) -> _History:
        """Returns the history of a state: nothing where no table has a window."""
        with ledger.begin() as db:
            if not any(body["window"] for body in ledger.declarations()[1].values()):
                return cls()
            sql = "SELECT id, fingerprint FROM snapshot WHERE id <= ? ORDER BY id"
            states = [(i, int(name.rpartition(":")[2])) for i, name in db.execute(sql, (snapshot,))]
            records = db.execute("SELECT id, subject, body FROM declaration ORDER BY id").fetchall()
        last = states[-1][1] if states else 0
        bodies: dict[str, list[tuple[int, Declared]]] = {}
        for number, table, text in records:
            body = {**UNDECLARED, **json.loads(text)}
            number = body.pop("as_of", number)
            if number <= last:
                bodies.setdefault(table, []).append((number, body))
        kept = {table: _alike(declared) for table, declared in bodies.items()}
        windows = {t: window for t, d in kept.items() if (window := declared_window(d[-1][1]))}
        days = {t: [(number, _day(body)) for number, body in kept[t]] for t in windows}
        return cls(states[:-1], windows, {t: d[0][0] for t, d in kept.items()}, days)

    def states_closed(self, ends: Mapping[str, dt.datetime], tables: Iterable[str]) -> list[int]:
        """Returns the states, in their order, in which all rows before these moments were closed.

        Args:
            ends: By lower-case table.
            tables: Those, and the tables on the way to their unit: lower case.
        """
        first = max((self.since.get(table, 0) for table in tables), default=0)
        for table, end in ends.items():
            days = self.days[table]
            at = bisect_left([midnight_of(day) for _, day in days], end)  # days only move on
            if at == len(days):
                return []
            first = max(first, days[at][0])
        return [state for state, number in self.states if number >= first]


class ClosedRows:
    """Finds the answers to questions about closed rows; see the top of the file.

    Args:
        ledger: Where declarations, states and answers are recorded.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._kept: tuple[int, _History] = (-1, _History())

    def serving(self, source: a.Relation, contract: TableContract, named: str, price: Price) -> int:
        """Returns the state whose answers to a query serve: the first that has any, of the earlier
        ones that serve and the contract's own. As `Kernel.serving`."""
        earlier = self.earlier_states(source, contract)
        if not earlier:
            return contract.snapshot
        states = [*earlier, contract.snapshot]
        condition = "query_hash = ? AND kind = ? AND nano >= ?"
        with self._ledger.begin() as db:
            for start in range(0, len(states), STATES_AT_ONCE):
                some = states[start : start + STATES_AT_ONCE]
                marks = ", ".join("?" * len(some))
                of_states = f"snapshot_id IN ({marks})"
                sql = f"SELECT min(snapshot_id) FROM seal WHERE {of_states} AND {condition}"
                values = (*some, named, price.kind, price.nano)
                if (first := db.execute(sql, values).fetchone()[0]) is not None:
                    return int(first)
        return contract.snapshot

    def earlier_states(self, source: a.Relation, contract: TableContract) -> list[int]:
        """Returns the states before the contract's in which all rows of a relation were closed."""
        history = self._history(contract)
        if not history.windows:
            return []
        ends = end_of_rows(source, {t: w.column for t, w in history.windows.items()})
        if not ends:
            return []
        return history.states_closed(ends, _with_ways(ends, contract))

    def notes(self, seals: Sequence[int], contract: TableContract) -> list[str]:
        """Returns what is to be said under an answer of which some was sealed in an earlier state:
        on which days that was asked.

        Args:
            seals: The numbers of those that the answer was replayed from.
            contract: Of its table.
        """
        if not seals or not self._history(contract).windows:
            return []
        sql = (
            "SELECT min(statement.at), max(statement.at) FROM seal"
            " JOIN statement ON statement.id = seal.statement_id"
            f" WHERE seal.snapshot_id <> ? AND seal.id IN ({', '.join('?' * len(seals))})"
        )
        with self._ledger.begin() as db:
            first, last = db.execute(sql, (contract.snapshot, *seals)).fetchone()
        days = [moment[:10] for moment in (first, last) if moment]
        return [f"{CLOSED}: as answered on {' to '.join(dict.fromkeys(days))}"] if days else []

    def foresight(self, sources: Iterable[a.Relation], contract: TableContract) -> list[str]:
        """Returns what EXPLAIN says of a question that is not answered yet: whether it stays free
        once it is, where a table that it reads has a window."""
        windows = self._history(contract).windows
        columns = {table: window.column for table, window in windows.items()}
        read = set[str]().union(*map(scanned_tables, sources))
        if not (named := sorted(read & windows.keys())):
            return []
        ends = [end_of_rows(source, columns) for source in sources]
        if all(of and _all_closed(of, windows) for of in ends):
            return [f"{CLOSED}: once answered, free whatever is written"]
        closed = [f"{windows[t].column} < DATE '{windows[t].closed_before}'" for t in named]
        open_tables = sorted(read - windows.keys())
        also = f"; {', '.join(open_tables)} has no closed rows" if open_tables else ""
        return [f"new after every write: closed rows are WHERE {' AND '.join(closed)}{also}"]

    def _history(self, contract: TableContract) -> _History:
        if self._kept[0] != contract.snapshot:
            self._kept = contract.snapshot, _History.before(self._ledger, contract.snapshot)
        return self._kept[1]


def _with_ways(tables: Iterable[str], contract: TableContract) -> set[str]:
    """Returns tables, and those that lead from them to their unit; all in lower case."""
    named: set[str] = set()
    for table in tables:
        on_the_way: TableContract | None = contract.contract_of(table, on_the_way=True)
        while on_the_way is not None:
            named.add(on_the_way.table.lower())
            if on_the_way.unit is not None:
                named.add(on_the_way.unit.table)
            via = on_the_way.via
            on_the_way = contract.contract_of(via.table, on_the_way=True) if via else None
    return named


def _all_closed(ends: Mapping[str, dt.datetime], windows: Mapping[str, Window]) -> bool:
    return all(end <= midnight_of(windows[table].closed_before) for table, end in ends.items())


def _alike(declared: Sequence[tuple[int, Declared]]) -> Sequence[tuple[int, Declared]]:
    """Returns the last declarations of a table that say the same, but for grants and the day."""
    lasting_parts = [_lasting_part(body) for _, body in declared]
    different = [i for i, part in enumerate(lasting_parts) if part != lasting_parts[-1]]
    return declared[different[-1] + 1 if different else 0 :]


def _lasting_part(body: Declared) -> Declared:
    return {**body, "grants": {}, "window": body["window"] and body["window"][0].lower()}


def _day(body: Declared) -> dt.date:
    return dt.date.fromisoformat(body["window"][1])
