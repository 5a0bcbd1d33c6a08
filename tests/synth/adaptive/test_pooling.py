"""Pooled strata: what they pay, who takes part, what the population's model is worth to them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.pairwise_rows import NAMES, dependence, table

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.synth.adaptive import pooling, pooling_prior, pooling_share
from sqlpriv.synth.adaptive.schedule import AIM
from sqlpriv.synth.adaptive.strata_sum import reconcile_models
from sqlpriv.synth.adaptive.stratum_model import condition_model
from sqlpriv.synth.adaptive.stratum_run import Run
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.graph.junction_tree import Graph, remaining_clique
from sqlpriv.synth.inference import shrinkage
from sqlpriv.synth.inference.mirror_descent import estimate
from sqlpriv.synth.models.tree_model import Noisy
from sqlpriv.synth.quality.measured_error import price_parts
from sqlpriv.synth.synthesis import prepare, synthesize

SIZES = (3, 4, 2, 3)
"""Three columns, then one that makes three strata."""
LEVELS = [{3: s} for s in range(3)]


def people(rows: int, small: int) -> dict[str, list[int]]:
    """b follows a; `small` rows are in s = 1."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, rows)
    data = {n: rng.integers(0, 4, rows) for n in "cde"}
    data |= {"a": a, "b": np.where(rng.random(rows) < 0.9, a, data["c"])}
    data["s"] = (np.arange(rows) < small).astype(int)
    return {n: x.tolist() for n, x in data.items()}


def made(data, price, bounds=None, seed=0, **options):
    declared = table(**(bounds or {}))
    job = prepare(declared, NAMES, ("s",), None, "aim", options, price)
    gate = FakeGate(data, declared, price, seed=seed)
    return gate, synthesize(job, gate, np.array([0.5, 0.5]))


@pytest.mark.parametrize("share", ["auto", 0.01, 0.5, 0.99])
@pytest.mark.parametrize("small", [0, 10, 2_000])
@pytest.mark.parametrize("bounds", [{}, {"groups_per_unit": 2}])
@pytest.mark.parametrize("price", [Rho(10**8 + 1), Epsilon(10**9 + 7), Rho(1_001)])
def test_population_and_strata_add_up_to_the_price(share, small, bounds, price):
    """To the nano, whoever takes part; and every stratum pays as much as any other."""
    gate, _ = made(people(4_000, small), price, bounds, pooling=share)
    assert gate.spent == price.nano
    for losses in gate._losses.values():
        assert len(set(losses)) == 1


def test_a_price_that_cannot_be_shared_is_refused_before_anything_is_asked():
    with pytest.raises(DataError):
        prepare(table(), NAMES, ("s",), None, "aim", {}, Rho(5))


def test_a_stratum_of_almost_nobody_follows_the_pool_and_the_note_says_so():
    """Ten of 4,000 rows are in s = 1; at this price they say nothing of themselves. In the pool b
    follows a, and so it does among the rows made for s = 1; without pooling it does not.

    The mean of 12 runs: 0.61 with pooling, where it is 0.67 in the pool, and 0 without. In one or
    two runs the noised size is larger than the noise, and what drowns in it is believed.
    """
    found, told = [], []
    for share in (0.3, 0):
        each, noted = [], 0
        for seed in range(12):
            _, out = made(people(4_000, 10), Rho(10**7), seed=seed, pooling=share)
            inside = out.table.filter(np.asarray(out.table["s"]) == 1)
            each.append(dependence(inside, "a", "b"))
            noted += any("follow the population: (1)" in note for note in out.notes)
        found.append(np.mean(each))
        told.append(noted)
    assert found[0] > 0.5
    assert found[1] < 0.1
    assert told[0] >= 9  # its noised size may be large enough once in a while
    assert told[1] == 0


