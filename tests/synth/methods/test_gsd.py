"""Rows that are edited until they agree with tables and slices."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract
from support.vaults import EXACT, allowed

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.synth.api.grid_queries import LevelGroups, Slice, grid_query
from sqlpriv.synth.domain.domain import discretise
from sqlpriv.synth.domain.level_values import level_values
from sqlpriv.synth.methods.mixed.candidate_tables import slices, whole_tables
from sqlpriv.synth.methods.mixed.edited_rows import (
    EditedRows,
    FittedTable,
    FormAxis,
    GroupAxis,
    PlacedRows,
)
from sqlpriv.synth.synthesis import prepare, steps, synthesize

TABLE = contract(
    {
        "a": ("INTEGER", Categories((0, 1))),
        "b": ("INTEGER", Categories((0, 1))),
        "x": ("DOUBLE", Interval(0, 10)),
        "y": ("DOUBLE", Interval(0, 10)),
        "label": ("INTEGER", Categories((0, 1))),
    }
)
NAMES = ("a", "b", "x", "y", "label")
VAULT = """
CREATE TABLE people AS SELECT i AS id, (hash(i, 1) % 2)::INT AS label,
    (hash(i, 2) % 1000) / 100 AS x,
    CASE WHEN i % 5 > 0 THEN (hash(i, 3) % 1000) / 100 END AS y
FROM range(5000) t(i) ORDER BY {order};
ALTER TABLE people ADD PRIMARY KEY (id);
"""
DOMAINS = {"label": Categories((0, 1)), "x": Interval(0, 10), "y": Interval(1, 10, nullable=True)}
FORM = Slice((0, 1), (0.1, -0.7), (-4.0, -2.5, -1.0, -0.1))


def people(rows: int, seed: int = 0) -> dict[str, list]:
    """The label is a xor b, and whether x > y, each for half of the people: no two columns tell."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))
    x, y = rng.integers(0, 1000, (2, rows)) / 100
    label = np.where(rng.random(rows) < 0.5, a ^ b, x > y).astype(int)
    return {n: v.tolist() for n, v in zip(NAMES, (a, b, x, y, label), strict=True)}


def test_a_slice_counts_rows_by_a_linear_form_whatever_their_order(make_kernel):
    """The form is computed row by row in doubles: with EXACT noise the counts are numpy's, to the
    row, of the same rows stored in another order, and read by one thread or several."""
    answers = []
    for order in ("i", "hash(i, 9)"):
        named = f"by_{len(answers)}.duckdb"
        kernel = make_kernel(VAULT.format(order=order), named, domains=DOMAINS)
        contract_of = kernel.contracts()["people"]
        domain = discretise(contract_of, ("x", "y", "label"), (), None, 8)
        label = LevelGroups(2, (0, 1))
        query = grid_query(domain, (FORM, label), None)
        with allowed(kernel, EXACT) as allowance:
            answers.append(allowance.release([Measurement(query, EXACT)])[0].values[0])
    with duckdb.connect() as engine:
        engine.execute(VAULT.format(order="i").split(";")[0])
        clamped = "SELECT label, x, greatest(coalesce(y, 1), 1) AS y FROM people"
        rows = engine.sql(clamped).fetchnumpy()
    form = 0.1 * rows["x"] + -0.7 * rows["y"]
    expected = np.zeros((5, 2))
    np.add.at(expected, (np.searchsorted(FORM.edges, form, side="right"), rows["label"]), 1)
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(np.rint(answers[0]), expected)


def random_tables(rows, rng):
    """A table of two columns and a slice by the third, both of other rows."""
    other = rng.integers(0, 4, rows.shape) // rng.integers(1, 3, rows.shape)
    term = np.stack([np.arange(4.0), np.full(4, 0.5)], axis=1)
    axes = [
        (GroupAxis(0, np.arange(4)), GroupAxis(1, np.array([0, 0, 1, 1]))),
        (FormAxis({0: term, 1: -term}, np.array([-1.0, 0.5])), GroupAxis(2, np.arange(4))),
    ]
    shapes = [(4, 2), (3, 4)]
    truth = EditedRows(PlacedRows(other, rng.uniform(-1, 1, rows.shape)), float(len(rows)), {})
    return [
        FittedTable(a, truth.counts(a, shape), 2.0) for a, shape in zip(axes, shapes, strict=True)
    ]


