"""No unit moves an answer further than claimed, and some unit moves it exactly that far.

The answers compared here are those of the rendered statement, run by DuckDB without noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vaults import Engine, batch_price, contract

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.checked import check_expressions
from sqlpriv.kernel.proof.sensitivity import REAL_STEPS, bound_of, lattice_of, sensitivity
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.contract import (
    Categories,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.kernel.terms.operations import check
from sqlpriv.kernel.terms.release import Measurement

Row = tuple[Any, ...]
SCAN = a.Scan("people")
COLUMNS = {
    "id": "INTEGER",
    "s": "VARCHAR",
    "t": "DOUBLE",
    "k": "INTEGER",
    "x": "DOUBLE",
    "y": "BIGINT",
}
DOMAINS = {
    "s": Categories(("a", "b", "c", None)),
    "t": Categories((0, 1, 2)),
    "k": Categories((1, 2)),
    "x": Interval(-1.0, 3.0),
    "y": Interval(-(2**61), 2**61),
}
BY_S = a.Key(a.Col("s"), ("a", "b", "c", None))
BY_T = a.Key(a.Col("t"), (0, 1, 2))  # whole labels of a real column: 0.3 is none of them
BY_K = a.Key(a.Col("k"), (1, 2))
POSITIVE = a.Where(SCAN, a.Call(">", (a.Col("y"), a.Lit(0, Type.INTEGER))))

rows = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 2, 3, None]),
        st.sampled_from(["a", "b", "c", "z", None]),
        st.sampled_from([0.0, 0.3, 0.4, 1.0, 1.7, 2.0, None, math.nan]),
        st.sampled_from([1, 2, 3, None]),
        st.sampled_from([0.0, 1.25, -7.0, 9.0, math.nan, math.inf, -math.inf, None]),
        st.sampled_from([0, 3, 10, -5, 2**62, -(2**63), None]),
    ),
    max_size=14,
)
bounds = st.integers(1, 3)


def queries(source: a.Relation, strata: tuple[a.Key, ...], within: Any) -> list[a.Query]:
    y = a.Col("y")
    derived = a.Call("*", (y, a.Lit(3, Type.INTEGER)))
    return [
        a.Count(source, strata, within=within),
        a.Count(source, strata, (BY_K,), of=a.Col("x")),
        a.Sum(source, a.Col("x"), -1.0, 2.0, strata, (BY_K,)),  # narrower than its domain
        a.Sum(source, y, -5, 10, strata, within=within),
        a.Sum(source, derived, -6, 2**53 + 3, strata),  # no double is 2^53 + 3
    ]


def claimed(query: a.Query, made: TableContract) -> tuple[int, int]:
    assert made.unit is not None
    types = Scope(query.source, made).types
    of = None if query.of is None else check(query.of, types)
    moved = sensitivity(query, bound_of(query.source, made), lattice_of(query, of).steps)
    return moved.l1, moved.l2_squared


def moves(engine: Engine, asked: Sequence[a.Query], made: TableContract, table: list[Row]) -> Any:
    """For every unit of the table: the change of every answer when it leaves with all its rows."""
    engine.fill(made, table)
    whole = engine.exact(asked, made)
    for unit in sorted({row[0] for row in table} - {None}):
        engine.fill(made, [row for row in table if row[0] != unit])
        neighbour = engine.exact(asked, made)
        yield [(x - y).ravel() for x, y in zip(whole, neighbour, strict=True)]


def l1(change: Any) -> int:
    return int(sum(abs(int(z)) for z in change))


def l2_squared(change: Any) -> int:
    return int(sum(int(z) ** 2 for z in change))


strata_lists = st.sampled_from([(), (BY_S,), (BY_S, BY_K), (BY_T,)])
sources = st.sampled_from([SCAN, POSITIVE, a.Bounded(SCAN, 1, 1), a.Bounded(POSITIVE, 2, 1)])


@settings(max_examples=40)
@given(rows, bounds, bounds, strata_lists, sources, st.data())
def test_no_unit_moves_an_answer_further_than_claimed(
    engine: Engine,
    table: list[Row],
    m: int,
    g: int,
    strata: tuple[a.Key, ...],
    source: a.Relation,
    data: st.DataObject,
) -> None:
    made = contract(COLUMNS, DOMAINS, m=m, g=g)
    total = math.prod(len(k.values) for k in strata)
    measured = data.draw(st.sets(st.integers(0, total - 1), min_size=1))
    asked = queries(source, strata, tuple(sorted(measured)))
    nano = data.draw(st.lists(st.integers(1, 10**6), min_size=5, max_size=5))
    batch = [Measurement(q, Rho(n)) for q, n in zip(asked, nano, strict=True)]
    assert made.unit is not None
    price = batch_price(batch, made).nano
    for change in moves(engine, asked, made, table):
        loss = Fraction(0)
        for query, paid, moved in zip(asked, nano, change, strict=True):
            most_l1, most_l2 = claimed(query, made)
            assert l1(moved) <= most_l1
            assert l2_squared(moved) <= most_l2
            loss += paid * Fraction(l2_squared(moved), most_l2)
        assert loss <= price  # noise of each is scaled by its own claim: this is the batch's zCDP


@settings(max_examples=25)
@given(rows, bounds, bounds, strata_lists, sources)
def test_bounding_left_out_changes_nothing(
    engine: Engine, table: list[Row], m: int, g: int, strata: tuple[a.Key, ...], source: a.Relation
) -> None:
    made = contract(COLUMNS, DOMAINS, m=m, g=g)
    engine.fill(made, table)
    facts = engine.facts(made)
    asked = queries(source, strata, None)
    bounded = engine.exact(asked, made)
    skipped = engine.exact(asked, replace(made, facts=facts))
    for x, y in zip(bounded, skipped, strict=True):
        assert (x == y).all()


def test_the_facts_are_what_they_say(engine: Engine) -> None:
    made = contract(COLUMNS, DOMAINS, m=2)
    row = ("a", 0.3, 1, 1.0, 1)
    one, two = (1, *row), (2, *row)
    for table, bounded, missing in [
        ([one, one, two, two], True, set()),
        ([one, one, one], False, set()),
        ([one, (1, "b", *row[1:])], True, {"s"}),
        ([one, (1, None, *row[1:])], True, {"s"}),
        ([(1, None, *row[1:])] * 2, True, set()),
        ([one, one, (None, "b", *row[1:])], True, set()),
        ([(None, *row)] * 5, True, set()),
        ([one, (1, "a", 0.4, 2, 1.0, 1)], True, {"t", "k"}),
        ([(1, "a", 0.3, 1, math.nan, 1), one], True, {"x"}),
        ([], True, set()),
    ]:
        engine.fill(made, table)
        found = engine.facts(made)
        assert found == TableFacts(bounded, frozenset(set(COLUMNS) - missing))


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("g", [1, 2, 3])
def test_a_worst_unit_attains_every_bound(engine: Engine, m: int, g: int) -> None:
    made = contract(COLUMNS, DOMAINS, m=m, g=g)
    bystanders = [(9, "a", 0.0, 1, 0.0, 0), (8, "b", 0.0, 2, 0.0, 0)]
    rest = (0.0, 1, math.inf, 2**62)
    worst = [(1, s, *rest) for s in ("a", "b", "c", None) for _ in range(m + 1)]
    everything = queries(SCAN, (BY_S,), None)
    asked, *_ = moves(engine, everything, made, [*bystanders, *worst])
    for query, moved in zip(everything, asked, strict=True):
        assert (l1(moved), l2_squared(moved)) == claimed(query, made)


@pytest.mark.parametrize(("rows_kept", "groups_kept"), [(1, 1), (1, 2), (2, 1), (0, 0), (5, 9)])
def test_other_rows_than_declared_bound_every_query(
    engine: Engine, rows_kept: int, groups_kept: int
) -> None:
    """Not below one, which would be no noise; more than declared are had where they are said."""
    made = contract(COLUMNS, DOMAINS, m=3, g=3)
    rest = (0.0, 1, math.inf, 2**62)
    worst = [(1, s, *rest) for s in ("a", "b", "c", None) for _ in range(6)]
    everything = queries(a.Bounded(SCAN, rows_kept, groups_kept), (BY_S,), None)
    asked, *_ = moves(engine, everything, made, worst)
    m, g = max(1, rows_kept), min(4, max(1, groups_kept))
    for query, moved in zip(everything, asked, strict=True):
        assert (l1(moved), l2_squared(moved)) == claimed(query, made)
    assert claimed(everything[0], made) == (m * g, m * m * g)


@pytest.mark.parametrize(("kept", "counted"), [(1, 2), (2, 4), (3, 5)])
def test_that_the_declared_bound_holds_says_nothing_of_a_smaller_one(
    engine: Engine, kept: int, counted: int
) -> None:
    """Units of three rows and of two, three being declared and found."""
    made = contract(COLUMNS, DOMAINS, m=3)
    pairs = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    engine.fill(made, [(unit, "a", 0.0, 1, 0.0, row) for unit, row in pairs])
    found = replace(made, facts=engine.facts(made))
    assert found.facts.bounded
    (rows_kept,) = engine.exact([a.Count(a.Bounded(SCAN, kept, 1))], found)
    assert rows_kept.tolist() == [counted]


@settings(max_examples=40)
@given(rows, bounds, bounds, strata_lists, st.sampled_from(["s", "x", "y"]), st.booleans())
def test_no_unit_moves_a_count_of_different_values_further(
    engine: Engine, table: list[Row], m: int, g: int, strata: Any, of: str, keyed: bool
) -> None:
    made = contract(COLUMNS, DOMAINS, m=m, g=g)
    query = a.Distinct(SCAN, strata, (BY_K,) if keyed and BY_K not in strata else (), a.Col(of))
    for (moved,) in moves(engine, [query], made, table):
        most_l1, most_l2 = claimed(query, made)
        assert l1(moved) <= most_l1
        assert l2_squared(moved) <= most_l2


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("g", [1, 2])
def test_a_worst_unit_attains_the_bound_of_different_values(engine: Engine, m: int, g: int) -> None:
    """A unit all of whose values are its own; what others have, too, moves nothing."""
    made = contract(COLUMNS, DOMAINS, m=m, g=g)
    others = [(9, "a", 0.0, 1, 0.0, 0), (8, "b", 0.0, 1, 0.0, 0)]
    worst = [(1, s, 0.0, 1, 0.0, 10 + i) for s in "ab" for i in range(m + 1)]
    shared = [(1, s, 0.0, 1, 0.0, 0) for s in "ab"]
    query = a.Distinct(SCAN, (BY_S,), (), a.Col("y"))
    first, *_ = moves(engine, [query], made, [*others, *worst])
    assert (l1(first[0]), l2_squared(first[0])) == claimed(query, made)
    first, *_ = moves(engine, [query], made, [*others, *shared])
    assert l1(first[0]) == 0


def test_different_values_are_asked_alone() -> None:
    """In one statement with others, groups of more keys would count a value once each."""
    made = contract(COLUMNS, DOMAINS)
    with pytest.raises(KernelError, match="statement of their own"):
        render([a.Count(SCAN), a.Distinct(SCAN, of=a.Col("y"))], made, 0)


def test_labels_of_a_real_column_are_what_they_say(engine: Engine) -> None:
    """0.1, 0.2 and 0.3 are three strata and no 0: rounded to it, they would move it by 3, not 1."""
    made = contract(COLUMNS, DOMAINS, m=1, g=3)
    unit = [(1, "a", t, 1, 0.0, 0) for t in (0.1, 0.2, 0.3)]
    engine.fill(made, unit)
    count = a.Count(SCAN, (BY_T,))
    assert engine.exact([count], made)[0].tolist() == [0, 0, 0]
    engine.fill(made, [*unit, (1, "a", 0.0, 1, 0.0, 0)])
    assert engine.exact([count], made)[0].tolist() == [1, 0, 0]


def test_strata_that_do_not_exist_cost_nothing(engine: Engine) -> None:
    """g is at most the number of strata, and 1 without STRATIFY BY; attained as well."""
    made = contract(COLUMNS, DOMAINS, m=2, g=3)
    rest = (0.0, 1, math.inf, 2**62)
    worst = [(1, s, *rest) for s in "abc" for _ in range(4)]
    two = a.Key(a.Col("s"), ("a", "b"))
    for strata, g in [((), 1), ((two,), 2)]:
        everything = queries(SCAN, strata, None)
        moved, *_ = moves(engine, everything, made, worst)
        assert claimed(everything[0], made) == (2 * g, 4 * g)
        for query, change in zip(everything, moved, strict=True):
            assert (l1(change), l2_squared(change)) == claimed(query, made)


def test_lattices() -> None:
    """Integers are not rounded; a real step is 2^-41 of the interval; a point has no steps."""
    y, x = a.Sum(SCAN, a.Col("y"), -5, 10), a.Sum(SCAN, a.Col("x"), -1.0, 3.0)
    found = lattice_of(y, Type.INTEGER)
    assert (found.middle, found.step, found.steps) == (Fraction(5, 2), Fraction(1, 2), 15)
    found = lattice_of(x, Type.REAL)
    assert (found.middle, found.step * found.steps, found.steps) == (1, 2, REAL_STEPS)
    assert lattice_of(a.Sum(SCAN, a.Col("x"), 2.0, 2.0), Type.REAL).steps == 0


# --- bounding ---

TAGGED = contract({"id": "INTEGER", "s": "VARCHAR", "tag": "INTEGER"})
TAGS = a.Count(
    SCAN, (a.Key(a.Col("s"), ("a", "b", "c")),), (a.Key(a.Col("tag"), tuple(range(30))),)
)


def kept(engine: Engine, made: TableContract, table: list[Row], key: int = 7) -> set[int]:
    """The tags of the rows that bounding keeps."""
    engine.fill(made, table)
    return {int(tag) for _, tag in np.argwhere(engine.exact([TAGS], made, key)[0])}


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from("abcz")), max_size=24),
    bounds,
    bounds,
    st.randoms(use_true_random=False),
)
def test_what_is_kept_of_a_unit_depends_on_its_rows_alone(
    engine: Engine, units: list[tuple[int, str]], m: int, g: int, random: Any
) -> None:
    made = replace(TAGGED, unit=PrivacyUnit("people", "id", m, g))
    table = [(u, s, tag) for tag, (u, s) in enumerate(units)]
    shuffled = random.sample(table, len(table))
    together = kept(engine, made, shuffled)
    for unit in {u for u, _ in units}:
        own = [row for row in table if row[0] == unit]
        alone = kept(engine, made, own)
        assert alone == together & {row[2] for row in own}
        by_stratum = {s: {r[2] for r in own if r[1] == s} for s in "abc"}
        sizes = [len(alone & tags) for tags in by_stratum.values() if alone & tags]
        most = sum(bool(tags) for tags in by_stratum.values())
        assert len(sizes) == min(g, most)  # rows outside the declared strata take no place
        assert all(len(alone & tags) in (0, min(m, len(tags))) for tags in by_stratum.values())


def test_a_stratum_that_is_not_listed_takes_no_units_place(engine: Engine) -> None:
    """Each of 20 units may be in one stratum: were "z" one, half of them would lose "a" for it."""
    made = replace(TAGGED, unit=PrivacyUnit("people", "id", 1, 1))
    assert kept(engine, made, [(u, s, u) for u in range(20) for s in "az"]) == {*range(20)}


def test_which_rows_are_kept_is_keyed(engine: Engine) -> None:
    """60 units of three rows each: two keys keep the same by chance with probability 3^-60."""
    table = [(u, s, 3 * (u % 10) + i) for u in range(10) for i, s in enumerate("aab")]
    chosen = [kept(engine, TAGGED, table, key) for key in (0, 1, 2, 2**63, 2**64 - 1)]
    assert len({frozenset(c) for c in chosen}) == len(chosen)
    assert kept(engine, TAGGED, table, 1) == chosen[1]
    inside = replace(TAGGED, facts=TableFacts(False, frozenset({"id", "s"})))
    one = [(1, "a", tag) for tag in range(30)]
    assert len({frozenset(kept(engine, inside, one, key)) for key in range(12)}) > 3


def test_what_was_found_of_a_table_does_not_change_which_rows_are_kept(engine: Engine) -> None:
    """One unit in two strata and no column is constant: the others' rows must not be others then.

    Five units of six rows each keep two: two orders agree by chance with probability 15^-5.
    """
    made = replace(TAGGED, unit=PrivacyUnit("people", "id", 2, 3))
    table = [(u, "abc"[u % 3], 6 * u + i) for u in range(5) for i in range(6)]
    nothing = kept(engine, made, table)
    found = replace(made, facts=TableFacts(False, frozenset({"id", "s"})))
    assert len(nothing) == 10
    assert kept(engine, found, table) == nothing


NO_HASH_OF_ITS_OWN = -2930909409056394622
"""DuckDB hashes this BIGINT as it does NULL, and -1 as it does 0 where they are HUGEINT."""
BOUGHT = a.Call("=", (a.Col("item"), a.Lit("bought", Type.TEXT)))
TOLD = a.Case(((BOUGHT, a.Lit(NO_HASH_OF_ITS_OWN, Type.INTEGER)),), a.Lit(None, Type.INTEGER))


@pytest.mark.parametrize(
    "query",
    [a.Count(SCAN, of=TOLD), a.Sum(SCAN, a.Col("total"), -1, 0)],
    ids=["an analyst's expression", "stored numbers"],
)
def test_rows_of_one_hash_are_not_kept_by_where_they_lie(engine: Engine, query: a.Query) -> None:
    """A sort that leaves ties as they fall keeps other rows of some 30 units when one more comes.

    Without a guard the answers below move by 5 and more; a unit adds 1 step at most to either.
    """
    made = contract({"id": "INTEGER", "item": "VARCHAR", "total": "HUGEINT"})
    equal = f"SELECT hash({NO_HASH_OF_ITS_OWN}) = hash(NULL), hash(0::HUGEINT) = hash(-1::HUGEINT)"
    assert engine.duckdb.execute(equal).fetchone() == (True, True)
    rows = """CREATE OR REPLACE TABLE people AS SELECT id, kind.* FROM range(3000) r(id),
        (VALUES ('bought', -1::HUGEINT), ('seen', 0::HUGEINT)) kind(item, total)
        WHERE id <> {} ORDER BY hash(id, item)"""
    found = []
    for gone in (-1, 0, 1, 1500, 2999):
        engine.duckdb.execute(rows.format(gone))
        found.append(int(engine.exact([query], made)[0].sum()))
    assert max(abs(found[0] - other) for other in found) <= 1


def test_every_query_of_a_batch_keeps_the_same_strata(engine: Engine) -> None:
    made = contract(COLUMNS, DOMAINS, m=1, g=1)
    table = [(u, s, 0.0, 1, 2.0, 9) for u in range(20) for s in "abc"]
    engine.fill(made, table)
    asked = queries(SCAN, (BY_S,), None)
    together = engine.exact(asked, made)
    for query, answer in zip(asked, together, strict=True):
        alone = engine.exact([query], made)[0]
        assert (alone == answer).all()
    counts = together[0].ravel()
    assert (together[1].sum(axis=1) == counts).all()


# --- prices of batches ---

withins = st.none() | st.sets(st.integers(0, 4), min_size=1).map(lambda s: tuple(sorted(s)))


@given(
    st.lists(st.tuples(withins, st.integers(1, 1000)), min_size=1, max_size=6), st.integers(1, 7)
)
def test_a_batch_costs_what_the_worst_unit_loses(
    asked: list[tuple[tuple[int, ...] | None, int]], g: int
) -> None:
    strata = (a.Key(a.Col("s"), ("a", "b", "c", "d", "e")),)
    made, most = contract(COLUMNS, g=g), min(g, 5)
    for kind in (Rho, Epsilon):
        batch = [Measurement(a.Count(SCAN, strata, within=w), kind(n)) for w, n in asked]
        worst = max(
            sum(Fraction(n, most) for w, n in asked for s in touched if w is None or s in w)
            for touched in itertools.combinations(range(5), most)
        )
        assert batch_price(batch, made) == kind(math.ceil(worst))


def test_different_relations_or_strata_add_up() -> None:
    strata = (a.Key(a.Col("s"), ("a", "b")),)
    first, second = (a.Count(SCAN, strata, within=(i,)) for i in (0, 1))
    other = a.Count(POSITIVE, strata, within=(1,))
    turned = a.Count(SCAN, (a.Key(a.Col("s"), ("b", "a")),), within=(0,))
    made = contract(COLUMNS)

    def price(*asked: a.Query) -> int:
        return batch_price([Measurement(q, Rho(10)) for q in asked], made).nano

    assert price(first, second) == 10
    assert price(first, other) == price(first, turned) == price(first, first) == 20
    with pytest.raises(KernelError):
        batch_price([Measurement(first, Rho(1)), Measurement(first, Epsilon(1))], made)


@given(st.lists(st.integers(-1, 3), max_size=4))
def test_within_names_strata_that_exist_once_each(within: list[int]) -> None:
    query = a.Count(SCAN, (a.Key(a.Col("s"), ("a", "b", "c")),), within=tuple(within))
    scope = Scope(SCAN, contract(COLUMNS))
    if within and within == sorted(set(within)) and set(within) <= {0, 1, 2}:
        check_expressions(query, scope)
    else:
        with pytest.raises(KernelError):
            check_expressions(query, scope)


def test_of_too_many_strata_or_cells_none_is_measured() -> None:
    """Memory is taken for every stratum, whichever few are measured."""
    scope, values = Scope(SCAN, contract(COLUMNS)), tuple(map(str, range(1_500)))
    many = (a.Key(a.Col("s"), values), a.Key(a.Col("s"), values[::-1]))
    for query in (a.Count(SCAN, many, within=(0,)), a.Count(SCAN, (), many)):
        with pytest.raises(Refused, match="more than 2000000 cells"):
            check_expressions(query, scope)
