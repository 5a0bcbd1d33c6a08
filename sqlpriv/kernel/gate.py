"""The gate: the one way to private rows. Charge, read, noise, seal, in that order.

`Kernel` knows the public facts. An `Allowance` asks within a limit: `release` for noised vectors,
`choose` for a private selection. Whatever is above this file can ask for the wrong thing; it cannot
ask at the wrong price, read what it did not pay for, or see a number without its noise.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import compress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import BudgetExhausted, KernelError, OperationalError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel import noise, sensitivity
from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.kernel.contract import TableContract, TableFacts, Type, Value, in_force
from sqlpriv.kernel.ledger import Account, Booking, Ledger, Sealed, Snapshot
from sqlpriv.kernel.operations import NUMBERS, check_literal
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.kernel.render import grouped, render, verifying
from sqlpriv.kernel.scope import Scope
from sqlpriv.kernel.strata import concerned

MAX_CELLS = 2_000_000
TOGETHER = 40
"""Queries of one statement of the engine: each has its own hash table while it runs."""
STALE = (
    "the vault or its declarations changed since this was planned: nothing was read; run it again"
)
Exact = dict[a.Query, list[int]]


class Explained(NamedTuple):
    """What a measurement would do; sensitivity (L2 or L1) and sigma are in units of the sum."""

    mechanism: str
    cells: int
    sensitivity: float
    sigma: float
    price: Price
    sql: str
    replayed: bool


class Kernel:
    """A vault, opened for each statement, and the ledger beside it. Threads may share it."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.ledger = Ledger(vault.with_suffix(".ledger"))

    def close(self) -> None:
        """Closes the ledger."""
        self.ledger.close()

    def contracts(self) -> dict[str, TableContract]:
        """Returns the contract of every table, by lower-case name. Reads no row."""
        with Reader(self.vault) as reader:
            return self.in_force(reader)[0]

    def in_force(self, reader: Reader) -> tuple[dict[str, TableContract], Snapshot]:
        """Returns the contracts and the snapshot: of these contents and these declarations."""
        last, declared = self.ledger.declared()
        snapshot = self.ledger.snapshot(f"{reader.fingerprint}:{last}")
        return in_force(reader.catalog(), declared, snapshot.facts or {}, snapshot.id), snapshot

    def verify(self) -> None:
        """Records, for every table with a unit, which bounds this snapshot satisfies.

        For owners. It reads private rows without a charge; what it finds decides only whether
        bounding passes are run (`render.bounding`).
        """
        with Reader(self.vault) as reader:
            contracts, snapshot = self.in_force(reader)
            facts = {t: _facts(reader, c) for t, c in contracts.items() if c.unit}
            if facts != (snapshot.facts or {}):
                self.ledger.record_facts(snapshot.id, facts)

    def sealed(self, measurement: Measurement, contract: TableContract) -> bool:
        """Returns whether a measurement's answer would be replayed at no cost."""
        named = a.fingerprint(measurement.query)
        return self.ledger.find_seal(contract.snapshot, named, measurement.price) is not None

    def accounts(
        self, contract: TableContract, who: str, sources: Iterable[a.Relation] = ()
    ) -> list[Account]:
        """Returns what a charge for rows of these relations has to fit: see `Ledger.accounts`."""
        unit = contract.unit.table if contract.unit else contract.table
        return self.ledger.accounts(unit, who, booking(sources, contract))

    def explain(self, asked: Sequence[Measurement], contract: TableContract) -> list[Explained]:
        """Returns what each measurement would do. Reads no row, charges nothing."""
        found = []
        for m in asked:
            ready, cells = _ready(m, contract), math.prod(a.shape(m.query))
            public = (ready.mechanism, cells, ready.distance, ready.sigma, m.price)
            others = {t: replace(c, facts=TableFacts()) for t, c in contract.others.items()}
            # facts are found in rows: not for analysts
            unseen = replace(contract, facts=TableFacts(), others=others)
            sql, replayed = render([ready.reads], unseen, 0), self.sealed(m, contract)
            found.append(Explained(*public, sql, replayed))
        return found

    def threshold(
        self, source: a.Relation, contract: TableContract, price: Rho, yocto: int
    ) -> tuple[float, int]:
        """Returns the noise of `select_keys`, and how many units a value must seem to have."""
        units = Scope(source, contract).unit.rows_per_unit
        scale, least = noise.threshold_of(units, price, yocto)
        return scale, least + 1  # a unit less is counted

    def public(self, table: str) -> pa.Table:
        """Returns the rows of a table that was declared public, exactly."""
        with Reader(self.vault) as reader:
            contract = self.in_force(reader)[0].get(table.lower())
            if contract is None or not contract.public:
                raise Refused(f'the table "{table}" is not public')
            return reader.rows(contract.table)