def test_a_large_stratum_goes_its_own_way():
    """b follows a in s = 0 and e in s = 1, of equal size; nobody is merged."""
    data = people(4_000, 2_000)
    data["b"] = [e if s else a for a, e, s in zip(data["a"], data["e"], data["s"], strict=True)]
    _, out = made(data, Rho(10**8))
    parts = [out.table.filter(np.asarray(out.table["s"]) == s) for s in (0, 1)]
    assert dependence(parts[0], "a", "b") > 0.5 > 5 * dependence(parts[0], "e", "b")
    assert dependence(parts[1], "e", "b") > 0.5 > 5 * dependence(parts[1], "a", "b")
    assert not any("follow" in note for note in out.notes)


def test_the_population_gets_less_where_noise_is_small():
    """Its share falls as rows grow or noise shrinks, within its ends."""
    found = [
        pooling_share.share(160_000, sigma, (5,) * 10) for sigma in (0.01, 1.0, 2.0, 4.0, 100.0)
    ]
    assert found == sorted(found)
    assert found[0] == pooling_share.LEAST
    assert found[-1] == pooling_share.MOST
    assert found[1:4] == [0.3, 0.45, 0.75]
    more_rows, more_levels = (320_000, 2.0, (5,) * 10), (160_000, 2.0, (9,) * 10)
    assert pooling_share.share(*more_rows) < found[2] < pooling_share.share(*more_levels)
    assert pooling_share.share(-50, 1.0, (5, 5)) == pooling_share.MOST


def test_only_where_every_stratum_is_large_do_all_go_by_themselves():
    """45 pairs of 25 cells: at sigma = 1 the noise of all pairs is 134 rows, .005 of 26,760."""
    assert pooling_share.apart(np.array([26_800.0, 1e6]), 1.0, (5,) * 10)
    assert not pooling_share.apart(np.array([26_700.0, 1e6]), 1.0, (5,) * 10)
    assert not pooling_share.apart(np.array([-4.0, 1e9]), 1.0, (5,) * 10)


@pytest.mark.parametrize("price", [Rho(10**10 + 3), Epsilon(10**12 + 7)])
@pytest.mark.parametrize("bounds", [{}, {"groups_per_unit": 2}])
def test_where_noise_is_nothing_nobody_is_asked_of_the_population(price, bounds):
    """Every question is of strata, and each pays the whole price to the nano. Twins: a share that
    is given is spent on the population, and so is one where a stratum is small."""

    def inside(small: int, share: object) -> bool:
        gate, out = made(people(4_000, small), price, bounds, pooling=share)
        assert gate.spent == price.nano
        assert dependence(out.table, "a", "b") > 0.5
        return all(m.query.strata for m in gate.asked if m.query.keys)

    assert inside(2_000, "auto")
    assert not inside(2_000, 0.3)
    assert not inside(1, "auto")


@pytest.mark.parametrize(("share", "schedule"), [("auto", pooling.APART), (0, AIM)])
def test_rounds_of_strata_by_themselves_cost_what_their_schedule_says(share, schedule):
    """The first is a part of the price, those that follow it powers of `dearer` times that, up to
    the last one of each stratum; a share of each is for choosing. Either case is the other's twin:
    their first rounds cost twice as much, or half."""
    price = Rho(10**11)
    gate, _ = made(people(4_000, 2_000), price, pooling=share)
    paid = [m.price.nano for m in gate.asked if len(m.query.keys) > 1]
    step = schedule.step(price_parts(price)[1].nano, len(NAMES))
    assert paid[0] == pytest.approx(step * (1 - 1 / schedule.selecting), rel=0.02)
    powers = np.log(np.array(paid) / paid[0]) / np.log(schedule.dearer)
    assert np.sum(np.abs(powers - np.rint(powers)) > 1e-3) <= 2  # the last of two strata
    assert {*range(3)} <= {*np.rint(powers).astype(int)}


def test_who_takes_part():
    """A round of 8 for 8e6 nano has sigma 1 / sqrt(2 * 0.001) = 22.4: five times that is 111.8."""
    noise = 1.0, Rho(500_000_000)
    sizes = np.array([111.0, 112.0, -4.0, 1e6])
    assert pooling_share.taking_part(sizes, noise, 8_000_000) == [1, 3]
    assert pooling_share.taking_part(sizes, noise, 1) == []


