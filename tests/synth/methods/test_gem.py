"""GEM: the price of a round, the worst pairs, one compilation for all rounds and strata."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.api.ask import Known
from sqlpriv.synth.methods import gem
from sqlpriv.synth.models.product_mixture import MixtureModel
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d", "e")
TABLE = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in (*NAMES, "s")})


def people(rows: int, seed: int = 0) -> dict[str, list[int]]:
    """b copies a; d copies c in stratum 0 and e in the others."""
    rng = np.random.default_rng(seed)
    a, c, e, s = rng.integers(0, 3, (4, rows))
    columns = {"a": a, "b": a, "c": c, "d": np.where(s == 0, c, e), "e": e, "s": s}
    return {n: v.tolist() for n, v in columns.items()}


def made(price, strata=(), rows=4_000, **options):
    job = prepare(TABLE, NAMES, strata, None, "gem", options, price)
    gate = FakeGate(people(rows), TABLE, price)
    return gate, synthesize(job, gate).table


@pytest.mark.whole
def test_strata_have_networks_of_their_own():
    gate, table = made(rho_of(4.0, 1e-9), ("s",), rows=9_000, rounds=6)
    s, a, b, c, d, e = (table[n].to_numpy() for n in ("s", *NAMES))
    assert np.mean(a == b) > 0.9
    assert np.mean((d == c)[s == 0]) > 0.9
    assert np.mean((d == e)[s == 1]) > 0.9
    assert np.mean((d == c)[s == 1]) < 0.5  # the twin: what one network for all would not tell
    pairs = gem.pairs_of((3,) * 5)
    chosen = [[pairs[i] for i in stratum] for stratum in zip(*gate.choices, strict=True)]
    assert all((0, 1) in of_stratum[:2] for of_stratum in chosen)
    assert (2, 3) in chosen[0][:2]
    assert (3, 4) in chosen[1][:2]
    assert all(len(set(of_stratum)) == 6 for of_stratum in chosen)


def test_a_rounds_price_comes_from_the_whole_and_not_the_other_way():
    """However many rounds, they share one price; the authors' code pays it once a round."""
    for rounds in (1, 10):
        gate, _ = made(Rho(10**8 + 3), rounds=rounds, steps=2, rows=50)
        assert gate.spent == 10**8 + 3
        assert len(gate.choices) == rounds
        pairs = [m.price.nano for m in gate.asked if len(m.query.keys) == 2]
        assert sum(pairs) == pytest.approx(0.7 * 0.98 * 10**8, rel=1e-5)
        assert max(pairs) - min(pairs) <= 1


def test_every_round_and_stratum_runs_one_compiled_function():
    from sqlpriv.synth.methods import gem_network

    gem_network._compile_functions.cache_clear()
    made(Rho(10**11), ("s",), rounds=5, steps=3, rows=60)
    shares, descend = gem_network._compile_functions((3,) * 5)
    assert gem_network._compile_functions.cache_info().misses == 1
    assert shares._cache_size() == descend._cache_size() == 1


def test_training_reaches_targets_and_the_average_is_of_the_last_half():
    layout = gem.OneHotLayout((0, 1), (2, 3), [100.0])
    from sqlpriv.synth.methods.gem_network import Generator, Targets

    none = np.zeros((1, 5), dtype=np.float32)
    both = np.zeros((1, 5, 5), dtype=np.float32)
    targets = Targets(none, none, both, both.copy())
    exact = np.array([[30.0, 0.0, 20.0], [0.0, 50.0, 0.0]])
    layout.write_pairs(targets, [Known((0, 1), exact, 1.0)], 1.0)
    generator = Generator((2, 3), 1, 200, 7)
    generator.descend(targets, 800)
    (guess,) = layout.guesses([(0, 1)], generator.shares(), 1.0)
    assert np.abs(guess.estimate[0] - exact).sum() < 6
    assert generator.shares().sum(axis=2) == pytest.approx(2.0, abs=1e-4)
    generator.remember()
    assert generator.shares(average=True) == pytest.approx(generator.shares(), abs=1e-5)


def test_rows_of_a_mixture_have_its_pairs():
    """Two components: (0, 0 or 1) and (1, 2). 600 rows: each cell within 2 of its share."""
    model = MixtureModel(
        {0: np.array([[1.0, 0], [0, 1.0]]), 2: np.array([[0.5, 0.5, 0], [0, 0, 1]])}, 600.0
    )
    drawn = model.sample((2, 1, 3), 600, np.random.default_rng(0))
    pair = np.zeros((2, 3))
    np.add.at(pair, (drawn[:, 0], drawn[:, 2]), 1)
    assert np.abs(pair - [[150, 150, 0], [0, 0, 300]]).max() <= 2
    assert (drawn[:, 1] == 0).all()


def test_it_trains_where_mbi_has_asked_for_doubles():
    """mbi turns JAX's doubles on for the whole process; the networks stay what they are."""
    from sqlpriv.synth.inference import mbi_engine
    from sqlpriv.synth.methods.gem_network import Generator, Targets

    half, pair = np.full((1, 5), 0.5, np.float32), np.zeros((1, 5, 5), np.float32)
    generator = Generator((2, 3), 1, 4, 0)
    generator.descend(Targets(half, half, pair, pair), 3)
    shares = generator.shares()
    assert mbi_engine.jax.config.jax_enable_x64
    assert shares.shape == (1, 4, 5)
