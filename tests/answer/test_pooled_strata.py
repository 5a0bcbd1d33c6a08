"""`AVG(x USING pooled)`: strata that borrow strength from each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.exact_people import planned

from sqlpriv.answer.means import cells
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.pooled.group_effects import FAR_PARTS, draw_together, main_effects
from sqlpriv.answer.pooled_strata import BoundedFigures, own_means, pool_levels, pool_variances
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.errors import Refused
from sqlpriv.session.session import Session


def _errors(apart: np.ndarray, deviations: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Mean absolute errors in 100 draws of noise: pooled, the strata's own, everybody's for all."""
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(100):
        own = apart + rng.normal(0, deviations)
        pooled = draw_together(own, deviations**2, sizes, 1000.0).means
        errors.append([np.abs(guess - apart).mean() for guess in (pooled, own, 0 * own)])
    return np.mean(errors, axis=0)


def test_strata_drawn_together_are_nearer_than_their_own_means_and_than_everybodys() -> None:
    """60 strata around everybody with deviation 10, noise from 1 to 100: below .7 of the better of
    the two in 100 draws. The twin has strata as far apart as the domain, and takes their own."""
    rng = np.random.default_rng(3)
    deviations = 10 ** rng.uniform(0, 2, 60)
    pooled, own, everybody = _errors(rng.normal(0, 10, 60), deviations, (60,))
    assert pooled < 0.7 * min(own, everybody)
    pooled, own, _ = _errors(rng.normal(0, 400, 60), deviations, (60,))
    assert 0.9 * own < pooled <= 1.05 * own


def test_strata_that_are_counted_as_far_more_rows_are_not_taken_for_well_known() -> None:
    """60 strata of 10 rows whose means are 8, in [0, 1000]; counts are noised by 40, so that some
    are counted as 100 and more, and their ratio lies near the interval's middle. Drawn together
    they err by 7 on average over 40 draws; the twin, whose (μ - c)² is what the ratio says, by 54.
    No chance: the draws have a seed."""
    rng, k = np.random.default_rng(12), 60
    recipe = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(income USING pooled) AS x"
        " FROM people STRATIFY BY sex"
    ).output.recipes[0]
    assert (recipe.lower, recipe.upper) == (0, 1000)
    everybody, at_centre = (np.array(8.0), np.array(400.0)), (np.array(500.0), np.array(0.0))
    errors = []
    for _ in range(40):
        n = 10 + rng.laplace(0, 40 / 2**0.5, k)
        s = 10 * (8.0 - 500.0) + rng.laplace(0, 6_000 / 2**0.5, k)
        moments = Moments(n, s, np.zeros(k), 40.0**2, 6_000.0**2, 0.0, 2.0)
        figures = (own_means(recipe, moments, *told) for told in (everybody, at_centre))
        drawn = [draw_together(own - 8.0, noise, (k,), 1000.0).means for own, noise in figures]
        errors.append([np.abs(means).mean() for means in drawn])
    pooled, twin = np.mean(errors, axis=0)
    assert pooled < 20
    assert twin > 40


def test_counts_noise_is_allowed_for_where_strata_lie_on_both_sides_of_the_centre() -> None:
    """4,000 strata of 30 rows whose means are 50 or 950 in [0, 1000], counts noised by 10: a count
    that is too large draws a mean to the middle, 500, which is everybody's, too. Of those counted
    as 40 rows and more .93 are within 1.96 of their stated deviations, and .65 were while a count's
    noise counted by the distance of the noised ratio, or of everybody's mean, alone. No chance: a
    seed. The twin, where all means are 500, has no such distance, and the noise of its sums alone.
    """
    rng, k, rows = np.random.default_rng(12), 4_000, 30
    recipe = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(income USING pooled) AS x"
        " FROM people STRATIFY BY sex"
    ).output.recipes[0]
    within, deviations = [], []
    for apart in (450.0, 0.0):
        truth = np.where(np.arange(k) % 2, 500 + apart, 500 - apart)
        n = rows + rng.normal(0, 10, k)
        s = rows * (truth - 500) + rng.normal(0, 2_000, k)
        moments = Moments(n, s, np.zeros(k), 10.0**2, 2_000.0**2, 0.0, 1.96)
        own, noise = own_means(recipe, moments, np.array(500.0), np.array(25.0))
        surely = n > 40
        within.append((np.abs(own - truth) <= 1.96 * np.sqrt(noise))[surely].mean())
        deviations.append(np.sqrt(np.median(noise[surely] * n[surely] ** 2)))
    assert within[0] > 0.91
    assert deviations[1] < 1.2 * 2_000


