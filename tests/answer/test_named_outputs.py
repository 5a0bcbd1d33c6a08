"""Outputs that are columns of the cells: the same rows with DuckDB and without it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support.exact_people import PEOPLE, engine, exact, planned

from sqlpriv.answer import rows
from sqlpriv.answer.outputs import cell_engine, named_outputs
from sqlpriv.kernel.terms.contract import Categories, Column, Type
from sqlpriv.plan.output_half_widths import has_half_width
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")
NAMED = [
    "SELECT sex, race, COUNT(*) AS n, AVG(income) AS a, SUM(age) AS s FROM people"
    " GROUP BY race STRATIFY BY sex",
    "SELECT region, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (region, race)",
    "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n, COUNT(*) AS again, VAR_POP(age) AS v"
    " FROM people",
    "SELECT sex, AVG(income) AS a FROM people WHERE age > 98 STRATIFY BY sex",
]
NAMED += [
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY n DESC",
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race LIMIT 1",
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race OFFSET 1",
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY race DESC LIMIT 9 OFFSET 9",
    "SELECT sex, race, AVG(income) AS a FROM people GROUP BY race STRATIFY BY sex"
    " ORDER BY a DESC NULLS FIRST, race NULLS FIRST LIMIT 4",
    "SELECT region, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (region, race)"
    " ORDER BY 2, 1 DESC OFFSET 2",
]
OTHER = [
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race ORDER BY n + 1",
    "SELECT race, COUNT(*) AS n FROM people GROUP BY race HAVING n > 0",
    "SELECT race, COUNT(*) + 1 AS n FROM people GROUP BY race",
]


@pytest.mark.parametrize("sql", NAMED)
def test_named_outputs_are_those_of_the_engine(sql, monkeypatch):
    plan = planned(sql)
    assert named_outputs.are_named(plan.output)
    with engine() as people:
        releases = exact(people, plan.measurements)
    # noise, so that no half-width is 0
    noised = [replace(r, sigma=2.5, values=r.values - 300.5) for r in releases]
    for some in (releases, noised, []):
        without = rows.answer(plan, some, None)
        with monkeypatch.context() as patch:
            patch.setattr(rows, "are_named", lambda _: False)
            with_engine = rows.answer(plan, some, None)
        assert without.table.schema == with_engine.table.schema
        assert without.table.to_pylist() == with_engine.table.to_pylist()
        assert without.half_widths == with_engine.half_widths
        assert without.summed == with_engine.summed


@pytest.mark.parametrize("sql", OTHER)
def test_whatever_orders_filters_or_computes_is_the_engines(sql):
    assert not named_outputs.are_named(planned(sql).output)


def test_a_limit_that_is_no_number_is_the_engines():
    output = planned(NAMED[0]).output
    assert named_outputs.are_named(replace(output, limit=t.Literal(1)))
    for other in (t.Literal(1.5), t.Literal(True), t.Literal(-1), t.Name("aggregate_0")):
        assert not named_outputs.are_named(replace(output, limit=other))
        assert not named_outputs.are_named(replace(output, offset=other))


def test_cells_are_sorted_as_by_the_engine():
    """NULL, NaN, both infinities, both zeros and equal numbers, in every order of two keys."""
    random, size = np.random.default_rng(7), 200
    real = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 1e300], size)
    whole, texts = random.integers(-1, 2, size), random.choice(["", "a", "B", "é", "z"], size)
    columns = {
        "aggregate_0": arrow.numbers(real, random.random(size) < 0.2),
        "aggregate_1": arrow.numbers(whole, random.random(size) < 0.2),
        "group_0": pa.array([x or None for x in texts.tolist()]),
    }
    places, summed = np.arange(size), np.zeros(size, np.int64)
    cells = pa.table(
        {**columns, "summed_0": arrow.numbers(summed), "position": arrow.numbers(places)}
    )
    output = planned("SELECT race, COUNT(*), AVG(income) FROM people GROUP BY race").output
    names = [t.Name(name) for name in columns]
    with cell_engine.engine_of_cells(cells) as sandbox:
        for number, (names_of_keys, *said) in enumerate(
            itertools.product(itertools.permutations(names, 2), *[(True, False)] * 4)
        ):
            (first, second), (down, up, nulls, lasts) = names_of_keys, said
            limit, offset = [(None, None), (7, 0), (50, 170), (0, 3), (None, 190)][number % 5]
            ordered = replace(
                output,
                items=tuple(names),
                order_by=(t.Order(first, down, nulls or None), t.Order(second, up, lasts)),
                limit=None if limit is None else t.Literal(limit),
                offset=None if offset is None else t.Literal(offset),
            )
            assert named_outputs.are_named(ordered)
            shown = named_outputs.shown_cells(cells, ordered)
            with_engine = cell_engine.evaluate_outputs(sandbox, ordered, [])
            for i, name in enumerate(columns):
                expected = repr(with_engine.column(i).to_pylist())
                assert repr(shown.column(name).to_pylist()) == expected
    huge = replace(output, order_by=(), limit=t.Literal(10**30), offset=t.Literal(10**20))
    assert named_outputs.shown_cells(cells, huge).num_rows == 0  # more than DuckDB reads


def test_labels_of_an_enum_are_the_engines():
    labels = Column("sex", Type.TEXT, "ENUM('F', 'M')", Categories(("F", "M")), required=True)
    columns = tuple(labels if c.name == "sex" else c for c in PEOPLE.columns)
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    assert not named_outputs.are_named(
        planned(sql, contract=replace(PEOPLE, columns=columns)).output
    )


def test_widths_of_what_is_not_finite_are_the_engines():
    output = planned(NAMED[2]).output
    cells = rows._layout(output, rows.NOTHING, None)
    ends = [(1e300, np.inf), (np.inf, np.inf), (np.nan, 1.0), (0.1, np.nan)]
    many = cells.take([0] * len(ends))
    for i, column in enumerate(many.column_names):
        if column.startswith(("aggregate_", "half_")):
            values = np.array([end[column.startswith("half_")] for end in ends])
            many = many.set_column(i, column, arrow.numbers(values, np.isnan(values)))
    many = many.set_column(
        many.column_names.index("position"), "position", arrow.numbers(np.arange(len(ends)))
    )
    halves = [i for i, item in enumerate(output.items) if has_half_width(item)]
    with cell_engine.engine_of_cells(many) as sandbox:
        with_engine = cell_engine.evaluate_outputs(sandbox, output, halves)
    without = named_outputs.named_columns(many, output, halves, cell_engine.marks_of_sums(output))
    for name in without.column_names:
        assert without.column(name).to_pylist() == with_engine.column(name).to_pylist(), name
