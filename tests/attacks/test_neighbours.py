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
from typing import Any

import pytest
from support.random_vaults import ENUM, Asker, Vault, random_vault
from support.unit_losses import Laboratory, as_lists, check_scores, integers, loss
from support.vaults import Engine

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.checked import check_expressions, parts_of, prepare_measurement
from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.proof.charged_units import UnitFilter, charged_units
from sqlpriv.kernel.proof.unit_rows import check_work
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Measurement

PARTS, FEW, MANY = 8, 3, 4_000
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Europe/Berlin")


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


def selectable(rng: random.Random, asked: Sequence[a.Asked], scope: Scope) -> tuple[a.Expr, ...]:
    """Expressions of the queries whose values may be selected; none of most seeds."""
    loose = any(c.collated for c in (scope.contract, *scope.contract.others.values()))
    usable = {Type.INTEGER} if loose else {Type.INTEGER, Type.TEXT}
    exprs = [key.expr for query in asked for key in (*query.strata, *query.keys)]
    exprs = [expr for expr in exprs if scope.type(expr) in usable]
    return tuple(rng.sample(exprs, min(len(exprs), rng.choice([1, 2]))))


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