def test_variances_of_few_rows_hold_and_err_less_than_when_their_counts_were_believed() -> None:
    """60 strata of 30 rows, N(300, 50²) in [0, 1000], counts noised by 10: the pooled variances err
    by 9,800 on average over 30 draws, by 13,600 while a count's noise counted by what its own ratio
    says. No chance: the draws have a seed."""
    rng, k, rows = np.random.default_rng(12), 60, 30
    recipe = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) VARIANCE(income USING pooled) AS x"
        " FROM people STRATIFY BY sex"
    ).output.recipes[0]
    assert recipe.count is not None
    (key,) = recipe.count.strata
    strata = (replace(key, values=tuple(range(k))),)
    recipe = replace(recipe, count=replace(recipe.count, strata=strata))
    errors, held = [], []
    for _ in range(30):
        x = rng.normal(300, 50, (k, rows)) - 500
        of_n, of_s, of_q = (10 * unit / 2**0.5 for unit in (1.0, 250.0, 62_500.0))
        n = rows + rng.laplace(0, of_n, k)
        s = x.sum(axis=1) + rng.laplace(0, of_s, k)
        q = (x**2 - 125_000).sum(axis=1) + rng.laplace(0, of_q, k)
        moments = Moments(n, s, q, 2 * of_n**2, 2 * of_s**2, 2 * of_q**2, 2.0)
        drawn = pool_variances(recipe, moments)
        apart = np.abs(drawn.values - x.var(axis=1, ddof=1))
        errors.append(apart.mean())
        held.append((apart <= drawn.half_widths).mean())
    assert np.mean(errors) < 11_500
    assert np.mean(held) > 0.95


def test_a_stratum_borrows_from_those_with_its_keys() -> None:
    """6 x 8 strata whose keys add up to their means: pooling by keys errs less than without."""
    rng, effects = np.random.default_rng(4), main_effects((6, 8))
    apart = effects @ rng.normal(0, 20, 14)
    deviations = np.where(np.arange(48) % 2, 100.0, 2.0)
    assert _errors(apart, deviations, (6, 8))[0] < 0.8 * _errors(apart, deviations, (48,))[0]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_intervals_hold_of_small_strata_that_differ_more(power: float) -> None:
    """18 strata of 1,000 rows by Zipf's law, 200 draws: they lie around everybody by 30 (N / n)^(a
    / 2), under a noise of 1,500 / n. For a = 0, 1/2 and 1 of 3,600 intervals .976, .965 and .947
    hold, and of the smallest strata's 200 .99, .96 and .92. Without `smallness`, the twin, which
    takes all for as far apart, the smallest hold .82 where a = 1. No chance: a seed."""
    rng, sizes = np.random.default_rng(7), 1 / np.arange(1, 19)
    n = 1000 * sizes / sizes.sum()
    smallness = np.exp(np.log(n).mean()) / n
    noise = (1_500 / n) ** 2
    held, twin = [], []
    for _ in range(200):
        apart = rng.normal(0, 30 * smallness ** (power / 2))
        own = apart + rng.normal(0, np.sqrt(noise))
        for inside, relative in ((held, smallness), (twin, None)):
            drawn = draw_together(own, noise, (18,), 1000.0, smallness=relative)
            inside.append(np.abs(drawn.means - apart) <= 1.96 * np.sqrt(drawn.variances))
    assert np.mean(held) > 0.935
    assert np.mean(held, axis=0)[-1] > 0.89
    if power == 1:
        assert np.mean(twin, axis=0)[-1] < 0.86


def test_a_stratum_that_is_far_off_keeps_its_mean_and_leaves_the_others() -> None:
    """40 strata within 10 of everybody, noise 30, but for two: 3,000 off, and their noise is 300.
    All err less than half as much as with one normal for all, which is the twin, and .8 of their
    own. No chance: the draws have a seed."""
    rng = np.random.default_rng(8)
    apart, deviations = rng.normal(0, 10, 40), np.full(40, 30.0)
    apart[:2], deviations[:2] = (3_000.0, -3_000.0), 300.0
    errors = []
    for _ in range(50):
        own = apart + rng.normal(0, deviations)
        for far_parts in (FAR_PARTS, (0.0,)):
            drawn = draw_together(own, deviations**2, (40,), 1e5, far_parts=far_parts)
            errors.append(np.abs(drawn.means - apart).mean())
        errors.append(np.abs(own - apart).mean())
    pooled, normal, plain = np.reshape(errors, (50, 3)).mean(axis=0)
    assert pooled < 0.5 * normal
    assert pooled < 0.8 * plain


def test_a_stratum_without_rows_is_like_everybody() -> None:
    """One stratum of 1,000 rows has its own mean, one of none everybody's; the twin has none."""
    select = "SELECT sex, AVG(income{}) AS a FROM people STRATIFY BY sex"
    for using, like in ((" USING pooled", True), ("", False)):
        recipe = planned(select.format(using)).output.recipes[0]
        moments = Moments(
            np.array([1000.0, -1.0]),
            np.array([90_000.0, 300.0]),
            np.zeros(2),
            1.0,
            250_000.0,
            0.0,
            2.0,
        )
        strata, everybody = two_levels(recipe, moments, None, None)
        assert strata.values[0] == pytest.approx(590, abs=2)
        assert (abs(strata.values[1] - everybody.values) < 100) == like


