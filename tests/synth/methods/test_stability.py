"""Combinations of values that many units have, of columns without public lists."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.noise import threshold_of
from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.session.session import Session
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.methods.batches import stability
from sqlpriv.synth.synthesis import prepare, synthesize

TABLE = contract(
    {
        "page": ("VARCHAR", None),
        "code": ("BIGINT", None),
        "sex": ("VARCHAR", Categories(("f", "m"))),
        "age": ("INTEGER", Interval(0, 99)),
        "pay": ("DOUBLE", None),
    }
)
PRICE = rho_of(1.0, 1e-9)
YOCTO = 10**15


def people(rows: int, seed: int = 0) -> dict[str, list]:
    """Pages fall off as a Zipf law; the code follows from the page, which no list says."""
    rng = np.random.default_rng(seed)
    page = np.minimum(rng.zipf(1.6, rows), 400)
    return {
        "page": [None if p == 2 else f"page {p}" for p in page.tolist()],
        "code": (10**12 + 7 * page).tolist(),
        "sex": np.where(rng.random(rows) < 0.4, "f", "m").tolist(),
        "age": rng.integers(0, 100, rows).tolist(),
        "pay": [1.0] * rows,
    }


def made(columns, data, strata=(), price=PRICE, yocto=YOCTO, exact=False, seed=0, **options):
    job = prepare(TABLE, columns, strata, None, "stability", options, price, yocto)
    gate = FakeGate(data, TABLE, price, exact=exact, seed=seed)
    return job, gate, synthesize(job, gate)


def selected_least(job) -> int:
    """How many units a combination has that passes without noise."""
    return threshold_of(1, job.phases()[0].price, YOCTO)[1] + 1


@pytest.mark.parametrize("strata", [(), ("sex",)])
def test_rows_have_the_combinations_that_many_units_have_as_often(strata):
    """Without noise, to a row: those of fewer units than the threshold are in no row."""
    data = people(5_000)
    job, gate, out = made(("page", "code", "sex"), data, strata, exact=True)
    real = Counter(zip(data["page"], data["code"], data["sex"], strict=True))
    least = selected_least(job)
    wanted = {row: n for row, n in real.items() if n >= least}
    drawn = Counter(zip(*(out.table[c].to_pylist() for c in ("page", "code", "sex")), strict=True))
    assert 5 < len(wanted) < len(real)
    assert drawn == wanted
    assert gate.spent == PRICE.nano


def test_counts_are_unbiased_though_they_passed_a_threshold():
    """A page of as many units as the threshold passes in half of the runs. Its count, where it
    passed, is its number of units on average: 400 runs, a standard error of sigma / 14, 4 of them
    away in one of 16,000 runs. The noised number that passed is larger by .8 of its own sigma: as
    its mean would be 5 standard errors and more off, a count that kept it would be found out."""
    job = made(("page",), {"page": ["a"]}, exact=True)[0]
    least = selected_least(job)
    data = {"page": ["a"] * least + ["b"] * 400}
    counts = []
    for seed in range(400):
        gate = made(("page",), data, seed=seed)[1]
        release = next(r for r in gate.sold.values() if r.query.keys)
        if release.values.size == 2:
            counts.append(release.values.ravel()[0])
            sigma = release.sigma
    assert 150 < len(counts) < 250
    error = (np.mean(counts) - least) / (sigma / np.sqrt(len(counts)))
    assert abs(error) < 4
    own = threshold_of(1, job.phases()[0].price, YOCTO)[0]
    assert 0.8 * own / (sigma / np.sqrt(len(counts))) > 5


def test_columns_with_and_without_lists_numbers_binned():
    _, gate, out = made(("age", "code", "page"), people(20_000), bins=4)
    assert gate.spent == PRICE.nano
    assert out.table.column_names == ["age", "code", "page"]
    ages = out.table["age"].to_numpy()
    assert abs(ages.mean() - 49.5) < 3
    pairs = zip(out.table["code"].to_pylist(), out.table["page"].to_pylist(), strict=True)
    assert all(page in (None, f"page {(code - 10**12) // 7}") for code, page in pairs)


def test_cells_of_more_columns_than_a_double_can_number():
    """Eight columns of 150 values each: 150^8 is above 2^53. Every row is one of 150 kinds."""
    names = [f"c{i}" for i in range(8)]
    table = contract(dict.fromkeys(names, ("INTEGER", None)))
    kinds = np.random.default_rng(0).permuted(np.tile(np.arange(150), (8, 1)), axis=1)
    rows = np.repeat(kinds, 60, axis=1)
    job = prepare(table, names, (), None, "stability", {}, PRICE, YOCTO)
    gate = FakeGate({n: rows[i].tolist() for i, n in enumerate(names)}, table, PRICE, exact=True)
    out = synthesize(job, gate)
    drawn = Counter(zip(*(out.table[n].to_pylist() for n in names), strict=True))
    assert drawn == Counter(map(tuple, rows.T.tolist()))


def test_nothing_passes_then_there_is_no_row_and_the_answer_says_so():
    _, gate, out = made(("page",), {"page": [f"own {i}" for i in range(500)]})
    assert out.table.num_rows == 0
    assert "not usable" in out.notes[0]
    assert gate.spent <= PRICE.nano


def test_the_answer_tells_how_many_rows_are_too_rare():
    data = {"page": ["a"] * 1_000 + [f"own {i}" for i in range(1_000)]}
    note = made(("page",), data)[2].notes[0]
    assert "not usable" in note  # half of the rows are in no cell
    left = int(note.split("about ")[1].split(" ")[0])
    assert left == pytest.approx(1_000, abs=150)
    assert "good" in made(("page",), {"page": ["a", "b"] * 1_000})[2].notes[0]


def test_prices_add_up_to_the_statements():
    for nano in (10**7 + 1, 999_983):
        job = prepare(TABLE, ("page", "sex"), ("sex",), None, "stability", {}, Rho(nano), YOCTO)
        assert sum(step.price.nano for step in steps(job)) == nano
        assert sum(p.price.nano for p in stability.phases(job.space, Rho(nano), {})) == nano


@pytest.mark.parametrize(
    ("columns", "yocto", "says"),
    [(("pay",), YOCTO, "no declared domain"), (("page",), 0, "delta for keys")],
)
def test_what_no_threshold_is_made_for_is_refused(columns, yocto, says):
    with pytest.raises(Refused, match=says):
        prepare(TABLE, columns, (), None, "stability", {}, PRICE, yocto)


ROWS = """
CREATE TABLE visits (id BIGINT PRIMARY KEY, page VARCHAR, code INTEGER, sex VARCHAR, pay DOUBLE,
    fee DECIMAL(9,2), day DATE);
