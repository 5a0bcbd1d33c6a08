"""What one unit loses by queries: exact answers with and without it, against what is claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sqlpriv.kernel.checked import parts_of
from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.proof.clipped_sums import clipped_sums, clips_of
from sqlpriv.kernel.proof.unit_rows import reach_of
from sqlpriv.kernel.sql.queries import joint_batches, render, render_groups, verifying
from sqlpriv.kernel.sql.relations import Scope, partner_count
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from support.random_vaults import Vault
from support.vaults import Engine, decoded


class Laboratory:
    """An engine with one vault in it at a time.

    Attributes:
        hash_key: Settles which rows of a unit beyond its bound are kept.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.hash_key = engine, 7

    def fill(self, vault: Vault) -> dict[str, TableContract]:
        """Makes the tables; returns the contracts with what is found true of them."""
        for sql in vault.statements():
            self.engine.duckdb.execute(sql)
        facts: dict[str, Any] = {}
        contracts = vault.contracts()
        for table, contract in contracts.items():
            if contract.unit is None:
                continue
            bounded, *steady = self.engine.duckdb.execute(verifying(contract)).fetchall()[0]
            constant = [c.name for c, same in zip(contract.columns, steady, strict=True) if same]
            facts[table] = {"bounded": bool(bounded), "constant": constant}
        return vault.contracts(facts)

    def partners(
        self, contract: TableContract, relation: a.Relation, columns: tuple[str, ...]
    ) -> int:
        sql = partner_count(relation, columns, contract)
        return int(self.engine.duckdb.execute(sql).fetchall()[0][0])

    def parts(self, asked: Sequence[a.Asked], contract: TableContract) -> dict[a.Parts, list[Any]]:
        """The exact integers of each of the queries' parts, read in batches as the gate does."""
        exact = {}
        for batch in joint_batches([parts_of(q) for q in dict.fromkeys(asked)], [], contract):
            flat = [*dict.fromkeys(part for parts in batch for part in parts)]
            answers = decoded(self.engine.duckdb, render(flat, contract, self.hash_key))
            of = dict(zip(flat, answers, strict=True))
            exact |= {parts: [of[part] for part in parts] for parts in batch}
        return exact

    def scores(
        self, candidates: Sequence[proof.Candidate], contract: TableContract
    ) -> list[list[int]]:
        """The scores of a choice, by candidate and measured stratum."""
        if not candidates:
            return []
        exact = self.parts([c.query for c in candidates], contract)
        answers = [exact[c.query,][0].astype(np.int64) for c in candidates]
        return [proof.score(c, answer) for c, answer in zip(candidates, answers, strict=True)]

    def groups(
        self, source: a.Relation, exprs: tuple[a.Expr, ...], contract: TableContract
    ) -> dict[tuple[Any, ...], int]:
        """The units by the values that they have, one unit left out of each count."""
        sql = render_groups(source, exprs, contract, self.hash_key)
        rows = self.engine.duckdb.execute(sql).fetchall()
        return {row[:-1]: row[-1] for row in rows}

    def check_reach(self, source: a.Relation, contract: TableContract) -> None:
        """No unit has more rows in a relation than its public bound says."""
        scope = Scope(source, contract, hash_key=7)
        reach = reach_of(source, contract, self.partners)
        if reach.limited:
            rows = f"SELECT count(*) AS n{scope.source()} GROUP BY {scope.owner}"
            (most,) = self.engine.duckdb.execute(f"SELECT max(n) FROM ({rows})").fetchall()[0]
            assert (most or 0) <= reach.rows


def integers(query: a.Asked, parts: list[Any], scope: Scope) -> Any:
    """What noise is added to, or a choice is made of: shape (strata, …)."""
    if isinstance(query, a.Clipped):
        type_ = scope.type(query.bins.arg)
        grid = proof.lattice_of(query.by_bin[1], type_)
        flat = [part.ravel().tolist() for part in parts]
        return np.array(clipped_sums(clips_of(query, type_, grid), *flat), object).reshape(
            a.shape(query)
        )
    if isinstance(query, a.Level):
        scores = proof.level_scores(query, parts[0].astype(np.int64).ravel().tolist())
        return np.array(scores.tolist(), object).reshape(len(parts[0]), -1, scores.shape[1])
    return parts[0]


class Loss(NamedTuple):
    """What one unit loses by a query: the shares of a price in rho and of one in epsilon, and the
    numbers of the strata that it moved."""

    rho: Fraction
    epsilon: Fraction
    strata: list[int]


def loss(query: a.Asked, change: Any, scope: Scope) -> Loss:
    """What a unit loses by a change. Raises AssertionError where it is moved further than any unit
    is said to."""
    unit = scope.unit
    g = min(unit.groups_per_unit, a.strata_count(query))
    by_stratum = change.reshape(len(change), -1)
    rows = zip(a.measured_strata(query), by_stratum.tolist(), strict=True)
    moved = [stratum for stratum, row in rows if any(row)]
    assert len(moved) <= unit.groups_per_unit
    if isinstance(query, a.Level):
        most = proof.level_distance(query, unit.rows_per_unit)
        cells = [[max(abs(int(x)) for x in cell) for cell in row] for row in change.tolist()]
        assert all(sum(row) <= most for row in cells)
        return Loss(
            Fraction(sum(x * x for row in cells for x in row), most * most * g),
            Fraction(sum(x for row in cells for x in row), most * g),
            moved,
        )
    type_ = scope.type(query.of) if getattr(query, "of", None) is not None else None
    grid = proof.lattice_of(query, type_)
    if grid.steps == 0:
        assert not moved
        return Loss(Fraction(0), Fraction(0), moved)
    claim = proof.sensitivity(query, unit, grid.steps)
    l1 = sum(abs(int(x)) for x in by_stratum.ravel())
    l2 = sum(int(x) ** 2 for x in by_stratum.ravel())
    assert l1 <= claim.l1
    assert l2 <= claim.l2_squared
    return Loss(Fraction(l2, claim.l2_squared), Fraction(l1, claim.l1), moved)


def check_scores(
    candidates: Sequence[proof.Candidate],
    scope: Scope,
    whole: Sequence[Sequence[int]],
    others: Sequence[Sequence[int]],
) -> None:
    """No unit moves a score, or the sum of all, further than a choice is priced for."""
    if not candidates:
        return
    changes = np.array(whole, object) - np.array(others, object)
    m, g = scope.unit.rows_per_unit, scope.unit.groups_per_unit
    assert abs(changes).max() <= proof.distance(candidates, m)
    assert abs(changes.sum(axis=0)).max() <= proof.total_distance(candidates, m)
    assert np.count_nonzero(abs(changes).sum(axis=0)) <= g


def as_lists(exact: Mapping[a.Parts, Sequence[Any]]) -> dict[a.Parts, list[Any]]:
    return {parts: [answer.tolist() for answer in answers] for parts, answers in exact.items()}