def test_pooled_needs_strata() -> None:
    with pytest.raises(Refused, match="write STRATIFY BY"):
        planned("SELECT AVG(income USING pooled) AS a FROM people")


def test_half_widths_hold_on_average_over_strata() -> None:
    """200 draws of 60 strata, deviation 10, noise from 1 to 100: of 12,000 means 92 to 98 % are in
    their intervals. The twin is told of half the noise, and holds less."""
    rng, held = np.random.default_rng(6), {1.0: [], 0.5: []}
    for _ in range(200):
        apart, deviations = rng.normal(0, 10, 60), 10 ** rng.uniform(0, 2, 60)
        own = apart + rng.normal(0, deviations)
        for told, covered in held.items():
            drawn = draw_together(own, (told * deviations) ** 2, (60,), 1000.0)
            covered.append(np.abs(drawn.means - apart) <= 1.96 * drawn.variances**0.5)
    assert 0.92 < np.mean(held[1.0]) < 0.98
    assert np.mean(held[0.5]) < 0.92


def test_smooth_draws_strata_together_and_needs_a_truth_value() -> None:
    select = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, smooth = {}) AVG(income) AS a"
    stratified = select + " FROM people STRATIFY BY sex"
    assert planned(stratified.format("true")).output.recipes[0].pooled
    assert not planned(stratified.format("false")).output.recipes[0].pooled
    assert not planned(select.format("true") + " FROM people").output.recipes[0].pooled
    with pytest.raises(Refused, match="smooth is true or false"):
        planned(stratified.format("1"))


PEOPLE = """
CREATE TABLE people AS SELECT range AS id, CASE WHEN range < 5 THEN 2 ELSE range % 2 END AS side,
    CASE WHEN range < 5 THEN 90.0 ELSE 20.0 + range % 2 * 10 END AS x FROM range(4000);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people SET PRIVACY (KEY (id), COLUMN side IN (0, 1, 2) NOT NULL,
    COLUMN x BETWEEN (0, 100) NOT NULL, BUDGET (epsilon = 100))
"""


@pytest.mark.parametrize("kind", ["AVG", "SUM"])
def test_a_report_shows_the_plain_figure_and_the_weight_of_own_rows(
    tmp_path: Path, kind: str
) -> None:
    """Of 1,998 rows a mean's noise is below .4, of 5 rows it is 200 times as large: own weights
    were .999 and more, and 0 to .92 in 90 runs, above .99 in one of 500. The plain figures are
    those that the same releases give without `pooled`."""
    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, report = true)"
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.run(PEOPLE)
        answer = owner.run(
            f"SELECT {price} side, {kind}(x USING pooled) AS x, {kind}(x) / 1 AS other"
            " FROM people STRATIFY BY side"
        )[-1]
    assert answer.table is not None
    pooled = ["x", "x_lo", "x_hi", "x_plain", "x_own_weight"]
    assert answer.table.column_names == ["side", *pooled, "other", "other_lo", "other_hi"]
    zero, one, few, everybody = answer.table.to_pylist()
    assert min(zero["x_own_weight"], one["x_own_weight"]) > 0.99
    assert few["x_own_weight"] < min(zero["x_own_weight"], one["x_own_weight"])
    assert everybody["x_own_weight"] == 1
    assert zero["x_plain"] == pytest.approx(20 * (1997 if kind == "SUM" else 1), rel=0.05)
    assert everybody["x_plain"] == pytest.approx(float(everybody["x"]))
    assert "on average over groups" in answer.message


def _variances(spread: float, told: float = 1.0) -> tuple[np.ndarray, float]:
    """Returns mean errors of pooled variances, of the strata's own and of one for all, in 60 draws
    of 40 strata of 20 to 5,000 rows, and the part of the pooled ones' intervals that held.

    Args:
        spread: How far the strata's standard deviations are apart, as a part of them.
        told: The part of the noise's deviation that is told of.
    """
    recipe = planned("SELECT VAR_POP(income USING pooled) AS v FROM people STRATIFY BY age")
    recipe = recipe.output.recipes[0]
    rng, k = np.random.default_rng(11), 100
    n = np.rint(np.geomspace(20, 5_000, k))
    deviation = 100 * np.exp(rng.normal(0, spread, k))
    truth, mean = deviation**2, rng.normal(0, 30, k)
    errors, held = [], []
    for _ in range(60):
        noises = [3.0, 3 * 500.0, 3 * 125_000.0]
        exact = [n, n * mean, n * (truth + mean**2 - 125_000.0)]
        noised = [x + rng.normal(0, s, k) for x, s in zip(exact, noises, strict=True)]
        m = Moments(*noised, *((told * s) ** 2 for s in noises), 1.96)
        strata, _ = two_levels(recipe, m, None, None)
        own = cells(recipe, m).values
        guesses = (strata.values, own, np.full(k, (n * truth).sum() / n.sum()))
        errors.append([np.abs(guess - truth).mean() for guess in guesses])
        held.append(np.abs(strata.values - truth) <= strata.half_widths)
    return np.mean(errors, axis=0), float(np.mean(held))