def world(seed: int) -> np.ndarray:
    """Counts of all cells, 20,000 rows or so: strata differ."""
    return np.random.default_rng(seed).gamma(0.5, 400, SIZES)


def exact(counts: np.ndarray, cliques) -> dict[tuple[int, ...], Noisy]:
    found = {}
    for clique in cliques:
        values = counts.sum(axis=tuple({0, 1, 2, 3} - {*clique}))
        found[clique] = Noisy(values, np.ones(values.shape))
    return found


def test_a_model_given_a_level_is_bayes_rule():
    """Against the joint table of the model, for each level of the strata's column."""
    counts = world(5)
    model = estimate(Graph(SIZES), exact(counts, [(0, 1), (1, 3), (2, 3)]), counts.sum())
    joint = model.counts((0, 1, 2, 3))
    for levels in LEVELS:
        found = condition_model(model, Graph(SIZES), levels)
        inside = joint[..., levels[3]]
        assert found.total == pytest.approx(inside.sum())
        assert np.allclose(found.counts((0, 1, 2)), inside, rtol=1e-9)
    assert remaining_clique((0, 3), {3: 2}) == ((0,), (slice(None), 2))


def test_reconciled_strata_add_up_to_the_population():
    """Strata that were fitted to noisy tables of their own meet the population's tables, also one
    that crosses the strata; and their own relations stay: what is off is only spread."""
    counts, rng = world(6), np.random.default_rng(7)
    cliques = [(0, 1), (1, 2), (0, 3)]
    models = []
    for s in range(3):
        own = exact(counts[..., s : s + 1], [(0, 1), (1, 2)])
        tables = {
            c: Noisy(np.maximum(n.values + rng.normal(0, 30, n.values.shape), 1.0), n.variance)
            for c, n in own.items()
        }
        models.append(estimate(Graph(SIZES), tables, counts[..., s].sum()))
    wanted = exact(counts, cliques)
    found = reconcile_models(models, LEVELS, wanted, counts.sum())
    for clique, which in itertools.product(cliques, ("before", "after")):
        parts = models if which == "before" else found
        rest = tuple(c for c in clique if c != 3)
        tables = [m.counts(rest) for m in parts]
        made = np.stack(tables, axis=-1) if 3 in clique else sum(tables)
        apart = np.abs(made - wanted[clique].values).sum() / counts.sum()
        assert apart < 2e-3 if which == "after" else apart > 5e-3
    for before, after in zip(models, found, strict=True):
        assert after.total == before.total
        assert np.abs(after.shares((0, 1)) - before.shares((0, 1))).sum() < 0.1


def test_tables_are_shrunk_by_their_noise():
    """Mean squared error over 400 draws of 40 cells: never above the noisy table's own by more than
    a tenth, far below it where the prior is right; a table far from the prior is left as it is; one
    cell that is far off among right ones is left as it is, too. The noise's variance is several
    times the rows of a cell, by which samples of rows lie apart."""
    rng = np.random.default_rng(4)
    truth = rng.uniform(4_000, 8_000, 40)
    spike = np.zeros(40)
    spike[7] = 4_800.0
    near, far = (gap * rng.choice([-1, 1], 40) for gap in (400.0, 3_200.0))
    for gap, most in ((0.0 * near, 0.25), (near, 1.1), (far, 1.1), (spike, 0.35)):
        wrong = []
        for _ in range(400):
            noisy = Noisy(truth + rng.normal(0, 400, 40), np.full(40, 1.6e5))
            (found,) = shrinkage.shrunk({(0,): noisy}, {(0,): truth + gap}).values()
            wrong.append(np.mean((found.values - truth) ** 2))
            assert (found.variance <= 1.6e5).all()
            assert (found.variance >= 1.6e5 * shrinkage.KEPT).all()
        assert np.mean(wrong) / 1.6e5 < most


