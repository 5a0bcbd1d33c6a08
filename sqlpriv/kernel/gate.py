"""The gate: the one way to private rows. Charge, read, noise, seal, in that order.

`Kernel` knows the public facts. `Kernel.allow` opens an `Allowance`, which asks within a limit:
`release` for noised vectors, `choose` for a private selection. Whatever is above this file can ask
for the wrong thing; it cannot ask at the wrong price, read what it did not pay for, or see a number
without its noise.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import BudgetExhausted, KernelError, OperationalError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel import noise
from sqlpriv.kernel.budget import Budget, Epsilon, Price, Rho, amount, kind_of, zero
from sqlpriv.kernel.contract import PrivacyUnit, TableContract, TableFacts, Type
from sqlpriv.kernel.declare import fold, verifying_sql
from sqlpriv.kernel.ledger import Ledger, Sealed, Snapshot
from sqlpriv.kernel.operations import check_literal
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.kernel.render import Scope, render
from sqlpriv.kernel.selection import Candidate, check_candidates, scoring, selection_hash
from sqlpriv.kernel.sensitivity import (
    Lattice,
    batch_price,
    check_within,
    lattice_of,
    sensitivity,
)

MAX_CELLS = 2_000_000


@dataclass(frozen=True)
class Explained:
    """What a measurement would do, from public facts alone.

    Args:
        mechanism: "discrete Gaussian" or "discrete Laplace".
        cells: How many noised numbers it gives.
        sensitivity: L2 (Gaussian) or L1 (Laplace), in the units of what is summed.
        sigma: Standard deviation of the noise, in those units.
        price: What it costs by itself.
        sql: The one statement that reads for it.
        replayed: Its answer is sealed already and will be given at no cost.
    """

    mechanism: str
    cells: int
    sensitivity: float
    sigma: float
    price: Price
    sql: str
    replayed: bool


@dataclass(frozen=True)
class _Prepared:
    """A measurement with its lattice and its noise: nothing in it comes from a row."""

    measurement: Measurement
    lattice: Lattice
    noise: noise.Noise | None
    l1: int
    l2: float

    @property
    def sigma(self) -> float:
        return float(self.lattice.step) * (self.noise.sigma if self.noise else 0.0)


class Kernel:
    """A vault and its ledger. Safe to share between threads; opens the vault for each statement.

    Args:
        vault: The DuckDB file; the ledger lies beside it (`people.duckdb`, `people.ledger`).
    """

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.ledger = Ledger(vault.with_suffix(".ledger"))

    def close(self) -> None:
        """Closes the ledger."""
        self.ledger.close()

    def contracts(self) -> dict[str, TableContract]:
        """Returns the contract of every table, by lower-case name. Reads no row."""
        with Reader(self.vault) as reader:
            return self._contracts(reader)[0]

    def budget(self, unit_table: str) -> Budget | None:
        """Returns the declared budget of a unit's table."""
        return self.ledger.budget(unit_table)

    def spent(self, unit_table: str) -> Price:
        """Returns what was charged so far."""
        return self.ledger.spent(unit_table)

    def left(self, unit_table: str) -> Price:
        """Returns what may still be charged."""
        return self.ledger.left(unit_table)

    def price(self, measurements: Sequence[Measurement], contract: TableContract) -> Price:
        """Returns what a batch costs when nothing of it is sealed; see `batch_price`."""
        return batch_price(measurements, _unit(contract))

    def sealed(self, measurement: Measurement, contract: TableContract) -> bool:
        """Returns whether a measurement's answer would be replayed at no cost."""
        found = self.ledger.find_seal(
            contract.snapshot, a.fingerprint(measurement.query), measurement.price
        )
        return found is not None

    def explain(
        self, measurements: Sequence[Measurement], contract: TableContract
    ) -> tuple[Explained, ...]:
        """Returns what each measurement would do. Reads no row, charges nothing."""
        explained = []
        for m in measurements:
            ready, pure = _prepare(m, contract), isinstance(m.price, Epsilon)
            distance = float(ready.lattice.step) * (ready.l1 if pure else ready.l2)
            mechanism = "discrete Laplace" if pure else "discrete Gaussian"
            sql = render([m.query], contract, 0)
            cells = int(np.prod(a.shape(m.query)))
            explained.append(
                Explained(
                    *(mechanism, cells, distance, ready.sigma, m.price, sql),
                    replayed=self.sealed(m, contract),
                )
            )
        return tuple(explained)

    def public(self, table: str) -> pa.Table:
        """Returns the rows of a table that was declared public, exactly."""
        with Reader(self.vault) as reader:
            contract = self._contracts(reader)[0].get(table.lower())
            if contract is None or not contract.public:
                raise Refused(f'the table "{table}" is not public')
            return reader.rows(contract.table)

    def allow(
        self, contract: TableContract, limit: Price, principal: str, statement: str
    ) -> Allowance:
        """Opens a statement's allowance: it may charge up to `limit`, and nothing once closed.

        Raises:
            Refused: The table has no privacy unit.
        """
        return Allowance(self, contract, limit, principal, statement)

    def verify(self) -> None:
        """Records, for every table with a unit, which bounds this snapshot satisfies.

        Run by an owner after declaring and after writing. It reads private rows without a charge;
        what it finds decides only whether bounding passes are run (`render.bounding`).
        """
        with Reader(self.vault) as reader:
            contracts, snapshot = self._contracts(reader)
            catalog = {t.name.lower(): t for t in reader.catalog()}
            known: dict[str, Any] = {}
            for table, contract in contracts.items():
                if contract.unit is not None:
                    unique = contract.unit.column in catalog[table].unique
                    known[table] = self._verified(reader, contract, contract.unit, unique)
            if known != (snapshot.facts or {}):
                self.ledger.record_facts(snapshot.id, known)

    def _verified(
        self, reader: Reader, contract: TableContract, unit: PrivacyUnit, unique: bool
    ) -> dict[str, Any]:
        columns = tuple(c.name.lower() for c in contract.columns)
        if unique:  # the constraint says it: no unit has two rows
            return {"bounded": True, "constant": sorted(columns)}
        sql, tested = verifying_sql(contract, unit)
        bounded, *steady = reader.truths(sql)
        constant = [c.lower() for c, holds in zip(tested, steady, strict=True) if holds]
        return {"bounded": bool(bounded), "constant": sorted({*constant, unit.column})}

    def _contracts(self, reader: Reader) -> tuple[dict[str, TableContract], Snapshot]:
        records = self.ledger.declarations()
        snapshot = self.ledger.snapshot(f"{reader.fingerprint}:{records[-1].id if records else 0}")
        facts = {
            table: TableFacts(bool(body["bounded"]), frozenset(body["constant"]))
            for table, body in (snapshot.facts or {}).items()
        }
        return fold(records, reader.catalog(), facts, snapshot.id), snapshot


