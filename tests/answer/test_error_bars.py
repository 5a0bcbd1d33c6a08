"""ERROR(…) and report = true: intervals that hold what would be there without noise."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pytest
from support.exact_people import engine, exact, noised, planned, rows

from sqlpriv.answer.outputs import cell_engine
from sqlpriv.answer.rows import answer
from sqlpriv.errors import Refused
from sqlpriv.plan.output_half_widths import half_width, uncertain_divisors
from sqlpriv.statements import sql as sql_of
from sqlpriv.statements import tree as t

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5{more})"


def test_error_is_the_half_width_of_its_output() -> None:
    connection = engine()
    select = ASK.format(more="")
    outputs = "sex, AVG(income) AS m, ERROR(AVG(income)) AS e, ERROR(2 * AVG(income) + 1) AS twice"
    made = rows(connection, f"{select} {outputs} FROM people STRATIFY BY sex")
    found = made.table.to_pylist()
    assert [row["e"] for row in found] == pytest.approx(made.half_widths["m"])
    assert [row["twice"] for row in found] == pytest.approx([2 * row["e"] for row in found])
    assert "e" not in made.half_widths  # a half-width has none of its own
    connection.close()


def test_a_report_has_both_ends_of_every_uncertain_output() -> None:
    connection = engine()
    select = ASK.format(more=", report = true")
    outputs = "sex, COUNT(*) AS n, ERROR(COUNT(*)) AS e, MEDIAN(income) AS m"
    made = rows(connection, f"{select} {outputs} FROM people STRATIFY BY sex")
    assert made.table.column_names == ["sex", "n", "n_lo", "n_hi", "e", "m", "m_lo", "m_hi"]
    for row, half in zip(made.table.to_pylist(), made.half_widths["n"], strict=True):
        assert (row["n_lo"], row["n_hi"]) == pytest.approx((row["n"] - half, row["n"] + half))
        assert row["m_lo"] < row["m"] < row["m_hi"]  # a histogram is counted where a ± is wanted
    connection.close()


def test_an_end_that_is_not_defined_is_null() -> None:
    connection = engine()
    select = ASK.format(more=", report = true")
    found = rows(connection, f"{select} sqrt(COUNT(*) - 599) AS r FROM people").table.to_pylist()
    assert (found[0]["r"], found[0]["r_lo"]) == (1.0, None)
    connection.close()


@pytest.mark.parametrize(
    ("outputs", "times"),
    [
        ("skewness(income), regr_slope(income, age), sqrt(AVG(debt)), 1 / (COUNT(*) - 200)", 1.8),
        ("corr(income, age), AVG(age) * 2, sqrt(AVG(debt)), 1 / (COUNT(*) - 200)", 2.5),
    ],
)
def test_ends_that_are_written_once_are_the_same(
    monkeypatch: pytest.MonkeyPatch, outputs: str, times: float
) -> None:
    """Half-widths whose ends are columns are those whose ends are written where they stand; sqrt
    fails on some, and 1 / (n - 200) has none where its divisor may be 0. So are those of CORR, r /
    greatest(1, |r|), in whose ends r is a column, too."""
    found = planned(f"{ASK.format(more='')} sex, {outputs} FROM people STRATIFY BY sex")
    texts: list[str] = []
    run = cell_engine._run
    monkeypatch.setattr(cell_engine, "_run", lambda *of: texts.append(of[1]) or run(*of))
    with engine() as connection:
        releases = exact(connection, found.measurements)
    once = answer(found, releases, None).half_widths
    monkeypatch.setattr(cell_engine, "number_ends", lambda width, _: width)
    assert answer(found, releases, None).half_widths == once
    values = [value for widths in once.values() for value in widths]
    assert None in values
    assert sum(value is not None for value in values) > 6
    with_columns, written = map(len, texts)
    assert written > times * with_columns  # the work of reading them is as the text is long


def test_what_keeps_a_correlation_within_one_is_no_divisor_that_may_be_0() -> None:
    """CORR has no half-width where its spread may be 0: that is its one uncertain divisor."""
    (item,) = planned(f"{ASK.format(more='')} corr(income, age) AS r FROM people").output.items
    (spread,) = uncertain_divisors(item)
    assert sql_of(spread).startswith("nullif(greatest(sqrt(")
    for bound in (0.0, -1):
        divisor = t.FunctionCall("greatest", (t.Literal(bound), t.Name("aggregate_0")))
        assert uncertain_divisors(t.Binary("/", t.Literal(1), divisor)) == [divisor]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT WITH DIFFERENTIAL_PRIVACY ERROR(sex), COUNT(*) FROM people GROUP BY sex",
        "SELECT WITH DIFFERENTIAL_PRIVACY ERROR(COUNT(*), 2) FROM people",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, report = 3) COUNT(*) FROM people",
    ],
)
def test_what_has_no_error_is_refused(sql: str) -> None:
    with pytest.raises(Refused, match=r"ERROR takes one aggregate|report is true or false"):
        planned(sql)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 0.8, 1.25])
def test_reported_intervals_cover(scale: float) -> None:
    """300 answers of 3 cells; sigma is 5 for the count and 500 for the sum (of about 200 and 60,000
    a cell). Coverage is 0.95 with a standard deviation of 0.0073 over 900 intervals: within 4 of
    them, 0.921 to 0.979. Twins: noise 1.25 and 0.8 times as large covers 0.883 and 0.986."""
    connection, rng = engine(), np.random.default_rng(7)
    select = ASK.format(more=", report = true")
    plan = planned(f"{select} race, COUNT(*) AS n, AVG(income) AS m FROM people GROUP BY race")
    true = exact(connection, plan.measurements)
    sigma = [5.0 if "Count" in type(m.query).__name__ else 500.0 for m in plan.measurements]
    truth = answer(plan, true, None).table.to_pylist()
    covered = {"n": 0, "m": 0}
    for _ in range(300):
        releases = noised(true, [s * scale for s in sigma], rng)
        claimed = [
            type(r)(r.id, r.query, r.values, s, r.price)
            for r, s in zip(releases, sigma, strict=True)
        ]
        for right, row in zip(truth, answer(plan, claimed, None).table.to_pylist(), strict=True):
            for name in covered:
                covered[name] += row[f"{name}_lo"] <= right[name] <= row[f"{name}_hi"]
    connection.close()
    inside = [0.921 <= count / 900 <= 0.979 for count in covered.values()]
    assert all(inside) if scale == 1.0 else not any(inside)


@pytest.mark.parametrize(
    ("name", "times", "reaches"),
    [
        *(("CORR", *pair) for pair in ((0.9, None), (1.5, 1.25), (2.5, 0.3))),
        *(("REGR_R2", *pair) for pair in ((0.9, None), (1.5, 1 - 0.25**2), (2.5, 0.3))),
    ],
)
def test_a_correlation_is_anything_up_to_twice_its_variances_noise(
    name: str, times: float, reaches: float | None
) -> None:
    """A variance so many times its half-width: below it a correlation of .25 is NULL; up to twice
    the half-width it may be -1, its square 1, and is stated so; beyond, ± is what noise moves it by
    (the twin)."""
    output = planned(f"{ASK.format(more='')} {name}(income, age) AS r FROM people").output
    width = half_width(output.items[0], output.shared)
    assert width is not None
    # the mean of the product, both means in the middle of their intervals, both variances
    columns = {"aggregate_0": 0.25 * 20 * 100, "aggregate_1": 49.5, "aggregate_2": 500.0}
    columns |= {"aggregate_3": 20.0**2, "aggregate_4": 100.0**2}
    columns |= {f"half_{i}": 1e-9 for i in (0, 1, 2)}
    columns |= {"half_3": 1e-9, "half_4": columns["aggregate_4"] / times}
    text = sql_of(width)
    others = set(re.findall(r'"(\w+_\d+)"', text)) - set(columns)
    listed = [f"{value}::DOUBLE AS {name}" for name, value in columns.items()]
    cells = ", ".join([*listed, *(f"0.0 AS {name}" for name in others)])
    ((found,),) = duckdb.sql(f"SELECT {text} FROM (SELECT {cells})").fetchall()
    if reaches is None or found is None:
        assert reaches is found is None
    else:
        assert (found == pytest.approx(reaches)) if times < 2 else (found < reaches)