def test_a_noisy_prior_is_believed_as_far_as_its_noise_allows():
    """30 tables of 60 cells of 400,000, of which the prior is right, and six of 2,400, of which it
    is as far off as what was measured: noise of 200 each. Half way between is best, with half of
    either mean squared error. Twin: without a doubt, the cells that are right say that all are."""
    rng = np.random.default_rng(10)
    truth = np.array([[400_000.0] * 6] * 10 + [[2_400.0] * 6])
    columns = [(i, 30) for i in range(30)]
    expected = {c: truth + rng.normal(0, [[0.0]] * 10 + [[200.0]], truth.shape) for c in columns}
    tables = {c: Noisy(truth + rng.normal(0, 200, truth.shape), 0 * truth + 4e4) for c in columns}

    def wrong(doubt: float) -> float:
        found = shrinkage.shrunk(tables, expected, doubt)
        return float(np.mean([(found[c].values[10] - truth[10]) ** 2 for c in columns])) / 4e4

    assert wrong(1.0) < 0.65
    assert wrong(0.0) > 0.75


@pytest.mark.parametrize(
    ("price", "doubt"), [(Rho(10**8), 0.25 * 7 / 3), (Epsilon(10**9), 0.25 * (7 / 3) ** 2)]
)
def test_a_prior_is_doubted_by_the_noise_that_is_in_it(monkeypatch, price, doubt):
    """Two strata of half the rows, 0.3 of the price for the population: of its noise's variance
    they have a quarter. It falls with rho, and with the square of pure epsilon."""
    seen, believed = [], pooling_prior.shrink_towards_model

    def noticed(model, much, run):
        seen.append(much)
        return believed(model, much, run)

    monkeypatch.setattr(pooling_prior, "shrink_towards_model", noticed)
    made(people(4_000, 2_000), price, pooling=0.3)
    assert np.allclose(seen, doubt, rtol=0.1)


def test_levels_of_hardly_anybody_are_not_asked_for():
    """Of three levels of 1,000, 11 and 9 rows, the last is below the noise of the best table that
    tells them apart, 10; one that counts strata alone does not, nor does one of another column.
    A column that zeros are about is asked for in any case."""
    space, sizes = Space((2, 2), (3,)), np.array([1_000.0, 11.0, 9.0])
    layout, run = pooling.Layout(space), Run(Graph((2, 2, 3)), 0, 0)
    for clique, sigma in (((2,), 1.0), ((0, 1), 1.0), ((0, 2), 30.0), ((1, 2), 10.0)):
        shape = tuple((2, 2, 3)[c] for c in clique)
        run.tables[clique] = Noisy(np.ones(shape), np.full(shape, sigma**2))
    assert pooling.telling(run, layout, sizes)[2].tolist() == [True, True, False]
    del run.tables[0, 2], run.tables[1, 2]
    assert not pooling.telling(run, layout, sizes)[2].any()
    zeros = {(0, 2): np.zeros((2, 3), dtype=bool)}
    layout = pooling.Layout(Space((2, 2), (3,), zeros=zeros))
    assert pooling.telling(run, layout, sizes)[2].all()


def test_a_level_of_hardly_anybody_gets_no_room_from_large_ones(monkeypatch):
    """20 columns' tables of two rows of cells, noise of 30: the first row has 1,000 a cell and is
    off by a third, the second has 2 and is right. What noise moves those by stays below a tenth of
    it in the mean square. Twin: with the room of a mean cell of all, it does not."""
    rng = np.random.default_rng(8)
    expected = {(i, 30): np.array([[1_000.0] * 6, [2.0] * 6]) for i in range(20)}
    tables = {
        c: Noisy(x * [[rng.choice([0.7, 1.3])], [1.0]] + rng.normal(0, 30, x.shape), 0 * x + 900)
        for c, x in expected.items()
    }

    def moved() -> float:
        found = shrinkage.shrunk(tables, expected)
        return float(np.mean([(found[c].values[1] - 2.0) ** 2 for c in tables])) / 900

    assert moved() < 0.1
    near = [
        x.values[0] - shrinkage.shrunk(tables, expected)[c].values[0] for c, x in tables.items()
    ]
    assert np.abs(near).mean() < 10
    monkeypatch.setattr(shrinkage, "_reach", lambda x: x + shrinkage.EMPTY * x.mean())
    assert moved() > 0.1