class Allowance:
    """What one statement may ask and spend. Use as a context manager.

    Exact marginals that a selection looked at are kept until the allowance is closed, so that a
    later choice among them reads nothing again; they never leave this object but through noise.
    """

    def __init__(
        self, kernel: Kernel, contract: TableContract, limit: Price, principal: str, text: str
    ) -> None:
        self.contract, self.unit = contract, _unit(contract)
        self._kernel, self._ledger = kernel, kernel.ledger
        self._principal, self._text, self._statement = principal, text, 0
        self._limit, self.spent = limit, zero(kind_of(limit))
        self._exact: dict[a.Query, list[int]] = {}
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closed = True
        self._exact.clear()

    @property
    def left(self) -> Price:
        """What this statement may still spend."""
        return amount(kind_of(self._limit), self._limit.nano - self.spent.nano)

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Answers a batch of measurements: one charge, one read, noise, seals.

        A measurement whose query was sealed on this snapshot at the same or a higher price is
        replayed from its seal; the rest are charged `batch_price`.

        Returns:
            A Release each, in the order asked.

        Raises:
            BudgetExhausted: What is not sealed costs more than the allowance or the budget has
                left; nothing was read or charged.
            Refused: A query is not total, or too large; nothing was read or charged.
            VaultBusy, OperationalError: The vault cannot be read just now; nothing was charged.
            ReadFailed: The engine failed after the charge, which stays.
        """
        hashes = [a.fingerprint(m.query) for m in measurements]
        seals = [self._find(h, m.price) for h, m in zip(hashes, measurements, strict=True)]
        fresh = [i for i, seal in enumerate(seals) if seal is None]
        ready = {i: _prepare(measurements[i], self.contract) for i in fresh}
        if fresh:
            price = batch_price([measurements[i] for i in fresh], self.unit)
            queries = [measurements[i].query for i in fresh]
            with self._opened(queries) as read:
                charge = self._charge(price)
                raw = read()
            values = {i: _noised(ready[i], raw[measurements[i].query]) for i in fresh}
            stored = [
                Sealed(
                    hashes[i],
                    measurements[i].price,
                    ready[i].sigma,
                    values[i].astype("<f8").tobytes(),
                )
                for i in fresh
            ]
            numbers = self._ledger.seal(charge, self._statement, self.contract.snapshot, stored)
            for i, number, seal in zip(fresh, numbers, stored, strict=True):
                seals[i] = Sealed(seal.query_hash, seal.price, seal.sigma, seal.payload, number)
        self._replay([s for i, s in enumerate(seals) if s is not None and i not in ready])
        return tuple(
            _released(measurements[i].query, seal, replayed=i not in ready)
            for i, seal in enumerate(seals)
            if seal is not None
        )

    def choose(
        self, candidates: Sequence[Candidate], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        """Selects one candidate for each measured stratum, a high score more likely.

        Price. Scores of stratum s depend on the rows of s alone, and one unit moves each of them by
        at most D = (largest weight) * m. A unit lies in at most g strata, so g selections at
        price / g compose to `price`.

        Args:
            candidates: At least one; see `Candidate`.
            price: Paid for all strata together.
            allowed: Of shape (strata, candidates): which may be chosen where; one at least a row.

        Returns:
            The position of the chosen candidate, a stratum each.
        """
        check_candidates(candidates, allowed)
        g = min(self.unit.groups_per_unit, a.strata_count(candidates[0].query))
        share = amount(kind_of(price), price.nano // g)
        named = selection_hash(candidates, allowed)
        seal = self._find(named, price)
        if seal is not None:
            self._replay([seal])
            return tuple(json.loads(seal.payload))
        distance, score = scoring(candidates, self.unit.rows_per_unit)
        missing = list(dict.fromkeys(c.query for c in candidates if c.query not in self._exact))
        with self._opened(missing) as read:
            charge = self._charge(price)
            self._exact.update(read())
        exact = [self._exact[c.query] for c in candidates]
        chosen = []
        for stratum, row in enumerate(allowed):
            open_to = [int(i) for i in np.flatnonzero(row)]
            scores = [score(candidates[i], stratum, exact[i]) for i in open_to]
            chosen.append(open_to[noise.select(scores, distance, share)])
        stored = Sealed(named, price, 0.0, json.dumps(chosen).encode())
        self._ledger.seal(charge, self._statement, self.contract.snapshot, [stored])
        return tuple(chosen)

    def _find(self, named: str, price: Price) -> Sealed | None:
        if self._closed:
            raise KernelError("a closed allowance answers nothing")
        return self._ledger.find_seal(self.contract.snapshot, named, price)

    @contextmanager
    def _opened(self, queries: Sequence[a.Query]) -> Iterator[_Read]:
        """Opens the vault and renders; what it yields reads, once the charge is paid."""
        if not queries:
            yield dict
            return
        with Reader(self._kernel.vault) as reader:
            contracts, snapshot = self._kernel._contracts(reader)
            if contracts.get(self.contract.table.lower()) != self.contract:
                raise OperationalError(
                    "the vault or its declarations changed since this statement was planned;"
                    " nothing was read or charged: run it again"
                )
            groups: dict[Any, list[a.Query]] = defaultdict(list)
            for query in dict.fromkeys(queries):
                groups[(query.source, query.strata)].append(query)
            statements = [
                (group, render(group, self.contract, snapshot.hash_key))
                for group in groups.values()
            ]
            yield lambda: _exact(reader, statements)

    def _begun(self) -> int:
        if not self._statement:
            self._statement = self._ledger.begin_statement(self._principal, self._text)
        return self._statement

    def _charge(self, price: Price) -> int:
        """Pays, durably. The first payment asks that the whole allowance can be paid."""
        if price.nano > self.left.nano:
            raise BudgetExhausted(
                "the statement asks for more than its allowance; nothing was read"
            )
        if not self.spent.nano and self._limit.nano > self._ledger.left(self.unit.table).nano:
            self._ledger.charge(
                self._begun(), self.unit.table, self._limit
            )  # refuses, with figures
        charge = self._ledger.charge(self._begun(), self.unit.table, price)
        self.spent = amount(kind_of(price), self.spent.nano + price.nano)
        return charge

    def _replay(self, seals: Sequence[Sealed]) -> None:
        if seals:
            self._ledger.replay(self._begun(), [s.id for s in seals])


_Read = Callable[[], dict[a.Query, list[int]]]


def _unit(contract: TableContract) -> PrivacyUnit:
    if contract.unit is None:
        raise Refused(f'the table "{contract.table}" has no privacy unit')
    return contract.unit


def _prepare(measurement: Measurement, contract: TableContract) -> _Prepared:
    """Returns a measurement with its noise, or refuses it: before anything is charged."""
    query, price = measurement.query, measurement.price
    check_within(query)
    if math.prod(a.shape(query)) > MAX_CELLS or a.strata_count(query) > MAX_CELLS:
        raise Refused(f"the query has more than {MAX_CELLS} cells")
    scope = Scope(query.source, contract)
    for key in (*query.strata, *query.keys):
        of_key = scope.type(key.expr)
        for value in key.values:
            check_literal(value, of_key)
    of = scope.type(query.of) if query.of is not None else None
    if isinstance(query, a.Sum) and of not in (Type.INTEGER, Type.REAL):
        raise Refused("only numbers are summed")
    lattice = lattice_of(query, of)
    moved = sensitivity(query, _unit(contract), lattice.steps)
    if lattice.steps == 0:
        return _Prepared(measurement, lattice, None, 0, 0.0)
    l2 = noise.root(moved.l2_squared)
    made = noise.gaussian(l2, price) if isinstance(price, Rho) else noise.laplace(moved.l1, price)
    return _Prepared(measurement, lattice, made, moved.l1, l2)


def _exact(
    reader: Reader, statements: Sequence[tuple[list[a.Query], str]]
) -> dict[a.Query, list[int]]:
    """Reads: returns the exact integers of each query, dense and row-major."""
    answers = {}
    for queries, sql in statements:
        for query, (cells, values) in zip(queries, reader.cells(sql, len(queries)), strict=True):
            per_stratum = math.prod(len(key.values) for key in query.keys)
            offset = {s: i * per_stratum for i, s in enumerate(a.measured_strata(query))}
            dense = [0] * math.prod(a.shape(query))
            for cell, value in zip(cells.tolist(), values, strict=True):
                dense[offset[cell // per_stratum] + cell % per_stratum] = int(value)
            answers[query] = dense
    return answers


def _noised(ready: _Prepared, exact: list[int]) -> NDArray[np.float64]:
    """Adds the noise to the exact integers, then leaves the lattice for the query's own units."""
    drawn = ready.noise.draw(len(exact)) if ready.noise else [0] * len(exact)
    step = ready.lattice.step
    noised = [x + z for x, z in zip(exact, drawn, strict=True)]
    scaled = [x * step.numerator / step.denominator for x in noised]
    return np.array(scaled, dtype=np.float64)


def _released(query: a.Query, seal: Sealed, replayed: bool) -> Release:
    values = np.frombuffer(seal.payload, dtype="<f8").reshape(a.shape(query))
    return Release(seal.id, query, values, seal.sigma, seal.price, replayed)
