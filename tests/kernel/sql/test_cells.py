"""Groups of the engine added up into cells, against the plainest way to do it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sqlpriv.kernel.sql.cells import added_up, listed_cells
from sqlpriv.kernel.terms import algebra as a

SEX, RACE = a.Key(a.Col("sex"), ("f", "m")), a.Key(a.Col("race"), (1, 2, 3))
AGE, JOB = a.Key(a.Col("age"), (0, 10, 20, 30)), a.Key(a.Col("job"), ("a", "b", None))
SCAN = a.Scan("people")
QUERIES: list[a.Query] = [
    a.Count(SCAN, (SEX, RACE)),
    a.Count(SCAN, (SEX, RACE), (AGE,)),
    a.Count(SCAN, (SEX, RACE), (JOB, AGE)),
    a.Count(SCAN, (SEX, RACE), (JOB,), within=(1, 4)),
    a.Sum(SCAN, a.Col("pay"), 0, 10, (SEX, RACE), (JOB,)),
]
VALUES = dict(zip(QUERIES, ("n", "n", "n", "n", "a0"), strict=True))


def plainly(query: a.Query, groups: list[dict[str, int]], names: dict[a.Key, str]) -> list[int]:
    """One dictionary entry a cell, one loop over the groups."""
    strata = [*itertools.product(*(range(len(key.values)) for key in query.strata))]
    rows = [strata[s] for s in a.measured_strata(query)]
    levels = itertools.product(*(range(len(key.values)) for key in query.keys))
    cells = {(*row, *at): 0 for row, at in itertools.product(rows, levels)}
    for group in groups:
        at = tuple(group[names[key]] for key in (*query.strata, *query.keys))
        if at in cells:
            cells[at] += group[VALUES[query]]
    return [*cells.values()]


@pytest.mark.parametrize("kind", ["int64", "object"])
@pytest.mark.parametrize("groups", [0, 1, 500])
def test_every_group_is_added_to_its_cell_and_to_no_other(groups: int, kind: str) -> None:
    """A level that is not listed has the number after the last; sums may pass 64 bits."""
    rng, names = np.random.default_rng(groups), listed_cells(QUERIES)
    columns = {n: rng.integers(0, len(key.values) + 1, groups) for n, key in names.items()}
    columns["n"] = rng.integers(1, 2**40, groups)
    columns["a0"] = rng.integers(-(2**62), 2**62, groups)
    if kind == "object":
        columns = {name: column.astype(object) for name, column in columns.items()}
        columns["a0"] = columns["a0"] * 2**60
    rows = [
        dict(zip(columns, map(int, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    found = added_up(VALUES, columns)
    numbered = {key: name for name, key in names.items()}
    exact = QUERIES if kind == "object" else QUERIES[:-1]  # int64 is for counts
    for query in exact:
        assert found[query] == plainly(query, rows, numbered), query
        assert all(type(x) is int for x in found[query])


def test_one_group_without_strata_or_keys() -> None:
    query = a.Count(SCAN)
    assert added_up({query: "n"}, {"n": np.array([7])}) == {query: [7]}


def test_coarse_bins_are_told_by_finer_ones_and_by_no_others() -> None:
    """Each query's bins, wide or fine, are those of a query alone; edges that are not some of the
    finer ones, another column, and a list that leaves out a bin have columns of their own."""
    x, y = a.Col("x"), a.Col("y")
    fine, wide = a.Key(a.Bin(x, (1, 2, 3, 4)), (0, 1, 2, 3, 4)), a.Key(a.Bin(x, (2, 4)), (0, 1, 2))
    others = [
        a.Key(a.Bin(x, (2, 5)), (0, 1, 2)),
        a.Key(a.Bin(y, (2, 4)), (0, 1, 2)),
        a.Key(a.Bin(x, (2, 4)), (0, 1)),
    ]
    queries = [a.Count(SCAN, (), (key,)) for key in (wide, fine, *others)]
    names = {key: name for name, key in listed_cells(queries).items()}
    assert wide not in names
    assert {fine, *others} == {*names}
    columns = {name: np.array([0] * 6) for name in names.values()}
    columns |= {
        names[fine]: np.array([0, 1, 2, 3, 4, 5]),
        "n": np.array([1, 10, 100, 1000, 10**4, 7]),
    }
    added = added_up(dict.fromkeys(queries, "n"), columns)
    assert added[queries[0]] == [11, 1100, 10_000]
    assert added[queries[1]] == [1, 10, 100, 1000, 10_000]
    assert listed_cells(queries[:1]) == {"k0": wide}
    partly = a.Key(a.Bin(x, (1, 2, 3, 4)), (0, 1, 2, 3))
    assert {*listed_cells([queries[0], a.Count(SCAN, (), (partly,))]).values()} == {wide, partly}