class Allowance(AbstractContextManager["Allowance"]):
    """What one statement may ask and spend: up to `limit`, and nothing once closed.

    Until then exact marginals of a selection are kept for the next; they leave through noise alone.
    """

    def __init__(
        self, kernel: Kernel, contract: TableContract, limit: Price, principal: str, text: str
    ) -> None:
        if contract.unit is None:
            raise Refused(f'the table "{contract.table}" has no privacy unit')
        self.contract, self.unit = contract, contract.unit
        self._kernel, self._ledger = kernel, kernel.ledger
        self._principal, self._text, self._statement = principal, text, 0
        self._limit, self.spent = limit, type(limit)(0)
        self._losses: sensitivity.Losses = {}
        self._marginals: dict[object, dict[tuple[a.Key, ...], NDArray[np.int64]]] = {}
        self._charged, self._closed, self._paying = 0, False, Lock()

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._marginals.clear()

    @property
    def left(self) -> Price:
        """What this statement may still spend."""
        return type(self._limit)(self._limit.nano - self.spent.nano)

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Answers a batch of measurements, in order: one charge, one read, noise, seals.

        A measurement whose query was sealed on this snapshot at the same or a higher price is
        replayed from its seal; the rest add to the statement's `joint_price`. Nothing is read or
        charged where this raises BudgetExhausted (of the allowance or the budget), Refused (a query
        is not total, or too large), VaultBusy or OperationalError; a ReadFailed leaves its charge.
        """
        asked = [(a.fingerprint(m.query), m) for m in measurements]
        found = [self._find(named, m.price) for named, m in asked]
        fresh = [x for x, seal in zip(asked, found, strict=True) if seal is None]
        made: list[Sealed] = []
        if fresh:
            ready = [_ready(m, self.contract) for _, m in fresh]
            charge, exact = self._bought([m for _, m in fresh], [r.reads for r in ready])
            for (named, m), r in zip(fresh, ready, strict=True):
                made.append(Sealed(named, m.price, r.sigma, r.noised(exact[r.reads]).tobytes()))
            made = self._ledger.seal(charge, self._begun(), self.contract.snapshot, made)
        if replayed := [seal.id for seal in found if seal]:
            self._ledger.replay(self._begun(), replayed)
        released = []
        for m, old in zip(measurements, found, strict=True):
            seal = old or made.pop(0)
            values = np.frombuffer(seal.payload, "<f8").reshape(a.shape(m.query))
            answer = (seal.id, m.query, values, seal.sigma, seal.price, old is not None)
            released.append(Release(*answer))
        return tuple(released)

    def choose(
        self, candidates: Sequence[sensitivity.Candidate], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        """Selects one candidate for each measured stratum, a high score more likely.

        `allowed`, of shape (strata, candidates), says which may be chosen where; returned are
        positions. Price: scores of stratum s depend on the rows of s alone, and one unit moves each
        by at most the distance of `sensitivity.distance`. A unit lies in at most g strata, so every
        stratum selects at price / g, and `joint_price` charges it like a measurement.
        """
        sensitivity.check_candidates(candidates, allowed)
        first = candidates[0].query
        known = self._marginals.setdefault((first.source, first.strata), {})
        missing = [c.query for c in candidates if c.query.keys not in known]
        for query in (first, *missing):
            checked(query, Scope(first.source, self.contract))
        unit = Scope(first.source, self.contract).unit
        share = type(price)(price.nano // min(unit.groups_per_unit, a.strata_count(first)))
        named = sensitivity.selection_hash(candidates, allowed)
        if seal := self._find(named, price):
            self._ledger.replay(self._begun(), [seal.id])
            return tuple(json.loads(seal.payload))
        distance = sensitivity.distance(candidates, unit.rows_per_unit)
        everywhere: list[a.Query] = [replace(query, within=None) for query in missing]
        charge, read = self._bought([Measurement(first, price)], everywhere)
        for counted, cells in read.items():
            known[counted.keys] = np.array(cells, np.int64).reshape(a.strata_count(counted), -1)
        at = [*a.measured_strata(first)]
        scores = [sensitivity.score(c, known[c.query.keys][at]) for c in candidates]
        chosen = []
        for stratum, row in enumerate(allowed):
            open_to = np.flatnonzero(row).tolist()
            picked = noise.select([scores[i][stratum] for i in open_to], distance, share)
            chosen.append(open_to[picked])
        made = Sealed(named, price, 0.0, json.dumps(chosen).encode())
        self._ledger.seal(charge, self._begun(), self.contract.snapshot, [made])
        return tuple(chosen)

    def select_keys(
        self, source: a.Relation, expr: a.Expr, price: Rho, yocto: int
    ) -> tuple[Value, ...]:
        """Selects values that many units have, in ascending order: `noise.threshold`'s claim.

        They are keys for later questions. Price: as of a measurement without strata, and `yocto`
        of the budget's delta for keys. Raises as `release` does.
        """
        pick = noise.threshold(Scope(source, self.contract).unit.rows_per_unit, price, yocto)
        named = a.fingerprint(("keys", source, expr))
        if seal := self._find(named, price):
            self._ledger.replay(self._begun(), [seal.id])
            return tuple(json.loads(seal.payload))
        with Reader(self._kernel.vault) as reader:
            text = grouped(source, expr, self.contract, self._current(reader).hash_key)
            charge = self._charge([Measurement(a.Count(source), price)], yocto)
            groups = reader.groups(text)
        picked = (groups[i][0] for i in pick([n for _, n in groups]))
        found = tuple(sorted(v for v in picked if "\0" not in str(v) and len(str(v)) < 10_000))
        made = Sealed(named, price, 0.0, json.dumps(found).encode())
        self._ledger.seal(charge, self._begun(), self.contract.snapshot, [made])
        return found

    def _current(self, reader: Reader) -> Snapshot:
        """Returns the snapshot, if the vault and its declarations are those of the plan."""
        contracts, snapshot = self._kernel.in_force(reader)
        planned = {**self.contract.others, self.contract.table.lower(): self.contract}
        if contracts != planned:  # `others` are compared here alone
            raise OperationalError(STALE)
        return snapshot

    def _bought(self, asked: list[Measurement], queries: list[a.Query]) -> tuple[int, Exact]:
        """Pays; then the queries' exact integers, dense and row-major, kept or read."""
        groups: dict[object, list[a.Query]] = defaultdict(list)
        exact: Exact = {}
        for query in dict.fromkeys(queries):
            known = self._marginals.get((query.source, query.strata), {})
            if isinstance(query, a.Count) and query.of is None and query.keys in known:
                exact[query] = known[query.keys][[*a.measured_strata(query)]].ravel().tolist()
            else:
                groups[(query.source, query.strata)].append(query)
        if not groups:
            return self._charge(asked), exact
        with Reader(self._kernel.vault) as reader:
            key = self._current(reader).hash_key
            parts = [
                g[i : i + TOGETHER] for g in groups.values() for i in range(0, len(g), TOGETHER)
            ]
            texts = [render(part, self.contract, key) for part in parts]
            charge = self._charge(asked)
            for text, part in zip(texts, parts, strict=True):
                exact |= reader.cells(text, part)
        return charge, exact

    def _charge(self, asked: Sequence[Measurement], yocto: int = 0) -> int:
        """Pays, durably, what these add to the statement's price; returns the last charge.
        The first payment asks that the whole allowance can be paid."""
        with self._paying:  # a second thread sees what the first has paid
            joint, losses = sensitivity.joint_price(asked, self.contract, self._losses)
            if joint.nano > self._limit.nano:
                raise BudgetExhausted("the statement asks for more than its allowance")
            if joint != self.spent:  # else strata that cost less so far have caught up
                price = type(joint)(joint.nano - self.spent.nano)
                whole = price if self.spent.nano else self._limit
                at = booking([m.query.source for m in asked], self.contract)
                paid = (self.unit.table, price, whole, at, yocto)
                self._charged = self._ledger.charge(self._begun(), *paid)
            self.spent, self._losses = joint, losses
            return self._charged

    def _find(self, named: str, price: Price) -> Sealed | None:
        if self._closed:
            raise KernelError("a closed allowance answers nothing")
        return self._ledger.find_seal(self.contract.snapshot, named, price)

    def _begun(self) -> int:
        if not self._statement:
            self._statement = self._ledger.begin_statement(self._principal, self._text)
        return self._statement


