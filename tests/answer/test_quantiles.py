"""Which of two methods finds a quantile, and what EXPLAIN says of it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from support.exact_people import BUDGET, PURE, engine, exact, planned, rows

from sqlpriv.answer.quantiles import best, in_order
from sqlpriv.answer.rows import answer
from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.noise import chooser
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import NANO, Budget, Epsilon, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.quantile_method import choice_error, histogram_error
from sqlpriv.plan.aggregates.rewrites import Recipe

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY"


def asked(sql: str, budget: Budget = BUDGET) -> list[type]:
    return [type(m.query) for m in planned(f"{ASK} {sql}", budget).measurements]


def levels(k: int, rank: tuple[int, int] | None = (1, 2)) -> a.Level:
    return a.Level(a.Scan("people"), a.Key(a.Col("age"), tuple(range(k))), rank)


def test_many_levels_are_chosen_from_and_few_are_counted() -> None:
    for price in (Rho(NANO), Epsilon(NANO)):
        few, many = levels(3), levels(4000)
        assert histogram_error(few.levels, few.rank, price) < choice_error(few, price)
        assert choice_error(many, price) < histogram_error(many.levels, many.rank, price)
    assert asked("MEDIAN(income) FROM people") == [a.Level, a.Count]
    assert asked("MEDIAN(race) FROM people") == [a.Count]


def test_quantiles_of_one_column_share_a_histogram_once_that_is_better() -> None:
    assert asked("MEDIAN(age) FROM people") == [a.Level, a.Count]
    five = ", ".join(f"QUANTILE(age, 0.{i})" for i in (1, 3, 5, 7, 9))
    assert asked(f"{five} FROM people") == [a.Count, a.Count]
    assert asked(f"{five} FROM people", PURE) == [a.Count]


def test_a_histogram_has_a_count_of_its_rows_where_that_costs_little_or_is_asked_for() -> None:
    """Of 100 ages under pure epsilon it would make the levels 1.2 times as noisy, of 2,049 incomes
    1.08 times; of 3 races 1.3 times under zCDP. A COUNT(*) of the same rows is that count."""
    error = "MEDIAN({0}), ERROR(MEDIAN({0})) AS e FROM people"
    assert asked(error.format("age"), PURE) == [a.Count]
    assert asked(error.format("income"), PURE) == [a.Count, a.Count]
    assert asked("MEDIAN(race) FROM people") == [a.Count]
    sql = f"{ASK} COUNT(*) AS n, MEDIAN(race) AS m FROM people"
    (recipe,) = [r for r in planned(sql).output.recipes if r.kind == "level"]
    count, histogram = (m.query for m in planned(sql).measurements)
    assert {recipe.count, recipe.size} == {count, histogram}


def test_strata_and_the_population_are_chosen_side_by_side() -> None:
    sql = f"{ASK} MEDIAN(income) FROM people STRATIFY BY sex"
    found = [m.query for m in planned(sql).measurements]
    assert [(type(q), len(q.strata)) for q in found] == [(a.Level, 1), (a.Level, 0), (a.Count, 1)]
    assert asked("MEDIAN(income) FROM people STRATIFY BY sex WEIGHTS FROM shares") == [a.Count] * 2


def test_chosen_quantiles_of_one_column_are_put_in_the_order_of_their_ranks() -> None:
    """Three quartiles of two cells, the second cell's upside down; a mode and another column's
    quantile stay as they are."""
    ranks = [levels(9, (3, 4)), levels(9, (1, 4)), levels(9, (1, 2))]
    others = [levels(9, None), levels(8, (1, 8))]
    positions = [[6, 1], [2, 7], [4, 5], [0, 8], [7, 0]]
    releases = {
        query: Release(i, query, np.array(values, float), 0.0, Rho(NANO))
        for i, (query, values) in enumerate(zip([*ranks, *others], positions, strict=True))
    }
    ordered = [in_order(releases)[query].values.tolist() for query in [*ranks, *others]]
    assert ordered == [[6, 7], [2, 1], [4, 5], [0, 8], [7, 0]]


def test_a_higher_rank_never_has_a_lower_level_of_a_noised_histogram() -> None:
    """Histograms of 40 levels that are all noise but for one level, nine ranks of each; where
    less than nothing is counted a quantile is NULL."""
    counts = np.random.default_rng().normal(0, 9, (500, 40))
    counts[:, 17] += 60
    counts = counts[counts.sum(axis=-1) > 0]
    recipes = [Recipe("level", None, rank=(tenth, 10)) for tenth in range(1, 10)]
    found = np.stack([best(recipe, counts) for recipe in recipes])
    assert (np.diff(found, axis=0) >= 0).all()
    exact_counts = np.abs(counts)
    for recipe, tenth in zip(recipes, range(1, 10), strict=True):
        sums = exact_counts.cumsum(axis=-1)
        enough = sums >= tenth / 10 * sums[:, -1:]
        assert (best(recipe, exact_counts) == enough.argmax(axis=-1)).all()


@pytest.mark.parametrize("kind", [Rho, Epsilon])
def test_the_predicted_error_of_rank_covers(kind: type[Rho] | type[Epsilon]) -> None:
    """The worst case: one level is right, and all others lie just beyond the bound. 400 choices
    miss at most as often as 5 % allows, with 4 standard deviations: 38. Twin: at half the bound
    they miss more often than that."""
    k, price = 1000, kind(NANO // 10)
    bound = choice_error(levels(k), price) / (math.sqrt(0.1) if kind is Rho else 0.1)
    pick = chooser(1, price)

    def missed(rows: float) -> int:
        scores = [0] + [-math.ceil(2 * rows)] * (k - 1)  # of a median: twice the rows
        return sum(pick(scores) != 0 for _ in range(400))

    assert missed(bound) <= 38
    assert missed(bound / 2) > 38


def test_best_is_the_level_that_holds_the_rank() -> None:
    counts = np.array([[5.0, 0.0, 4.0, 1.0], [0.0, 0.0, 0.0, 9.0]])
    for rank, expected in (((1, 2), [0, 3]), ((9, 10), [2, 3]), (None, [0, 3])):
        recipe = Recipe("level", None, rank=rank)
        assert best(recipe, counts).tolist() == expected


def test_weights_bring_the_strata_to_their_shares() -> None:
    """All F are 10 years old here, all M as they are; the population is F alone, then M alone."""
    age = "CASE WHEN sex = 'F' THEN 10 ELSE age END"
    sql = f"{ASK} MEDIAN({age}) AS m FROM people STRATIFY BY sex WEIGHTS FROM shares"
    connection = engine()
    found = planned(sql)
    for stratum, weights in enumerate(([1.0, 0.0], [0.0, 1.0])):
        shares = pa.table({"sex": ["F", "M"], "weight": weights})
        made = answer(found, exact(connection, found.measurements), shares).table.to_pylist()
        assert abs(made[2]["m"] - made[stratum]["m"]) <= 1
        assert abs(made[2]["m"] - made[1 - stratum]["m"]) > 30
    connection.close()


def test_width_bucket_is_a_key_of_known_values() -> None:
    connection = engine()
    sql = f"{ASK} width_bucket(age, 20, 60, 4) AS b, COUNT(*) AS n FROM people GROUP BY b"
    found = rows(connection, sql).table.to_pylist()
    plain = """SELECT CASE WHEN age < 20 THEN 0 WHEN age >= 60 THEN 5 ELSE 1 + (age - 20) // 10 END
        AS b, COUNT(*) AS n FROM people GROUP BY b ORDER BY b"""
    assert [(r["b"], r["n"]) for r in found] == connection.execute(plain).fetchall()
    connection.close()
    for wrong in ("60, 20, 4", "20, 60, 0", "20, 60, age", "20, 60"):
        with pytest.raises(Refused, match="width_bucket takes"):
            planned(f"{ASK} width_bucket(age, {wrong}) AS b, COUNT(*) FROM people GROUP BY b")


def test_quantiles_of_dates_are_moments_or_dates_as_in_duckdb() -> None:
    """One of 2,028 grid cells of 18 days, each told by the day in its middle."""
    connection = engine()
    sql = "SELECT MEDIAN(born) AS m, MIN(born) AS low, MAX(born) AS high FROM people"
    found = rows(connection, sql.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY", 1)).table
    (row,) = found.to_pylist()
    ranks = (
        "quantile_disc(born, 0.5)::TIMESTAMP, quantile_disc(born, 0.01), quantile_disc(born, 0.99)"
    )
    exact = connection.execute(f"SELECT {ranks} FROM people").fetchone()
    assert exact is not None
    for ours, theirs in zip(row.values(), exact, strict=True):
        assert type(ours) is type(theirs)
        assert abs((ours - theirs).days) <= 18