def test_variances_drawn_together_are_nearer_than_their_own_and_than_one_for_all() -> None:
    """Strata whose deviations differ by a tenth: below .8 of the better of the two, and intervals
    hold. The twins: strata that differ by a factor take their own, and told of a third of the noise
    fewer intervals hold."""
    (pooled, own, for_all), held = _variances(0.1)
    assert pooled < 0.8 * min(own, for_all)
    assert held > 0.9
    (pooled, own, for_all), _ = _variances(0.7)
    assert 0.8 * own < pooled <= 1.05 * min(own, for_all)
    assert _variances(0.1, 1 / 3)[1] < held - 0.1


def test_a_quantile_that_may_be_anything_is_everybodys() -> None:
    """A stratum whose interval is a point keeps its quantile; one whose interval is the domain, or
    that has no rows, has everybody's. In the twin all are known to within a tenth."""
    recipe = planned("SELECT MEDIAN(income USING pooled) AS m FROM people STRATIFY BY sex")
    recipe = recipe.output.recipes[0]
    everybody = BoundedFigures(np.array(300.0), np.array(5.0))

    def drawn(values: list[float], halves: list[float]) -> tuple[list[float], list[float]]:
        own = BoundedFigures(np.array(values), np.array(halves))
        pooled, widths = pool_levels(recipe, own, everybody, 1.96, 1000.0)
        return pooled.values.tolist(), widths.tolist()

    (known, unknown), (short, long) = drawn([700.0, 900.0], [1.0, 1e4])
    assert known == pytest.approx(700, abs=1)
    assert unknown == pytest.approx(300, abs=10)
    assert short < 2
    assert long > 50
    assert drawn([700.0, np.nan], [1.0, np.nan])[0] == pytest.approx([700, 300], abs=10)
    assert drawn([700.0, 900.0], [1.0, 0.1])[0] == pytest.approx([700, 900], abs=1)


def test_strata_of_which_nothing_is_known_have_what_all_rows_say() -> None:
    """Everybody's quantile is off by half of the domain at most, and still says more than the
    domain's middle, 500, which stood in strata before. The twin has no rows at all: the middle."""
    recipe = planned("SELECT MEDIAN(income USING pooled) AS m FROM people STRATIFY BY sex")
    recipe = recipe.output.recipes[0]
    nothing = BoundedFigures(np.array([900.0, np.nan]), np.array([1e4, np.nan]))
    for value, shown in ((40.0, 40.0), (np.nan, 500.0)):
        everybody = BoundedFigures(np.array(value), np.array(960.0))
        pooled, widths = pool_levels(recipe, nothing, everybody, 1.96, 1000.0)
        assert pooled.values.tolist() == pytest.approx([shown, shown], abs=1)
        assert (widths > 900).all()


@pytest.mark.parametrize("figure", ["STDDEV(x USING pooled)", "MEDIAN(x USING pooled)"])
def test_a_report_shows_what_spreads_and_quantiles_borrow(tmp_path: Path, figure: str) -> None:
    """At epsilon .1 noise is many times the five rows of a group: their weight was below .2 in 28
    trials of ten times that price."""
    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, report = true)"
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.run(PEOPLE)
        answer = owner.run(f"SELECT {price} side, {figure} AS v FROM people STRATIFY BY side")[-1]
    assert answer.table is not None
    assert answer.table.column_names == ["side", "v", "v_lo", "v_hi", "v_plain", "v_own_weight"]
    _, _, few, everybody = answer.table.to_pylist()
    assert few["v_own_weight"] < 0.9 < everybody["v_own_weight"] == 1
    assert "on average over groups" in answer.message


@pytest.mark.parametrize(
    ("figure", "instead"),
    [
        ("COUNT(income USING pooled)", "a share of a stratum's rows"),
        ("MODE(sex USING pooled)", "a share of a stratum's rows"),
        ("MEDIAN(born USING pooled)", "date_diff"),
        ("VARIANCE(income USING coinpress)", "take one of"),
    ],
)
def test_what_cannot_be_drawn_together_says_what_to_write(figure: str, instead: str) -> None:
    with pytest.raises(Refused, match=instead):
        planned(f"SELECT {figure} AS a FROM people STRATIFY BY sex")