class _Noisy:
    """A count or sum, checked, with its noise: nothing in it comes from a row."""

    def __init__(self, query: a.Query, price: Price, contract: TableContract) -> None:
        scope = Scope(query.source, contract)
        lattice = sensitivity.lattice_of(query, checked(query, scope))
        moved = sensitivity.sensitivity(query, scope.unit, lattice.steps)
        self.reads, self.step, self.noise = query, lattice.step, None
        if isinstance(price, Rho):
            self.mechanism, distance = "discrete Gaussian", noise.root(moved.l2_squared)
            self.noise = noise.gaussian(distance, price) if lattice.steps else None
        else:
            self.mechanism, distance = "discrete Laplace", moved.l1
            self.noise = noise.laplace(moved.l1, price) if lattice.steps else None
        self.distance = float(self.step) * distance
        self.sigma = float(self.step) * (self.noise.sigma if self.noise else 0.0)

    def noised(self, exact: list[int]) -> NDArray[np.float64]:
        """Adds noise to the exact integers, then leaves the lattice for the query's own units."""
        drawn = self.noise.draw(len(exact)) if self.noise else [0] * len(exact)
        up, down = self.step.as_integer_ratio()
        return np.array([(x + z) * up / down for x, z in zip(exact, drawn, strict=True)], "<f8")