INSERT INTO visits SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE '/' || (i % 7) END, i % 7,
    CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, 1.5, nullif(i % 7, 0) * 0.35 - 1,
    CASE WHEN i % 7 > 0 THEN DATE '1969-12-31' + (i % 7)::INT * 400 END FROM range(7000) r(i);
INSERT INTO visits VALUES (8000, '/secret', 99, 'f', 2, 7.77, DATE '2020-02-29');
ALTER TABLE visits ADD PRIVACY_KEY (id);
ALTER TABLE visits SET PU;
ALTER TABLE visits ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm') NOT NULL;
"""
BUDGET = "ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 20, delta = 1e-9, keys_delta = 1e-7)"
STATEMENT = (
    "CREATE OR REPLACE SYNTHETIC TABLE s AS SELECT {} FROM visits {} USING stability"
    " OPTIONS (epsilon = 2)"
)


@pytest.fixture
def owner(tmp_path: Path) -> Session:
    session = Session(tmp_path / "visits.duckdb", role="owner")
    session.execute(ROWS + BUDGET)
    return session


def test_a_statement_over_undeclared_columns(owner: Session):
    """Through the gate: priced beforehand, paid once, replayed for nothing, kept as a model."""
    statement = STATEMENT.format("page, code % 7 AS rest", "STRATIFY BY sex")
    told = owner.execute(f"EXPLAIN PRIVACY {statement}").table
    assert any("(at least " in name for name in told["measurement"].to_pylist())
    assert owner.execute(statement).price.nano > 0
    pairs = "SELECT page, rest, sex, count(*) AS n FROM s GROUP BY ALL"
    rows = owner.execute(pairs).table.to_pylist()
    assert {(r["page"], r["rest"]) for r in rows} == {(f"/{i}" if i else None, i) for i in range(7)}
    assert len(rows) == 14
    assert all(r["n"] == pytest.approx(500, abs=60) for r in rows)
    assert owner.execute(statement).price.nano == 0
    spent = owner.execute("SHOW PRIVACY BUDGET").table["keys_delta_spent"][0].as_py()
    assert spent == pytest.approx(1e-9)  # once: a hundredth of what the budget keeps
    owner.execute("CREATE SYNTHETIC TABLE more FROM MODEL s ROWS 100 WHERE page = '/3'")
    assert owner.execute("SELECT DISTINCT rest FROM more").table["rest"].to_pylist() == [3]


def test_dates_and_decimals_are_found(owner: Session):
    """Each as its own value, NULL too; what one unit has is not among them."""
    owner.execute(STATEMENT.format("day, fee, code", "STRATIFY BY sex"))
    types = owner.execute("SELECT typeof(day) AS d, typeof(fee) AS f FROM s LIMIT 1").table
    assert types.to_pylist() == [{"d": "DATE", "f": "DECIMAL(9,2)"}]
    rows = owner.execute("SELECT DISTINCT day, fee, code FROM s").table.to_pylist()
    assert len(rows) == 7
    first = date(1969, 12, 31)
    for row in rows:
        code = row["code"]
        assert row["day"] == (first + timedelta(days=400 * code) if code else None)
        assert row["fee"] == (Decimal(35 * code) / 100 - 1 if code else None)


def test_every_column_but_the_key_and_numbers_with_fractions(owner: Session):
    message = owner.execute(STATEMENT.format("*", "")).message
    assert "* stands without id, pay" in message


@pytest.mark.parametrize(
    ("columns", "budget", "says"),
    [
        ("page, pay", BUDGET, "no public domain"),
        ("page", BUDGET.replace(", keys_delta = 1e-7", ""), "keys_delta"),
        ("page", BUDGET.partition(" (")[0] + " (epsilon = 5)", "keys_delta"),
    ],
)
def test_what_is_refused_costs_nothing(tmp_path: Path, columns, budget, says):
    session = Session(tmp_path / "visits.duckdb", role="owner")
    session.execute(ROWS + budget)
    with pytest.raises(Refused, match=says) as refused:
        session.execute(STATEMENT.format(columns, ""))
    assert refused.value.hint
    assert session.execute("SHOW PRIVACY BUDGET").table["charges"][0].as_py() == 0


def test_other_methods_say_which_one_finds_values(owner: Session):
    with pytest.raises(Refused, match="no public domain") as refused:
        owner.execute(STATEMENT.format("page", "").replace("stability", "mst"))
    assert "USING stability" in refused.value.hint


def test_the_line_and_the_prediction_count_what_is_left_out():
    """Of 5,000 rows about 4,000 have a page, a code and a sex that many have together. The error of
    the shares of all rows, .14, is told within 1.5; the kept rows' own, the twin, was .015. What is
    predicted, .52, counts on columns that do not depend on each other, where two of these are one;
    it was .003."""
    data = people(5_000)
    names = ("page", "code", "sex")
    job, _, out = made(names, data)
    errors = []
    for name in names:
        real, drawn = Counter(data[name]), Counter(out.table[name].to_pylist())
        errors.append(
            sum(abs(real[v] / 5_000 - drawn[v] / out.table.num_rows) for v in {*real, *drawn}) / 2
        )
    (line,) = [note for note in out.notes if note.startswith("quality: ")]
    told = float(line.split("of 1 column ")[1].split(" ")[0])
    assert 1 / 1.5 < told / np.mean(errors) < 1.5
    assert job.expected_error(5_000.0).one_way > 0.1
