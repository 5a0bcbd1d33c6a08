"""A hostile fuzzer of the kernel: no unit moves what is read further than it is charged for.

Each seed makes a vault, a relation and queries (`support.random_vaults`), lays the vault out with
and without one unit, and compares what the rendered statements give before noise. Facts that would
spare a bounding pass, lists of units and the order of rows may change nothing.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.random_vaults import ENUM, Asker, Vault, random_vault
from support.vaults import Engine, decoded

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.checked import check_expressions, parts_of, prepare_measurement
from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.proof.charged_units import UnitFilter, charged_units
from sqlpriv.kernel.proof.clipped_sums import clipped_sums, clips_of
from sqlpriv.kernel.proof.unit_rows import check_work, reach_of
from sqlpriv.kernel.sql.queries import joint_batches, render, render_groups, verifying
from sqlpriv.kernel.sql.relations import Scope, partner_count
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Measurement

PARTS, FEW, MANY = 8, 3, 4_000
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Europe/Berlin")


class Laboratory:
    """An engine with one vault in it at a time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

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
            answers = decoded(self.engine.duckdb, render(flat, contract, 7))
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
        rows = self.engine.duckdb.execute(render_groups(source, exprs, contract, 7)).fetchall()
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


def without_help(contracts: Mapping[str, TableContract], table: str) -> TableContract:
    """A contract of which nothing was found true."""
    plain = {t: replace(c, facts=type(c.facts)()) for t, c in contracts.items()}
    return with_others(plain, table)


def with_others(contracts: Mapping[str, TableContract], table: str) -> TableContract:
    return replace(contracts[table], others=contracts)


def first_table(relation: a.Relation) -> str:
    """A private table of a relation: the left one."""
    while not isinstance(relation, a.Scan):
        match relation:
            case a.Join(left):
                relation = left
            case a.Union(_, parts):
                relation = parts[0][0]
            case _:
                relation = relation.source
    return relation.table


