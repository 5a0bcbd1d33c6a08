"""The gate: the one way to private rows. Charge, read, noise, seal, in that order.

An `Allowance` asks within a limit: `release` for noised vectors, `choose` for a private selection,
`measure_distance` for how far marginals are from public tables.
Whatever is above this file can ask for the wrong thing; it cannot ask at the wrong price, read what
it did not pay for, or see a number without its noise.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import BudgetExhausted, KernelError, OperationalError, Refused
from sqlpriv.kernel.checked import check_expressions, parts_of, prepare_measurement
from sqlpriv.kernel.ledger.records import Sealed, Snapshot
from sqlpriv.kernel.proof import noise, sensitivity
from sqlpriv.kernel.proof.delay import OPERATIONS, RANKED, WRITTEN, Delay
from sqlpriv.kernel.proof.unit_rows import check_work
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.sql.queries import Rendered, joint_batches, render, render_groups
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import PrivacyUnit, TableContract, Value
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.kernel.vault import Kernel, booking, release_of

Exact = dict[a.Parts, tuple[list[int], ...]]
SCORES_TO_ROWS = sensitivity.SCORE_UNIT**2


class Allowance(AbstractContextManager["Allowance"]):
    """What one statement may ask and spend: up to `limit`, and nothing once it is closed.

    While it is open it keeps the exact marginals that a selection read, for the next selection, and
    the cells that were read ahead (`foresee`). An exact number leaves only with noise, and only
    when it is charged.

    Claim: noise is drawn once for a query at a price. A crash before answers are sealed loses these
    answers, which nobody saw, and their charge.

    Args:
        kernel: The vault and its ledger.
        contract: Of the table that the statement is about; it names who pays.
        limit: The most that the statement may spend.
        principal: Who asks; a ceiling may be theirs.
        text: The statement, for the ledger.
        repeatable: The statement asks by what earlier answers told, so a later run of it must be
            given the same answers. Its answers are sealed one by one; `_find` says which seal it is
            replayed from. Answers of any other statement are sealed together, in one wait for the
            disk: when the allowance is closed, which is before a session shows anything, or when
            one of them is asked for again.
        whole: All of `limit` is paid at once, durably, before the first row is read: see `_charge`.

    Attributes:
        replayed: The numbers of the seals that answered at no cost.
    """

    def __init__(
        self,
        kernel: Kernel,
        contract: TableContract,
        limit: Price,
        principal: str,
        text: str,
        repeatable: bool = False,
        whole: bool = False,
    ) -> None:
        if contract.unit is None:
            raise Refused(f'the table "{contract.table}" has no privacy unit')
        self.contract, self.unit, self.repeatable = contract, contract.unit, repeatable
        self._kernel, self._ledger = kernel, kernel.ledger
        self._asked, self._statement = (principal, text), 0
        self._limit, self._whole, self.spent = limit, whole, type(limit)(0)
        self._losses: sensitivity.Losses = {}
        self._kept: dict[a.Parts, list[NDArray[Any]]] = {}  # of all strata, of shape (strata, …)
        self._ahead: list[a.Parts] = []
        self._charged, self._closed, self._paying = 0, False, Lock()
        self.replayed: list[int] = []
        self._unsealed: list[tuple[int, Sealed]] = []  # under their charges
        self._scopes: dict[int, Scope] = {}  # by the relation's id; each keeps its relation

    def __exit__(self, *_: object) -> None:
        """Closes the allowance, seals the answers that are not sealed yet, and records in one
        transaction which seals were replayed."""
        self._closed = True
        self._kept.clear()
        if self._unsealed:
            self._seal()
        if self.replayed:
            with self._ledger.begin("IMMEDIATE"):
                self._ledger.replay(
                    self._statement or self._ledger.begin_statement(*self._asked), self.replayed
                )

    def _seal(self, *new: tuple[int, Sealed]) -> list[Sealed]:
        """Seals the answers that wait for it and these new ones, each under its charge; returns all
        of them with the numbers that the ledger gave them."""
        sealed = self._ledger.seal(self._statement, self.contract.snapshot, [*self._unsealed, *new])
        self._unsealed.clear()
        return sealed

    def foresee(self, queries: Sequence[a.Asked]) -> None:
        """Has the next read of rows, if there is one, count for these queries, too. They are asked
        later, and are charged, noised and sealed then as any other query."""
        self._ahead += [_parts_of_all_strata(parts_of(query)) for query in queries]

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Answers a batch of measurements, in order: one charge, one read, noise, seals.

        A measurement whose query was sealed on this snapshot (or one that `Kernel.serving` names)
        at the same or a higher price is replayed from its seal; the rest add to the statement's
        `joint_price`. Nothing is read or charged where this raises BudgetExhausted (of the
        allowance or the budget), Refused (a query is not total, or too large), VaultBusy or
        OperationalError; a ReadFailed leaves its charge.
        """
        named_queries = [(a.query_hash(m.query), m) for m in measurements]
        if {seal.query_hash for _, seal in self._unsealed} & dict(named_queries).keys():
            self._seal()
        with self._ledger.begin():
            seals = [self._find(m.query.source, named, m.price) for named, m in named_queries]
        fresh = [x for x, seal in zip(named_queries, seals, strict=True) if seal is None]
        fresh_seals: list[Sealed] = []
        if fresh:
            prepared = [prepare_measurement(m, self._scope(m.query.source)) for _, m in fresh]
            charge, exact = self._buy([m for _, m in fresh], [parts_of(m.query) for _, m in fresh])
            fresh_seals = [
                Sealed(named, m.price, one.sigma, one.answer(*exact[parts_of(m.query)]).tobytes())
                for (named, m), one in zip(fresh, prepared, strict=True)
            ]
            self._unsealed += [(charge, seal) for seal in fresh_seals]
            if self.repeatable:
                fresh_seals = self._seal()
        self.replayed += [seal.id for seal in seals if seal]
        return tuple(
            release_of(old or fresh_seals.pop(0), m.query, replayed=bool(old))
            for m, old in zip(measurements, seals, strict=True)
        )

    def choose(
        self, candidates: Sequence[sensitivity.Candidate], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        """Selects one candidate for each measured stratum, a high score more likely.

        `allowed`, of shape (strata, candidates), says which may be chosen where; returned are
        positions. Price: scores of stratum s depend on the rows of s alone, and one unit moves each
        by at most the distance of `sensitivity.distance`. A unit lies in at most g strata, so every
        stratum selects at price / g, and `joint_price` charges it like a measurement.
        """
        unit = self._bounds(candidates, allowed)
        far, share = sensitivity.distance(candidates, unit.rows_per_unit), unit.groups_per_unit
        pick = noise.chooser(far, type(price)(price.nano // share))

        def draw(scores: list[list[int]]) -> bytes:
            open_to = [np.flatnonzero(row).tolist() for row in allowed]
            picks = [pick([scores[i][s] for i in row]) for s, row in enumerate(open_to)]
            return json.dumps([row[i] for row, i in zip(open_to, picks, strict=True)]).encode()

        named = sensitivity.selection_hash(candidates, allowed)
        return tuple(json.loads(self._seal_of_scores(candidates, price, named, draw).payload))

    def measure_distance(
        self, candidates: Sequence[sensitivity.Candidate], price: Price
    ) -> tuple[NDArray[np.float64], float]:
        """Returns the noised sum of the candidates' scores in each measured stratum, and its sigma.

        Price: one unit moves the sums of at most g strata, each by at most D, the bound of
        `sensitivity.total_distance`: as a vector by D g in L1 and by D sqrt(g) in L2, for which the
        noise is made. `joint_price` charges it like a measurement.
        """
        strata = len(a.measured_strata(candidates[0].query)) if candidates else 0
        unit = self._bounds(candidates, np.ones((strata, len(candidates)), np.bool_))
        far, g = sensitivity.total_distance(candidates, unit.rows_per_unit), unit.groups_per_unit
        drawn = noise.additive(far * g, far * far * g, price)

        def draw(scores: list[list[int]]) -> bytes:
            sums = zip(map(sum, zip(*scores, strict=True)), drawn.draw(strata), strict=True)
            return np.array([(x + z) / SCORES_TO_ROWS for x, z in sums], "<f8").tobytes()

        named = "distance " + sensitivity.selection_hash(candidates, np.ones(0, np.bool_))
        seal = self._seal_of_scores(candidates, price, named, draw, drawn.sigma / SCORES_TO_ROWS)
        return np.frombuffer(seal.payload, "<f8"), seal.sigma

    def _bounds(
        self, candidates: Sequence[sensitivity.Candidate], allowed: NDArray[np.bool_]
    ) -> PrivacyUnit:
        """Checks the candidates; returns in how many rows of how many of their strata a unit can
        be."""
        sensitivity.check_candidates(candidates, allowed)
        query = candidates[0].query
        unit = self._scope(query.source).unit
        return replace(unit, groups_per_unit=min(unit.groups_per_unit, a.strata_count(query)))

    def _seal_of_scores(
        self,
        candidates: Sequence[sensitivity.Candidate],
        price: Price,
        named: str,
        draw: Callable[[list[list[int]]], bytes],
        sigma: float = 0.0,
    ) -> Sealed:
        """Returns the seal of this name. Where there is none it pays, reads, and seals what `draw`
        makes of the exact scores, which are by candidate and measured stratum: a choice, or sums
        with noise."""
        first = candidates[0].query
        whole = [_parts_of_all_strata((c.query,)) for c in candidates]
        missing = [parts for parts in whole if parts not in self._kept]
        for query, *_ in ((first,), *missing):
            check_expressions(query, self._scope(first.source))
        if seal := self._find(first.source, named, price):
            self.replayed.append(seal.id)
            return seal
        charge, read = self._buy([Measurement(first, price)], missing)
        self._keep(read)
        at = [*a.measured_strata(first)]
        scores = [
            sensitivity.score(c, self._kept[parts][0][at])
            for c, parts in zip(candidates, whole, strict=True)
        ]
        return self._seal((charge, Sealed(named, price, sigma, draw(scores))))[-1]

    def select_keys(
        self, source: a.Relation, exprs: tuple[a.Expr, ...], price: Rho, yocto: int
    ) -> tuple[tuple[Value, ...], ...]:
        """Selects values that many units have, in ascending order: `noise.threshold`'s claim.
        NULL is a value like another, and comes last.

        They are keys for later questions. Price: as of a measurement without strata, and `yocto`
        of the budget's delta for keys. Raises as `release` does.
        """
        pick = noise.threshold(self._scope(source).unit.rows_per_unit, price, yocto)
        named, engine = a.query_hash(("keys", source, exprs)), self.contract.engine
        if seal := self._find(source, named, price):
            self.replayed.append(seal.id)
            return tuple(map(tuple, json.loads(seal.payload)))
        with self._reading(
            [source],
            lambda key: [Rendered(render_groups(source, exprs, self.contract, key), {}, engine)],
            [Measurement(a.Count(source), price)],
            yocto,
        ) as (reader, (text,), charge):
            groups = reader.groups(text.sql, engine)
        picked = (groups[i][:-1] for i in pick([group[-1] for group in groups]))
        usable = [v for v in picked if all("\0" not in str(x) and len(str(x)) < 10_000 for x in v)]
        keys = sorted(usable, key=lambda v: [(x is None, x) for x in v])
        self._seal((charge, Sealed(named, price, 0.0, json.dumps(keys).encode())))
        return tuple(keys)

    def _current(self, reader: Reader) -> Snapshot:
        """Returns the snapshot, if the vault and its declarations are those of the plan."""
        reader.check_files()
        contracts, snapshot = self._kernel.bind_contracts(reader.fingerprint, reader.catalog())
        if contracts != {**self.contract.others, self.contract.table.lower(): self.contract}:
            raise OperationalError(
                "the vault or its declarations changed since this was planned; nothing was read;"
                " ask again"
            )
        return snapshot

    def _buy(self, measurements: list[Measurement], asked: list[a.Parts]) -> tuple[int, Exact]:
        """Pays; returns the charge and each query's exact integers, dense and row-major. They are
        read, unless they were kept or read ahead."""
        missing = [x for x in dict.fromkeys(asked) if _parts_of_all_strata(x) not in self._kept]
        exact: Exact = {}
        if missing:
            ahead = [parts for parts in dict.fromkeys(self._ahead) if parts not in missing]
            for part in chain(*ahead):
                check_expressions(part, self._scope(part.source))
            batches = joint_batches(missing, ahead, self.contract)
            with self._reading(
                [query.source for (query, *_), *_ in batches],
                lambda key: [
                    render([*dict.fromkeys(chain(*b))], self.contract, key) for b in batches
                ],
                measurements,
            ) as (reader, texts, charge):
                for batch, text in zip(batches, texts, strict=True):
                    cells = reader.cells(text)
                    exact |= {parts: tuple(cells[part] for part in parts) for parts in batch}
            self._keep({parts: exact[parts] for parts in ahead})
            self._ahead.clear()
        else:
            charge = self._charge(measurements)
        for parts in asked:
            if parts not in exact:
                at = [*a.measured_strata(parts[0])]
                exact[parts] = tuple(
                    cells[at].ravel().tolist() for cells in self._kept[_parts_of_all_strata(parts)]
                )
        return charge, exact

    @contextmanager
    def _reading(
        self,
        sources: Sequence[a.Relation],
        write: Callable[[int], list[Rendered]],
        measurements: Sequence[Measurement],
        yocto: int = 0,
    ) -> Iterator[tuple[Reader, list[Rendered], int]]:
        """Pays; yields the reader of the rows, the statements that `write` makes with the
        snapshot's hash key, and the charge. `Delay` delays the read by the number of scans that all
        of these relations take, and by how many operations the statements compute of a row."""
        with Delay() as delay, Reader(self._kernel.vault) as reader:
            texts = write(self._current(reader).hash_key)
            delay.scans = sum(
                sources.count(x) * self._scans(x) for x in dict.fromkeys(sources)
            ) + sum(
                (sum(map(text.sql.count, WRITTEN)) + len(text.sql) // 100) // OPERATIONS
                for text in texts
            )
            for text in texts:
                reader.prepare(text.sql, text.engine)
            yield reader, texts, self._charge(measurements, yocto)

    def _scope(self, relation: a.Relation) -> Scope:
        if id(relation) not in self._scopes:
            self._scopes[id(relation)] = Scope(relation, self.contract)
        return self._scopes[id(relation)]

    def _scans(self, source: a.Relation) -> int:
        """Returns for how many scans of private tables a read is delayed; `check_work` says what is
        refused. A scan counts as `RANKED` scans where some bound of the vault was not verified to
        hold, since the rows of a unit may then be ranked."""
        holds = self._scope(source).facts.bounded and all(
            table.facts.bounded
            for table in (self.contract, *self.contract.others.values())
            if table.unit
        )
        return (1 if holds else RANKED) * check_work(
            source, self.contract, self._kernel.most_partners
        )

    def _keep(self, exact: Exact) -> None:
        self._kept |= {
            parts: [  # a sum may be above 64 bits
                np.array(cells, np.int64 if isinstance(query, a.Count) else object).reshape(
                    a.strata_count(query), -1
                )
                for query, cells in zip(parts, answers, strict=True)
            ]
            for parts, answers in exact.items()
        }

    def _charge(self, measurements: Sequence[Measurement], yocto: int = 0) -> int:
        """Pays, durably, what these measurements add to the statement's joint price; returns the
        number of the last charge. The first payment is refused unless the whole allowance could be
        paid. KernelError inside of a transaction of somebody else's, which could undo the charge
        when the rows were read.

        Claim: every unit is charged at least the joint price of the measurements that concern it. A
        `whole` allowance charges what is left of its limit to every unit with the first measurement
        that concerns every unit. Later measurements then cost nothing more: their joint price is
        within the limit. A measurement that concerns some units alone is charged to these by
        itself. If it came first, the others have paid the limit less its price. They lose no more
        than that, because the joint price, which is within the limit, counts its price, too."""
        with self._paying:  # a second thread sees what the first has paid
            joint, losses = sensitivity.joint_price(measurements, self.contract, self._losses)
            if joint.nano > self._limit.nano:
                raise BudgetExhausted("the statement asks for more than its allowance")
            concerned = booking([m.query.source for m in measurements], self.contract)
            to_pay = self._limit if self._whole and not concerned.units else joint
            # Otherwise it was paid before: by a `whole` allowance, or because these strata cost no
            # more than dearer ones that were charged. The ledger refuses a price of another kind,
            # and a delta for keys that comes after the whole price was paid.
            if to_pay.nano > self.spent.nano or yocto or type(joint) is not type(self.spent):
                price = type(joint)(to_pay.nano - self.spent.nano)
                # the statement and its first charge, or none; on the disk before a row is read
                with self._ledger.begin("IMMEDIATE", outermost=True):
                    begun = self._statement or self._ledger.begin_statement(*self._asked)
                    paid = self._ledger.charge(
                        begun,
                        self.contract.payer,
                        price,
                        None if self.spent.nano else self._limit,
                        concerned,
                        yocto,
                    )
                self._statement, self._charged, self.spent = begun, paid, to_pay
            self._losses = losses
            return self._charged

    def _find(self, source: a.Relation, named: str, price: Price) -> Sealed | None:
        """Returns the seal of exactly that price, or else the dearest one above it; a `repeatable`
        allowance gets the cheapest that costs enough. None where no seal costs enough.

        A query is bought only where no seal costs enough, so each new seal of a query is its
        dearest one. The cheapest seal that costs enough therefore stays the same. So a statement
        whose later questions depend on earlier answers is replayed as it went, also where it asks
        one query at rising prices. All seals are released, so whichever of them answers, no unit
        loses anything."""
        if self._closed:
            raise KernelError("a closed allowance answers nothing")
        return min(
            self._kernel.find_seals(source, self.contract, named, price),
            key=lambda seal: seal.price.nano if self.repeatable else seal.price != price,
            default=None,
        )


def _parts_of_all_strata(parts: a.Parts) -> a.Parts:
    return tuple(q if q.within is None else replace(q, within=None) for q in parts)
