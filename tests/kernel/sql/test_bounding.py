"""When bounding may be left out, and what a keyed selection counts: exactly that, and no more."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.vaults import Engine, contract

from sqlpriv.errors import KernelError
from sqlpriv.kernel.engine import fingerprint
from sqlpriv.kernel.sql.queries import KEEP_ALL, bounding, joint_batches, render, render_groups
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, TableFacts, Type
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.session import Session

COLUMNS = {"id": "INTEGER", "s": "INTEGER", "t": "INTEGER"}
SCAN, S, T = a.Scan("people"), a.Col("s"), a.Col("t")
STRATA = (a.Key(S, (0, 1, 2, 3)),)
BOUNDED = TableFacts(bounded=True)
STEADY = TableFacts(bounded=False, constant=frozenset({"s"}))
BOTH = TableFacts(bounded=True, constant=frozenset({"s"}))


def is_bounded(facts: TableFacts, m: int, g: int, strata: tuple[a.Key, ...] = STRATA) -> bool:
    """Whether rows of a unit, or strata, may be left out."""
    made = contract(COLUMNS, m=m, g=g, facts=facts)
    sql = render([a.Count(SCAN, strata)], made, 7).sql
    assert ("row_number()" in sql) is ("dense_rank()" in sql)
    return "row_number()" in sql


@pytest.mark.parametrize(
    ("facts", "m", "g", "bounded"),
    [
        (TableFacts(), 1, 1, True),
        (TableFacts(), 1, 5, True),  # 5 strata may be less than a unit has
        (BOUNDED, 1, 1, False),  # one row is in one stratum
        (BOUNDED, 2, 1, True),  # two rows may be in two
        (BOUNDED, 3, 2, True),
        (BOUNDED, 3, 3, False),  # three rows are in three strata at most
        (BOUNDED, 3, 4, False),
        (BOUNDED, 4, 3, True),
        (STEADY, 2, 1, True),  # all rows of a unit are in one stratum, and too many
        (BOTH, 2, 1, False),
    ],
)
def test_a_pass_is_left_out_only_where_it_changes_nothing(
    facts: TableFacts, m: int, g: int, bounded: bool
) -> None:
    assert is_bounded(facts, m, g) is bounded


@pytest.mark.parametrize(
    ("facts", "m", "statements"), [(BOUNDED, 1, 1), (BOUNDED, 2, 2), (BOTH, 2, 1)]
)
def test_queries_are_read_together_where_the_same_rows_are_kept(
    facts: TableFacts, m: int, statements: int
) -> None:
    """Of two rows of a unit in two strata one is kept by strata, and both without strata."""
    made = contract(COLUMNS, m=m, facts=facts)
    queries = [a.Count(SCAN, STRATA), a.Count(SCAN)]
    counts = [(query,) for query in queries]
    assert len(joint_batches(counts, [], made)) == statements
    assert len(joint_batches(counts[:1], counts[1:], made)) == statements
    if statements > 1:
        with pytest.raises(KernelError, match="same rows"):
            render(queries, made, 7)
    else:
        render(queries, made, 7)


@pytest.mark.parametrize(("m", "g", "statements"), [(1, 1, 1), (2, 1, 2), (4, 2, 2)])
@pytest.mark.parametrize("facts", [TableFacts(), BOUNDED, BOTH])
def test_what_is_found_true_does_not_say_which_queries_of_joins_share_a_statement(
    facts: TableFacts, m: int, g: int, statements: int
) -> None:
    """One unit may make it untrue. In a statement of other queries the rows at a join's inputs are
    ranked by other columns, so that other rows of all units would be kept."""
    same = a.Call("=", (a.Col("a_id"), a.Col("b_id")))
    joined = a.Join(a.Scan("people", "a_"), a.Scan("people", "b_"), same, "semi")
    strata = (a.Key(a.Col("a_s"), (0, 1)),)
    counts = [(a.Count(joined, strata),), (a.Count(joined),)]
    made = contract(COLUMNS, m=m, g=g, facts=facts)
    assert len(joint_batches(counts, [], made)) == statements


def test_what_is_foreseen_does_not_multiply_groups() -> None:
    """Bins of four columns, 1,000 each, are read with the first query or apart: few joint groups.
    What is asked now is read together, however many there are."""
    made = contract(COLUMNS, facts=BOUNDED)
    keys = [a.Key(a.Call("+", (S, a.Lit(i, Type.INTEGER))), tuple(range(1000))) for i in range(4)]
    queries = [(a.Count(SCAN, (), (key,)),) for key in keys]
    assert [len(batch) for batch in joint_batches([], queries, made)] == [1, 1, 1, 1]
    assert [len(batch) for batch in joint_batches(queries[:3], queries[3:], made)] == [3, 1]
    small = (a.Count(SCAN, (), STRATA),)
    assert [len(b) for b in joint_batches([small], queries[:2], made)] == [2, 1]


@pytest.mark.parametrize(("groups", "sizes"), [(18, [3, 1]), (500, [3, 1]), (1_500, [1, 1, 1, 1])])
def test_what_is_foreseen_is_read_together_where_it_makes_no_groups(
    groups: int, sizes: list[int]
) -> None:
    """The bins of one mean by 500 groups are 25,000 joint groups, which its cells have alone: its
    histogram of all cells is read with them. The bins of two means by 18 groups would be more."""
    made = contract(COLUMNS, facts=BOUNDED)
    group = a.Key(S, tuple(range(groups)))
    one, other = (
        a.Key(a.Call("+", (T, a.Lit(i, Type.INTEGER))), tuple(range(50 - i))) for i in range(2)
    )
    keys = [(group,), (one,), (group, one), (group, other)]
    counts = [(a.Count(SCAN, (), by),) for by in keys]
    assert [len(batch) for batch in joint_batches(counts[:1], counts[1:], made)] == sizes


def test_what_one_answer_is_made_of_is_read_together_however_many_groups_there_are() -> None:
    """Apart, its counts would be of other rows than its sums: a statement ranks a unit's rows by
    what it uses of them."""
    made = contract(COLUMNS)
    many = tuple(a.Key(column, tuple(range(300))) for column in (S, T))
    pair = a.Count(SCAN, (), many), a.Sum(SCAN, S, 0, 9, (), many)
    others = [(a.Count(SCAN, (), STRATA),), pair[:1], pair]
    assert joint_batches([], others, made) == [[pair[:1]], [pair], [others[0]]]
    assert joint_batches(others, [], made) == [others]


def test_every_column_of_the_strata_has_to_be_constant() -> None:
    two = (*STRATA, a.Key(T, (0, 1)))
    assert is_bounded(BOTH, 2, 1, two)
    steady = TableFacts(bounded=True, constant=frozenset({"s", "t"}))
    assert not is_bounded(steady, 2, 1, two)
    sum_of_both = (a.Key(a.Call("+", (S, T)), (0, 1, 2)),)
    assert is_bounded(BOTH, 2, 1, sum_of_both)
    assert not is_bounded(BOTH, 2, 1, ())  # without strata there is one


@pytest.mark.parametrize(("m", "g"), [(2, 1), (3, 2), (4, 3)])
def test_a_unit_of_m_rows_in_m_strata_is_kept_in_g(engine: Engine, m: int, g: int) -> None:
    """Where rows alone are known to be few, strata still are bounded, by rank and for each unit."""
    made = contract(COLUMNS, m=m, g=g, facts=BOUNDED)
    engine.fill(made, [(unit, i, 0) for unit in (1, 2) for i in range(m)])
    kept = engine.exact([a.Count(SCAN, STRATA)], made)[0]
    assert kept.sum() == 2 * g
    assert kept.max() <= 2


def test_rows_outside_of_the_strata_take_no_place(engine: Engine) -> None:
    made = contract(COLUMNS, m=2, g=1, facts=BOUNDED)
    engine.fill(made, [(unit, stratum, 0) for unit in range(40) for stratum in (1, 9)])
    assert engine.exact([a.Count(SCAN, STRATA)], made)[0].tolist() == [0, 40, 0, 0]
    loose = contract(COLUMNS, m=1, g=1)
    assert engine.exact([a.Count(SCAN, STRATA)], loose)[0].tolist() == [0, 40, 0, 0]


def test_rows_of_every_stratum_are_bounded_for_themselves(engine: Engine) -> None:
    made = contract(COLUMNS, m=2, g=3)
    engine.fill(made, [(unit, s, t) for unit in (1, 2) for s in range(3) for t in range(5)])
    assert engine.exact([a.Count(SCAN, STRATA)], made)[0].tolist() == [4, 4, 4, 0]


def named_rows(m: int = 1, *, named: bool = True) -> TableContract:
    """Rows with a number of their own, which their table says is UNIQUE, or does not say."""
    made = contract(COLUMNS | {"row": "BIGINT"}, m=m)
    return replace(made, unique=frozenset({"row"} if named else ()))


@pytest.mark.parametrize(("named", "low", "high"), [(True, 0.06, 0.14), (False, 0.42, 0.58)])
def test_each_of_a_unit_s_rows_is_as_likely_to_be_kept(
    engine: Engine, named: bool, low: float, high: float
) -> None:
    """n = 2,000 units of nine rows in level 0 and one in level 1: a tenth keep level 1, within six
    standard deviations. Where nothing tells the nine apart, half of the units do."""
    made, units = named_rows(named=named), 2_000
    rows = [(u, int(i == 9), 0, 10 * u + i) for u in range(units) for i in range(10)]
    engine.fill(made, rows)
    kept = engine.exact([a.Count(SCAN, (), STRATA)], made)[0][0]
    assert kept.sum() == units
    assert low < kept[1] / units < high


def test_what_is_kept_of_a_unit_depends_on_its_own_rows_alone(engine: Engine) -> None:
    """For each of forty units: its rows alone, before others' and after others' keep the same."""
    made, query = named_rows(), a.Count(SCAN, (), STRATA)
    others = [(1_000 + i, i % 4, 0, 10**6 + i) for i in range(50)]
    engine.fill(made, others)
    of_others = engine.exact([query], made)[0]
    for unit in range(40):
        mine = [(unit, i % 4, 0, 100 * unit + i) for i in range(12)]
        answers = []
        for rows in (mine, mine + others, others + mine[::-1]):
            engine.fill(made, rows)
            answers.append(engine.exact([query], made)[0])
        alone, first, last = answers
        assert (first - of_others).tolist() == alone.tolist() == (last - of_others).tolist()


def test_nothing_is_ranked_where_all_is_kept() -> None:
    made = contract(COLUMNS, m=1, facts=BOUNDED)
    assert f"kept AS ({KEEP_ALL})" in render([a.Count(SCAN)], made, 7).sql


# --- relations of which no unit has more rows than are kept ---

Q = a.Scan("people", "q.")
ROWS, PARTNERS, YES = a.Col("row"), a.Col("q.row"), a.Lit(True, Type.BOOLEAN)
BY_ROW = a.Call("=", (ROWS, PARTNERS))
TWO = a.Union(("u",), ((SCAN, (S,)), (Q, (a.Col("q.s"),))))
BY_KEY = a.PerUnit(SCAN, (("k", S),), (a.Fold("n", "count"),))
WRITTEN: dict[str, tuple[a.Relation, bool]] = {
    "rows that meet by their number": (a.Join(SCAN, Q, BY_ROW), True),
    "kept without a partner": (a.Join(SCAN, Q, BY_ROW, "left"), True),
    "one row of each unit on the left": (a.Join(Q, SCAN, a.Call("=", (a.Col("q.s"), ROWS))), True),
    "with a partner": (a.Join(SCAN, Q, YES, "semi"), True),
    "filtered, and a column more": (
        a.Derive(a.Where(a.Join(SCAN, Q, BY_ROW), a.Call("<", (S, T))), "d", S),
        True,
    ),
    "a join of joins": (
        a.Join(a.Join(SCAN, Q, BY_ROW), a.Scan("people", "r."), a.Call("=", (S, a.Col("r.row")))),
        True,
    ),
    "the parts of a union add up": (TWO, True),
    "inside the unit, one row": (a.PerUnit(SCAN, (), (a.Fold("n", "count"),)), True),
    "inside the unit, by key": (BY_KEY, False),
    "by a row of each pair, met by number": (
        a.Join(
            a.PerUnit(a.Join(SCAN, Q, YES), (("k", ROWS),)),
            a.Scan("people", "z."),
            a.Call("=", (a.Col("k"), a.Col("z.row"))),
        ),
        True,
    ),
    "by key, met by number": (a.Join(BY_KEY, Q, a.Call("=", (a.Col("k"), PARTNERS))), True),
    "a table alone": (SCAN, False),
    "all pairs": (a.Join(SCAN, Q, YES), False),
    "pairs of equal values": (a.Join(SCAN, Q, a.Call("=", (S, a.Col("q.t")))), False),
    "numbers of one side": (a.Join(SCAN, Q, a.Call("=", (S, ROWS))), False),
    "public rows, as many as there are": (
        a.Join(SCAN, a.Scan("pub", "p."), a.Call("=", (S, a.Col("p.s")))),
        False,
    ),
    "more kept than declared, fewer than met": (
        a.Bounded(a.Join(SCAN, a.Scan("pub", "p."), a.Call("=", (S, a.Col("p.s")))), 6, 1),
        False,
    ),
    "public rows by number": (
        a.Join(SCAN, a.Scan("pub", "p."), a.Call("=", (S, a.Col("p.row")))),
        True,
    ),
    "fewer kept than met": (a.Bounded(a.Join(SCAN, Q, BY_ROW), 1, 1), False),
}


@pytest.mark.parametrize("which", WRITTEN)
def test_what_joins_and_unions_bound_as_written(engine: Engine, which: str) -> None:
    """Of each of three units 3 rows count, and nine are stored: where no pass follows, it would
    leave out none of what was written."""
    relation, whole = WRITTEN[which]
    made = named_rows(3)
    pub = replace(made, table="pub", unit=None, public=True)
    made = replace(made, others={"pub": pub, "people": made})
    rows = [(u, i, i % 2, 9 * u + i) for u in range(3) for i in range(9)]
    engine.fill(made, rows)
    engine.fill(pub, [(None, i % 3, 0, i) for i in range(12)])
    scope = Scope(relation, made, hash_key=7)
    assert scope.facts.bounded is whole
    assert ("row_number()" in bounding({}, scope, ())) is not whole
    written = scope.select(scope.exports())
    counted_rows = f"SELECT count(*) FROM ({written}) GROUP BY sqlpriv_unit"
    of_units = [n for (n,) in engine.duckdb.execute(counted_rows).fetchall()]
    assert not whole or max(of_units, default=0) <= scope.unit.rows_per_unit


def test_columns_that_stay_constant_in_a_join() -> None:
    """A right one does not where a left row has no partner: it is NULL there."""
    made = replace(named_rows(3), facts=BOTH)
    kept = {
        kind: Scope(a.Join(SCAN, Q, BY_ROW, kind), made).facts.constant
        for kind in ("inner", "left", "semi", "anti")
    }
    assert kept == {"inner": {"s", "q.s"}, "left": {"s"}, "semi": {"s"}, "anti": {"s"}}
    assert Scope(a.PerUnit(SCAN, (("s", T),), ()), made).facts == BOUNDED


# --- the keyed selection ---


def counted(
    engine: Engine, rows: list[Any], m: int, key: int = 7, expr: a.Expr = S
) -> dict[Any, int]:
    made = contract(COLUMNS, m=m)
    engine.fill(made, rows)
    return dict(engine.duckdb.execute(render_groups(SCAN, (expr,), made, key)).fetchall())


def test_a_selection_counts_units_less_one(engine: Engine) -> None:
    rows = [(unit, 0, 0) for unit in range(5)] + [(unit, 1, 0) for unit in range(10, 12)]
    rows += [(20, 2, 0)]
    assert counted(engine, rows, m=1) == {0: 4, 1: 1}


def test_a_unit_counts_once_in_a_value(engine: Engine) -> None:
    rows = [(1, 0, i) for i in range(9)] + [(2, 0, i) for i in range(9)]
    assert counted(engine, rows, m=3) == {0: 1}
    assert counted(engine, [(1, 0, i) for i in range(9)], m=3) == {}


def test_a_unit_counts_in_m_values(engine: Engine) -> None:
    """Unit 1 has six values, each of which three others have: it counts in m of them."""
    others = [(1000 + 10 * v + i, v, 0) for v in range(6) for i in range(3)]
    for m in (1, 2, 5):
        both = counted(engine, [(1, v, 0) for v in range(6)] + others, m)
        assert Counter(both.values()) == {3: m, 2: 6 - m}


def test_which_values_of_a_unit_count_depends_on_the_key_and_the_unit(engine: Engine) -> None:
    """Eight units of four values each: by unit and by key their choices differ."""
    others = [(1000 + 10 * v + i, v, 0) for v in range(4) for i in range(2)]
    chosen = [
        {
            v
            for v, n in counted(engine, [(unit, v, 0) for v in range(4)] + others, 1, key).items()
            if n == 2
        }
        for unit, key in itertools.product((1, 2), range(8))
    ]
    assert all(len(values) == 1 for values in chosen)
    assert len(set().union(*chosen[:8])) > 1  # unit 1, by the key
    assert chosen[:8] != chosen[8:]  # unit 2 under the same keys


def test_null_is_a_value_that_takes_a_place(engine: Engine) -> None:
    rows = [(unit, None, 0) for unit in range(99)] + [(unit, 3, 0) for unit in range(99)]
    values = counted(engine, rows, m=1)
    assert values.keys() == {3, None}
    assert sum(values.values()) == 97  # each unit in one of them, and one less of both
    assert counted(engine, rows, m=2) == {3: 98, None: 98}


def test_rows_of_nobody_have_no_value(engine: Engine) -> None:
    assert counted(engine, [(None, 0, 0), (None, 0, 1), (1, 0, 0), (2, 0, 0)], m=2) == {0: 1}


# --- sums inside a unit; the state of a vault ---


def test_the_sum_of_a_unit_is_clamped_before_it_is_cast(engine: Engine) -> None:
    """Forty rows of 2^61 - 1 overflow a BIGINT: whether a unit has them must not be an error."""
    made = contract(COLUMNS | {"x": "BIGINT"})
    most = 2**61 - 1
    engine.fill(made, [(1, 0, 0, most)] * 40 + [(2, 0, 0, -most)] * 40)
    for lower, upper in ((0, most), (-most, 0)):
        fold = a.Fold("n", "sum", a.Col("x"), lower, upper)
        per_unit = a.PerUnit(SCAN, (), (fold,))
        assert engine.exact([a.Count(per_unit)], made)[0].tolist() == [2]
        (total,) = engine.exact([a.Sum(per_unit, a.Col("n"), lower, upper)], made)[0]
        assert total == 0  # one unit at either end, in steps from the middle


def test_a_log_is_known_by_its_contents(tmp_path: Path) -> None:
    vault, log = tmp_path / "a.duckdb", tmp_path / "a.duckdb.wal"
    vault.write_bytes(bytes(3 * 4096))
    os.utime(vault, ns=(10**18, 10**18))
    names = [fingerprint(vault)]
    for text in (b"one more row", b"two less row", b"two less rows", b""):
        log.write_bytes(text)
        os.utime(log, ns=(10**18, 10**18))
        names.append(fingerprint(vault))
    assert len(set(names[:4])) == 4
    assert fingerprint(vault) == names[4]


def test_a_stratum_is_as_constant_as_the_columns_that_it_is_made_of() -> None:
    """Where a unit may have two rows in one stratum, only strata that vary inside it are ranked."""
    facts = TableFacts(True, frozenset({"k"}))
    found = contract({"id": "INTEGER", "k": "INTEGER", "s": "INTEGER"}, m=2, facts=facts)
    for column, is_ranked in (("k", False), ("s", True)):
        derived = a.Derive(a.Scan("people"), "d", a.Call("abs", (a.Col(column),)))
        by_stratum = a.Count(derived, (a.Key(a.Col("d"), (0, 1)),))
        assert ("dense_rank" in render([by_stratum], found, 0).sql) is is_ranked
    assert Scope(a.Scan("people", "p."), found).facts.constant == {"p.k"}


def test_a_unique_link_bounds_no_unit_that_has_many_parents(tmp_path: Path) -> None:
    """Each order has one invoice, and a customer three orders: no bound of one row holds."""
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.execute("""
            CREATE TABLE customers (id INTEGER PRIMARY KEY);
            CREATE TABLE orders (number INTEGER PRIMARY KEY, customer INTEGER);
            CREATE TABLE invoices (of_order INTEGER UNIQUE, paid INTEGER);
            INSERT INTO customers VALUES (1), (2);
            INSERT INTO orders VALUES (1, 1), (2, 1), (3, 1), (4, 2);
            INSERT INTO invoices VALUES (1, 0), (2, 0), (3, 1), (4, 1);
            ALTER TABLE customers ADD PRIVACY_KEY (id);
            ALTER TABLE customers SET PU;
            ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 3);
            ALTER TABLE orders ADD PRIVACY_LINK (customer) REFERENCES customers(id);
            ALTER TABLE invoices SET PRIVACY BOUND (rows_per_unit = 1);
            ALTER TABLE invoices ADD PRIVACY_LINK (of_order) REFERENCES orders(number)""")
    kernel = Kernel(tmp_path / "v.duckdb")
    facts = {table: found.facts for table, found in kernel.contracts().items()}
    assert not facts["invoices"].bounded
    assert "paid" not in facts["invoices"].constant
    assert facts["orders"].bounded
    kernel.close()


def test_keys_inside_a_unit_vary_in_it_and_one_row_of_a_unit_does_not() -> None:
    """A unit has a row for each of its keys, so in as many strata: those are ranked. Grouped
    without keys it has one row, in one stratum."""
    made = contract(COLUMNS, m=2, facts=BOUNDED)
    for keys, is_ranked in (((("s", S),), True), ((), False)):
        rows = a.PerUnit(SCAN, keys, (a.Fold("t", "count", reach=2),))
        by_stratum = a.Count(rows, (a.Key(S if keys else T, (0, 1, 2)),))
        assert ("dense_rank" in render([by_stratum], made, 0).sql) is is_ranked


def test_spark_is_asked_for_many_marginals_by_several_statements() -> None:
    """One of them all would be too long, or have more nested subqueries than Spark resolves."""
    columns = {"id": "INTEGER"} | {f"c{i}": "INTEGER" for i in range(120)}
    made = contract(columns)
    keys = [a.Key(a.Col(column), tuple(range(20))) for column in columns if column != "id"]
    asked = [(a.Count(SCAN, keys=pair),) for pair in itertools.pairwise(keys)]
    assert joint_batches(asked, [], made) == [asked]
    spark = replace(made, engine="spark")
    batches = joint_batches(asked, [], spark)
    texts = [render([*itertools.chain(*batch)], spark, 7).sql for batch in batches]
    assert sorted(map(str, itertools.chain(*batches))) == sorted(map(str, asked))
    assert 5 < len(texts) < 10
    assert max(map(len, texts)) < 2**16