def check_seed(engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns what became of a seed: "refused", "nobody", "still" or "moved"."""
    rng = random.Random(seed)
    vault, laboratory = random_vault(rng), Laboratory(engine)
    engine.duckdb.execute(f"SET TimeZone = '{rng.choice(ZONES)}'")
    asked = Asker(rng, vault).queries()
    source = asked[0].source
    table = first_table(source)
    contracts = laboratory.fill(vault)
    contract = with_others(contracts, table)
    try:
        scope = Scope(source, contract)
        for query in asked:
            for part in parts_of(query):
                check_expressions(part, scope)
        check_work(source, contract, laboratory.partners)
        for query in asked:
            prepare_measurement(Measurement(query, Rho(10**9)), scope)
        whole = laboratory.parts(asked, contract)
    except Refused:
        return "refused"
    except KernelError as error:
        if "a clipped sum" not in str(error):
            raise
        return "refused"
    laboratory.check_reach(source, contract)
    candidates = Asker(rng, vault).candidates(asked)
    whole_scores = laboratory.scores(candidates, contract)
    selected = selectable(rng, asked, scope)
    groups = laboratory.groups(source, selected, contract) if selected else {}
    plain = laboratory.parts(asked, without_help(contracts, table))
    assert as_lists(plain) == as_lists(whole), "facts change what is read"
    with monkeypatch.context() as patched:
        patched.setattr(Scope, "halves", lambda *_, **__: ("", "", ""))
        unlisted = laboratory.parts(asked, contract)
    assert as_lists(unlisted) == as_lists(whole), "lists change what is read"
    laboratory.fill(vault.shuffled(rng))
    reordered = laboratory.parts(asked, contract)
    assert as_lists(reordered) == as_lists(whole), "the order of rows changes what is read"
    if not vault.units():
        return "nobody"
    prices = [rng.randint(1, 10**6) for _ in asked]
    batch = [Measurement(q, Rho(n)) for q, n in zip(asked, prices, strict=True)]
    outcome = "still"
    for unit in rng.sample(vault.units(), min(2, len(vault.units()))):
        neighbour = with_others(laboratory.fill(vault.without(unit)), table)
        other = laboratory.parts(asked, neighbour)
        lost_rho, lost_epsilon, moved_strata = Fraction(0), Fraction(0), {}
        for query, nano in zip(asked, prices, strict=True):
            parts = parts_of(query)
            change = integers(query, whole[parts], scope) - integers(query, other[parts], scope)
            lost = loss(query, change, scope)
            lost_rho, lost_epsilon = lost_rho + lost.rho * nano, lost_epsilon + lost.epsilon * nano
            moved_strata.setdefault(query.strata, set()).update(lost.strata)
            outcome = "moved" if lost.strata else outcome
        if not is_charged(laboratory, vault, unit, charged_units([source], contract)):
            assert not any(moved_strata.values()), "a unit that is not charged moved an answer"
        check_scores(candidates, scope, whole_scores, laboratory.scores(candidates, neighbour))
        if selected:
            others = laboratory.groups(source, selected, neighbour)
            changes = [abs(groups.get(k, 0) - others.get(k, 0)) for k in groups | others]
            assert sum(changes) <= scope.unit.rows_per_unit
            assert max(changes, default=0) <= 1
        for strata, moved in moved_strata.items():
            assert len(moved) <= scope.unit.groups_per_unit, strata
        assert lost_rho <= proof.joint_price(batch, contract, {})[0].nano
        pure = [Measurement(m.query, Epsilon(m.price.nano)) for m in batch]
        assert lost_epsilon <= proof.joint_price(pure, contract, {})[0].nano
    return outcome


def is_charged(laboratory: Laboratory, vault: Vault, unit: int, charged: UnitFilter) -> bool:
    """Whether a charge that is booked to a filter concerns a unit."""
    columns = [*vault.columns["p"]]
    for row in (row for owner, row in vault.rows["p"] if owner == unit):
        for column, values in charged.items():
            kind = vault.columns["p"][column]
            text = f"CAST({row[columns.index(column)]} AS {ENUM if kind == 'ENUM' else kind})"
            text = f"CAST({text} AS VARCHAR)" if type_of(kind) is Type.TEXT else text
            (stored,) = laboratory.engine.duckdb.execute(f"SELECT {text}").fetchall()[0]
            if stored not in values:
                return False
    return True


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


def selectable(rng: random.Random, asked: Sequence[a.Asked], scope: Scope) -> tuple[a.Expr, ...]:
    """Expressions of the queries whose values may be selected; none of most seeds."""
    loose = any(c.collated for c in (scope.contract, *scope.contract.others.values()))
    usable = {Type.INTEGER} if loose else {Type.INTEGER, Type.TEXT}
    exprs = [key.expr for query in asked for key in (*query.strata, *query.keys)]
    exprs = [expr for expr in exprs if scope.type(expr) in usable]
    return tuple(rng.sample(exprs, min(len(exprs), rng.choice([1, 2]))))


def as_lists(exact: Mapping[a.Parts, Sequence[Any]]) -> dict[a.Parts, list[Any]]:
    return {parts: [answer.tolist() for answer in answers] for parts, answers in exact.items()}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_unit_moves_an_answer_further_than_it_is_charged_for(
    engine: Engine, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = Counter(check_seed(engine, part * FEW + i, monkeypatch) for i in range(FEW))
    engine.duckdb.execute("RESET TimeZone")
    print(f"learned: nothing; {dict(outcomes)}")


@pytest.mark.parametrize("seed", [7_300_869])
def test_seeds_that_found_a_fault(
    engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 7,300,869 the facts said which queries share a statement, and so which rows are kept."""
    assert check_seed(engine, seed, monkeypatch) == "still"
    engine.duckdb.execute("RESET TimeZone")


@pytest.mark.slow
def test_no_unit_moves_very_many_answers_further(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = Counter(check_seed(engine, MANY + i, monkeypatch) for i in range(MANY))
    engine.duckdb.execute("RESET TimeZone")
    print(f"learned: nothing; {dict(outcomes)}")
    assert outcomes["moved"] > MANY / 6  # else it would ask of rows that nobody has


def charged_by_rows(
    sources: Sequence[a.Relation], contract: TableContract, proved: Any = charged_units
) -> UnitFilter:
    """A break: a unit of several rows is charged as if it had the values of one of them."""
    result: UnitFilter = proved(sources, replace(contract, unique=contract.unique | {"id"}))
    return result


def score_less(candidates: Any, rows_per_unit: int, proved: Any = proof.distance) -> int:
    """A break: scores are said to move three quarters as far as they do."""
    return int(proved(candidates, rows_per_unit)) * 3 // 4


@pytest.mark.parametrize(
    ("place", "name", "broken", "seed"),
    [
        (sys.modules[__name__], "charged_units", charged_by_rows, 122),
        (proof, "distance", score_less, 23),
    ],
)
def test_twins_are_noticed(
    engine: Engine,
    place: Any,
    name: str,
    broken: Any,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seeds that the breaks were searched for."""
    monkeypatch.setattr(place, name, broken)
    with pytest.raises(AssertionError):
        check_seed(engine, seed, monkeypatch)
    engine.duckdb.execute("RESET TimeZone")