def test_an_edit_is_made_only_where_it_lowers_the_loss():
    """What is kept of rows (cells and residuals) is what counting them anew gives, after every
    portion of edits; and the loss falls by nine tenths, where nothing is lost to noise."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (800, 3))
    tables = random_tables(rows, rng)
    places = rng.uniform(-1, 1, rows.shape)
    editor = EditedRows(PlacedRows(rows, places), 800.0, {c: np.ones(4) for c in range(3)})
    editor.fit_tables(tables)
    first, losses = editor.loss(), []
    for _ in range(12):
        editor.edit(2_000, rng)
        losses.append(editor.loss())
        again = EditedRows(PlacedRows(rows, places), 800.0, {})
        again.fit_tables(tables)
        assert again.loss() == pytest.approx(losses[-1], abs=1e-6)
    assert all(late <= early + 1e-9 for early, late in zip([first, *losses], losses, strict=False))
    assert losses[-1] < 0.1 * first


def drawn(method: str, price: Rho, rows: int, strata=(), **options):
    names = tuple(n for n in NAMES if n not in strata)
    job = prepare(TABLE, names, strata, None, method, {"bins": 8, **options}, price)
    gate = FakeGate(people(rows), TABLE, price)
    return gate, synthesize(job, gate).table


def shares_told(table) -> tuple[float, float]:
    """How often the label is a xor b, and how often it is x > y: .75 each in the rows."""
    a, b, x, y, label = (table[n].to_numpy() for n in NAMES)
    return float(np.mean((a ^ b) == label)), float(np.mean((x > y) == label))


@pytest.mark.parametrize("strata", [(), ("a",)], ids=["whole", "strata"])
def test_tables_by_a_target_keep_what_no_two_columns_tell(strata):
    """n = 4,000 at epsilon = 4: the truth is .75 of both; below .65 fails. The twin, AIM's tables
    of two columns, has at most .6 of the first where the strata do not say it."""
    price = rho_of(4.0, 1e-9)
    _, table = drawn("gsd", price, 4_000, strata, target="label", tables=12)
    xor, above = shares_told(table)
    assert xor > 0.65
    assert above > 0.65
    if not strata:
        _, twin = drawn("aim", price, 4_000, degree=2)
        assert shares_told(twin)[0] < 0.6


def test_a_target_that_is_no_column_is_refused_before_anything_is_asked():
    with pytest.raises(Refused, match='names "nosuch"') as refused:
        prepare(TABLE, NAMES, (), None, "gsd", {"target": "label, nosuch"}, Rho(10**9))
    assert "selected columns" in str(refused.value.hint)


def test_what_is_explained_adds_up_and_names_the_rounds():
    job = prepare(TABLE, NAMES, (), None, "gsd", {"tables": 7}, Rho(10**9))
    told = steps(job)
    assert sum(step.price.nano for step in told) == 10**9
    assert "tables and slices (7 rounds)" in [step.name for step in told]


def test_candidates_are_triples_with_a_target_and_slices_by_it():
    job = prepare(TABLE, NAMES, (), None, "gsd", {}, Rho(10**9))
    rows = np.random.default_rng(0).integers(0, 2, (500, 5))
    tables = whole_tables(job.space, (4,), rows)
    assert len(tables) == 6
    assert all(any(axis.column == 4 for axis in t.axes) for t in tables)
    placed = PlacedRows(rows, np.zeros(rows.shape))
    found = slices(job.space, (4,), placed, np.random.default_rng(0))
    assert {len(t.axes) for t in found} == {2}
    assert all(t.axes[0].columns == (2, 3) for t in found)
    assert whole_tables(job.space, (), rows)[0].axes[0].column == 0


def test_values_of_levels_are_means_inside_bins():
    job = prepare(TABLE, NAMES, (), None, "gsd", {"bins": 4}, Rho(10**9))
    middles = [1.25, 3.75, 6.25, 8.75]
    assert level_values(job.domain.attributes[2]).tolist() == [[m, 1.25] for m in middles]
    assert level_values(job.domain.attributes[0]) is None