def test_what_drowns_in_noise_is_moved_to_what_everybody_is():
    """Two columns, then one of strata: 30,000, 20,000 and 40 rows, noise of 200. Sizes and levels
    come out above zero; the two large strata, which differ, err no more than as measured but for a
    fifth; the rows of the third are near to its size times what everybody is. Variances stay the
    noise's."""
    rng = np.random.default_rng(9)
    graph, sizes = Graph((4, 2, 3)), np.array([30_000.0, 20_000.0, 40.0])
    within = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25] * 4]).T
    truth = {
        (2,): sizes,
        (0,): within @ sizes,
        (1,): np.array([sizes.sum() - 20, 20.0]),
        (0, 2): within * sizes,
    }
    tables = {c: Noisy(x + rng.normal(0, 200, x.shape), 0 * x + 200.0**2) for c, x in truth.items()}
    tables[2,].values[2] = tables[1,].values[1] = -150.0
    ones = {c: tables[c] for c in [(0,), (1,)]}
    run = Run(graph, 0, 0, tables=tables, model=estimate(graph, ones, sizes.sum()))
    run.totals = [(float(n.values.sum()), float(n.variance.sum())) for n in tables.values()]
    found = pooling_prior.shrink_towards_independence((2,), (3,), run)
    assert found[2,].values.min() > 0
    assert found[1,].values.min() > 0
    both = tables[0, 2].values, found[0, 2].values
    measured, moved = (np.sqrt(((x - truth[0, 2])[:, :2] ** 2).mean()) for x in both)
    assert moved < 1.2 * measured  # alike, they would be off by thousands
    tiny = found[2,].values[2] * run.model.shares((0,))
    assert np.abs(found[0, 2].values[:, 2] - tiny).mean() < 20
    assert np.abs(tables[0, 2].values[:, 2] - tiny).mean() > 50
    assert all((found[c].variance == tables[c].variance).all() for c in tables)


def test_every_stratum_of_a_population_has_rows():
    """Ten of 4,000 rows are in s = 1, and at this price the noise of its size is far larger: with
    sizes by what was noised it would have no rows in about half of 12 runs; it has in each."""
    declared, price = table(), Rho(10**6)
    below = 0
    for seed in range(12):
        gate = FakeGate(data := people(4_000, 10), declared, price, seed=seed)
        job = prepare(declared, NAMES, ("s",), None, "aim", {"rows": 4_000}, price)
        out = synthesize(job, gate)
        assert (np.asarray(out.table["s"]) == 1).any()
        counts = [r.values[1] for r in out.releases if r.values.shape == (2,)]
        below += any(n < 0 for n in counts)
    assert data["s"].count(1) == 10
    assert below >= 3


def test_strata_have_one_way_marginals_of_their_own():
    """Beside the look, which every stratum has: as precise as a stratum by itself would have them,
    of two strata that are alike as of two that are apart."""
    rng = np.random.default_rng(5)
    strata = np.arange(4_000) % 2
    levels = rng.choice(4, (len(NAMES), 4_000), p=[0.5, 0.3, 0.15, 0.05])
    apart = dict(zip(NAMES, np.where(strata == 1, 3 - levels, levels).tolist(), strict=True))
    alike = dict(zip(NAMES, levels.tolist(), strict=True))
    for data in (apart, alike):
        gate, _ = made(data | {"s": strata.tolist()}, Rho(2_000_000))
        first = gate.asked[: 1 + 2 * len(NAMES)]
        of_columns = [m.query for m in first if len(m.query.keys) == 1]
        assert all(query.strata for query in of_columns)
        assert len(of_columns) == 2 * len(NAMES)
