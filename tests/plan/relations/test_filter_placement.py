"""Filters stand below joins, and no answer changes by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.vaults import EXACT, ask

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.relations.filter_placement import (
    join_rows,
    place_filter,
    with_connected_joins,
)

MakeKernel = Callable[..., Kernel]
LEFT, RIGHT = a.Scan("people"), a.Scan("people", "r.")
YES = a.Lit(True, Type.BOOLEAN)


def compare(column: str, op: str, value: int) -> a.Call:
    return a.Call(op, (a.Col(column), a.Lit(value, Type.INTEGER)))


SAME = a.Call("=", (a.Col("x"), a.Col("r.x")))
SMALL, MISSING = compare("x", "<", 3), a.Call("is null", (a.Col("r.x"),))
RIGHT_SMALL = compare("r.x", "<", 2)
EITHER = a.Call("or", (a.Call("and", (SAME, SMALL)), a.Call("and", (SAME, RIGHT_SMALL))))


@pytest.fixture
def kernel(make_kernel: MakeKernel) -> Kernel:
    return make_kernel(
        "CREATE TABLE people AS SELECT i % 5 AS id, i % 4 AS x FROM range(20) r(i)", m=16
    )


@pytest.mark.parametrize("kind", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize(
    "tests", [(SAME,), (SAME, SMALL), (SAME, RIGHT_SMALL), (SMALL,), (EITHER,)]
)
def test_a_join_has_the_rows_that_it_had(
    kernel: Kernel, kind: str, tests: tuple[a.Expr, ...]
) -> None:
    contracts = kernel.contracts()
    placed: a.Relation = join_rows(LEFT, RIGHT, tests, kind, contracts)
    plain: a.Relation = a.Join(LEFT, RIGHT, a.Call("and", (YES, *tests)), kind)
    filters = [SMALL] if kind in ("semi", "anti") else [SMALL, MISSING, RIGHT_SMALL, EITHER]
    for predicate in filters:
        query, expected = (
            a.Count(rows)
            for rows in (place_filter(placed, predicate, contracts), a.Where(plain, predicate))
        )
        moved, stood = ask(kernel, Measurement(query, EXACT), Measurement(expected, EXACT))
        assert moved.values.tolist() == stood.values.tolist()


def test_filters_stand_where_the_rows_come_from(kernel: Kernel) -> None:
    contracts = kernel.contracts()
    inner = join_rows(LEFT, RIGHT, (SAME, RIGHT_SMALL), "inner", contracts)
    placed = place_filter(inner, SMALL, contracts)
    assert placed == a.Join(a.Where(LEFT, SMALL), a.Where(RIGHT, RIGHT_SMALL), SAME)
    kept = a.Join(LEFT, RIGHT, SAME, "left")
    assert place_filter(kept, MISSING, contracts) == a.Where(kept, MISSING)
    assert place_filter(a.Join(LEFT, RIGHT, YES), EITHER, contracts) == a.Join(
        LEFT, RIGHT, a.Call("and", (SAME, EITHER))
    )


def test_rows_beyond_the_bound_are_chosen_among_what_is_asked_for(make_kernel: MakeKernel) -> None:
    """A person has 40 visits, 2 of them on day 3: both are found, though 4 visits count at most."""
    kernel = make_kernel(
        "CREATE TABLE people AS SELECT i % 5 AS id, i // 10 AS x FROM range(200) r(i)", m=4
    )
    contracts = kernel.contracts()
    visited = join_rows(LEFT, RIGHT, (SAME, compare("r.x", "=", 3)), "semi", contracts)
    on_day = place_filter(visited, compare("x", "=", 3), contracts)
    (release,) = ask(kernel, Measurement(a.Count(on_day), EXACT))
    assert release.values.tolist() == [10]


def test_tables_are_joined_when_something_ties_them(kernel: Kernel) -> None:
    """`FROM shops, towns, people` with a condition of people on each: in the written order, every
    shop would meet every town before any person does."""
    contracts, private = kernel.contracts(), {"id", "x"}
    shops, towns, people = RIGHT, a.Scan("people", "s."), LEFT
    of_shop = a.Call("=", (a.Col("id"), a.Col("r.id")))
    of_town = a.Call("=", (a.Col("x"), a.Col("s.x")))
    product = a.Join(a.Join(shops, towns, YES), people, a.Call("and", (of_shop, of_town)))
    tied = a.Join(a.Join(people, shops, of_shop), towns, of_town)
    assert with_connected_joins(product, private, contracts) == tied
    assert with_connected_joins(a.Where(product, SMALL), private, contracts) == a.Where(tied, SMALL)
    loose = a.Join(a.Join(people, shops, YES), towns, YES)
    assert with_connected_joins(loose, private, contracts) == loose