class _Choosing:
    """A choice of a level in each cell, checked; as in `choose`, a stratum pays price / g."""

    sigma = 0.0

    def __init__(self, query: a.Level, price: Price, contract: TableContract) -> None:
        scope = Scope(query.source, contract)
        checked(query.histogram, scope)
        g = min(scope.unit.groups_per_unit, a.strata_count(query))
        distance = sensitivity.level_distance(query, scope.unit.rows_per_unit)
        self.query, self.reads = query, query.histogram
        self.mechanism, rows = "exponential mechanism", distance / (query.rank or (1, 1))[1]
        self.distance = rows * (math.sqrt(g) if isinstance(price, Rho) else g)
        self.choose = noise.chooser(distance, type(price)(price.nano // g))

    def noised(self, exact: list[int]) -> NDArray[np.float64]:
        """Returns the position of the level chosen in each cell."""
        scores = sensitivity.level_scores(self.query, exact)
        return np.array([self.choose(row) for row in scores], "<f8")


def _ready(measurement: Measurement, contract: TableContract) -> _Noisy | _Choosing:
    query, price = measurement.query, measurement.price
    if isinstance(query, a.Level):
        return _Choosing(query, price, contract)
    return _Noisy(query, price, contract)


def _facts(reader: Reader, contract: TableContract) -> dict[str, Any]:
    named = contract.unit.column if contract.unit and not contract.via else ""
    if named in contract.unique:  # the constraint says it: no unit has two rows
        return {"bounded": True, "constant": sorted(c.name.lower() for c in contract.columns)}
    bounded, *steady = reader.truths(verifying(contract))
    constant = {c.name.lower() for c in compress(contract.columns, steady)}
    return {"bounded": bool(bounded), "constant": sorted(constant | ({named} - {""}))}


def booking(sources: Iterable[a.Relation], contract: TableContract) -> Booking:
    """Returns which units a charge for rows of these relations concerns, and when: see strata.py"""
    return Booking(contract.snapshot, concerned(sources, contract))


def checked(query: a.Query, scope: Scope) -> Type | None:
    """Returns the type of what is added up, or refuses what is too large or could fail on a row."""
    total, within = a.strata_count(query), query.within
    if total > MAX_CELLS or math.prod(a.shape(query)) > MAX_CELLS:
        raise Refused(f"the query has more than {MAX_CELLS} cells")
    if within is not None and not (within and [*within] == sorted({*within} & {*range(total)})):
        raise KernelError("`within` names existing strata in ascending order")
    for key in (*query.strata, *query.keys):
        of_key = scope.type(key.expr)
        for value in key.values:
            check_literal(value, of_key)
    of = scope.type(query.of) if query.of is not None else None
    if isinstance(query, a.Sum) and of not in NUMBERS:
        raise Refused("only numbers are summed")
    return of
