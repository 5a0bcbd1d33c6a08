"""EXPLAIN PRIVACY and CREATE SYNTHETIC TABLE from public facts."""

from __future__ import annotations

import numpy as np
import pytest
from support.exact_people import BUDGET, PEOPLE, PURE, planned, select

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho, epsilon_of
from sqlpriv.plan.explanation.explain import explain
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.predictions import Prediction
from sqlpriv.plan.pricing.statement import price_of
from sqlpriv.plan.synthetic.synthetic_plan import SyntheticPlan, plan_synthetic
from sqlpriv.statements.commands import CreateSynthetic

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

SQL = "SELECT sex, COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM people STRATIFY BY sex"


def _explained(plan: Plan, sealed: float | None = None) -> list[Prediction]:
    return [
        Prediction("discrete Gaussian", 2, 1.0, 10.0 * (i + 1), m.price, f"SELECT {i}", sealed)
        for i, m in enumerate(plan.measurements)
    ]


def _rows(sizes: np.ndarray | None = None, left: Price | None = None) -> dict[str, dict]:
    plan = planned(SQL)
    table = explain(plan, _explained(plan), plan.price, left or BUDGET.total, BUDGET.delta, sizes)
    return {row["measurement"]: row for row in table.to_pylist()}


def test_there_is_a_row_per_measurement_output_total_and_rest() -> None:
    assert list(_rows()) == [
        "count of rows",
        "centred sum over [0, 1000]",
        "output n",
        "output s",
        "output a",
        "total",
        "budget left after",
    ]


def test_prices_add_up_to_what_goes_down() -> None:
    rows, price = _rows(), price_of(BUDGET, 0.5)
    parts = [rows["count of rows"]["rho"], rows["centred sum over [0, 1000]"]["rho"]]
    assert sum(parts) == pytest.approx(rows["total"]["rho"], abs=1e-12)
    assert rows["total"]["rho"] == price.value
    assert rows["total"]["epsilon"] <= 0.5
    rest = BUDGET.total.nano - price.nano
    assert rows["budget left after"]["rho"] == Rho(rest).value
    assert rows["budget left after"]["epsilon"] == epsilon_shown(Rho(rest), BUDGET.delta)


def test_a_budget_that_is_too_small_is_said() -> None:
    rows = _rows(left=Rho(1000))
    assert "budget left after" not in rows
    assert rows["short of budget by"]["rho"] == Rho(price_of(BUDGET, 0.5).nano - 1000).value


def test_errors_are_known_where_public_facts_tell_them() -> None:
    rows = _rows()
    assert rows["output n"]["expected_error"] == pytest.approx(1.959964 * 10)
    assert rows["output s"]["expected_error"] == pytest.approx(
        1.959964 * np.hypot(20, 500 * 10), rel=1e-6
    )
    assert rows["output a"]["expected_error"] is None
    assert all(row["relative_error"] is None for row in rows.values())


def test_with_public_sizes_relative_errors_are_known() -> None:
    rows = _rows(np.array([100.0, 100.0]))
    assert rows["output n"]["relative_error"] == pytest.approx(0.1959964)
    by_mean = 1.959964 * np.hypot(20, 1000 / 12**0.5 * 10) / 100
    assert rows["output a"]["expected_error"] == pytest.approx(by_mean, rel=1e-6)


def test_pure_budgets_have_no_rho() -> None:
    plan = planned(SQL, PURE)
    table = explain(plan, _explained(plan), plan.price, PURE.total, 0.0)
    assert table.column("rho").null_count == table.num_rows
    total = next(r for r in table.to_pylist() if r["measurement"] == "total")
    assert total["epsilon"] == 0.5


def _synthetic(sql: str, **options: object) -> SyntheticPlan:
    statement = CreateSynthetic("s", select(sql), "mst", tuple(options.items()))
    return plan_synthetic(statement, PEOPLE, BUDGET, 0.5)


def test_a_synthetic_table_is_planned() -> None:
    sql = "SELECT sex, Race, income FROM people WHERE age >= 18 STRATIFY BY sex WEIGHTS FROM shares"
    found = _synthetic(sql, epsilon=1, rows=1000)
    assert found.read.columns == ("sex", "race", "income")
    assert found.read.strata == ("sex",)
    assert found.price == price_of(BUDGET, 1)
    assert found.options == (("rows", 1000),)
    assert isinstance(found.read.rows, a.Where)
    assert found.weights == "shares"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT sex, note FROM people", 'column "note" has no public domain'),
        ("SELECT id, sex FROM people", "names the privacy unit"),
        ("SELECT sex, salary FROM people", 'no column "salary"'),
        ("SELECT AVG(age) FROM people", "has no aggregates"),
        ("SELECT length(note) FROM people", None),
        ("SELECT age, AGE FROM people", "selected twice"),
        ("SELECT age FROM people STRATIFY BY note", "needs a public list"),
        ("SELECT age FROM people STRATIFY BY id", "belongs to one unit"),
        ("SELECT age FROM people WHERE note SIMILAR TO 'x%'", None),
        ("SELECT age FROM people WHERE AVG(age) > 3", "WHERE cannot hold an aggregate"),
    ],
)
def test_a_synthetic_table_that_cannot_be_is_refused(sql: str, message: str | None) -> None:
    with pytest.raises(Refused, match=message) as caught:
        _synthetic(sql)
    assert caught.value.hint


def test_strata_that_are_not_selected_join_the_table() -> None:
    found = _synthetic("SELECT age, income FROM people STRATIFY BY race, sex")
    assert found.read.columns == ("age", "income")
    assert found.read.strata == ("race", "sex")


def test_options_other_than_the_price_are_the_synthesizer_s_to_check() -> None:
    assert _synthetic("SELECT sex FROM people", colour=3).options == (("colour", 3),)


def test_each_group_of_a_known_size_has_a_row_and_a_price() -> None:
    """Of 50 men and 400 women; the twin prices make each group's relative error a tenth."""
    sizes = np.array([400.0, 50.0])
    rows = _rows(sizes)
    for output in ("n", "s", "a"):
        women, men = (rows[f"{output} where sex = {sex}"] for sex in "FM")
        assert men["relative_error"] == pytest.approx(8 * women["relative_error"])
        for row in (women, men):
            assert row["relative_error"] > 0
            rho = planned(SQL).price.value * (row["relative_error"] / 0.1) ** 2
            assert row["epsilon_for_10_percent"] == pytest.approx(
                epsilon_of(Rho.at_most(rho), BUDGET.delta), rel=1e-3
            )


def test_groups_of_unknown_or_no_size_have_no_row() -> None:
    assert not [row for row in _rows() if " where " in row]
    rows = _rows(np.array([400.0, 0.0]))
    assert [row for row in rows if " where " in row] == [f"{o} where sex = F" for o in "nsa"]


def test_what_is_sealed_has_the_noise_of_its_answer() -> None:
    """All that is asked was released dearer, with a deviation of 2 for 10 and more."""
    plan, z = planned(SQL), 1.96

    def error_of_count(sealed: float | None) -> float:
        found = _explained(plan, sealed)
        table = explain(plan, found, plan.price, BUDGET.total, BUDGET.delta)
        rows = {row["measurement"]: row for row in table.to_pylist()}
        return float(rows["output n"]["expected_error"])

    assert error_of_count(2.0) == pytest.approx(2 * z, rel=1e-3)
    assert error_of_count(None) >= 10 * z * 0.99
