"""The noise is what its price says: its law, its map, its limits.

Every statistical test here rejects at p < 1e-6 and has a twin that must be rejected. Against a
scale that is 10 % off, the chi-square statistic of n draws gains about 0.02 n (Gaussian) or 0.01 n
(Laplace); at n = 30,000 that is at least 300, with a standard deviation under 45 and a threshold
under 85 for the 30 cells or fewer: power above 0.999999.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.proof.noise import MAX_SCALE, Noise, chooser, gaussian, laplace, root_above
from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho
from sqlpriv.system import daemon_thread

ALPHA = 1e-6


def select(scores: list[int] | NDArray[np.int64], sensitivity: int, price: Price) -> int:
    """One choice among candidates of these scores."""
    return chooser(sensitivity, price)(scores)


DRAWS = 30_000


def law(mechanism: str, scale: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The integers that matter and their exact probabilities."""
    reach = math.ceil(40 * scale) + 2
    z = np.arange(-reach, reach + 1)
    exponent = z**2 / (2 * scale**2) if mechanism == "discrete Gaussian" else np.abs(z) / scale
    weight = np.exp(-exponent)
    return z, weight / weight.sum()


def p_value(draws: NDArray[np.int64], mechanism: str, scale: float) -> float:
    """Chi-square test of the draws against the exact law, cells of at least 1/30 each."""
    z, p = law(mechanism, scale)
    cell_of = np.minimum((np.cumsum(p) - p) * 30, 29).astype(int)
    cells, number = np.unique(cell_of, return_inverse=True)
    expected = np.bincount(number, p) * len(draws)
    inside = np.clip(draws, z[0], z[-1]) - z[0]
    observed = np.bincount(number[inside], minlength=len(cells))
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(cells) - 1))


def drawn(made: Noise, n: int) -> NDArray[np.int64]:
    return np.array(made.draw(n), dtype=np.int64)


@pytest.mark.parametrize(("sensitivity", "scale"), [(1, 0.8), (2, 3.0), (5, 40.0)])
def test_gaussian_draws_follow_the_claimed_law_and_no_other(sensitivity: int, scale: float) -> None:
    made = gaussian(sensitivity, Rho.at_most(sensitivity**2 / (2 * scale**2)))
    draws = drawn(made, DRAWS)
    assert p_value(draws, "discrete Gaussian", scale) > ALPHA
    for wrong in (0.9, 1.1):
        assert p_value(draws, "discrete Gaussian", wrong * scale) < ALPHA


@pytest.mark.parametrize(("sensitivity", "scale"), [(1, 0.8), (2, 3.0), (5, 40.0)])
def test_laplace_draws_follow_the_claimed_law_and_no_other(sensitivity: int, scale: float) -> None:
    made = laplace(sensitivity, Epsilon.at_most(sensitivity / scale))
    draws = drawn(made, DRAWS)
    assert p_value(draws, "discrete Laplace", scale) > ALPHA
    for wrong in (0.9, 1.1):
        assert p_value(draws, "discrete Laplace", wrong * scale) < ALPHA
    assert p_value(draws, "discrete Gaussian", made.sigma) < ALPHA


@pytest.mark.parametrize("kind", ["discrete Gaussian", "discrete Laplace"])
def test_wide_draws_have_the_claimed_sigma(kind: str) -> None:
    """n = 14,000: the mean size has a relative error of at most 1/sqrt(n) = 0.0085; 5.5 of it is
    the threshold (p < 1e-7), and a scale 10 % off moves it by 0.09, another 5 beyond."""
    made = (
        gaussian(2**40, Rho(500)) if kind == "discrete Gaussian" else laplace(2**40, Epsilon(10**6))
    )
    expected = math.sqrt(2 / math.pi if kind == "discrete Gaussian" else 1 / 2)
    size = np.abs(drawn(made, 14_000) / made.sigma).mean() / expected
    assert made.sigma > 2**49
    assert abs(size - 1) < 0.047
    assert abs(size / 0.9 - 1) > 0.047
    assert abs(size / 1.1 - 1) > 0.047


def test_draws_are_independent_of_one_another() -> None:
    """n = 10,000: a lag-1 correlation beyond 5 / sqrt(n) has p < 1e-6; the twin's is 1/2."""
    draws = np.array(gaussian(1, Rho(10**5)).draw(10_000), dtype=float)
    twin = draws[1:] + draws[:-1]
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.05
    assert abs(np.corrcoef(twin[1:], twin[:-1])[0, 1]) > 0.05


def test_no_draw_is_used_twice() -> None:
    """1,000 draws at a scale of 2^50 share a value by chance with probability below 2^-31."""
    made = laplace(2**50, Epsilon(10**9))
    draws = [z for n in (1, 9, 990) for z in made.draw(n)]
    assert len(draws) == len(set(draws)) == 1_000


def test_threads_that_draw_at_once_draw_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,000 draws at a scale of 2^50, by four threads: two share a value by chance with probability
    below 2^-27. Their halves are not correlated beyond 5 / sqrt(2,000) (p < 1e-6)."""
    monkeypatch.setattr(daemon_thread, "CORES", 4)
    monkeypatch.setattr(daemon_thread, "LEAST", 1_000)
    draws = laplace(2**50, Epsilon(10**9)).draw(4_000)
    assert len(draws) == len(set(draws)) == 4_000
    assert abs(np.corrcoef(draws[:2_000], draws[2_000:])[0, 1]) < 5 / 2_000**0.5


def test_a_forked_child_draws_other_noise() -> None:
    """Eight draws at a scale of 2^40 agree by chance with probability below 2^-300."""
    script = (
        "import os; from sqlpriv.kernel.proof.noise import laplace\n"
        "from sqlpriv.kernel.terms.budget import *\n"
        "made = laplace(2**40, Epsilon(10**9)); made.draw(8); child = os.fork()\n"
        "os.write(1, (repr(made.draw(8)) + '\\n').encode())\n"
        "if child: os.waitpid(child, 0)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    lines = said.stdout.splitlines()
    assert len(lines) == 2, said.stderr
    assert lines[0] != lines[1]


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 3.0, 40.0])
def test_sigma_is_the_standard_deviation(scale: float) -> None:
    one = laplace(1, Epsilon.at_most(1 / scale))
    z, p = law("discrete Laplace", scale)
    assert one.sigma == pytest.approx(math.sqrt((z**2 * p).sum()), rel=1e-6)
    other = gaussian(1, Rho.at_most(0.5 / scale**2))
    z, p = law("discrete Gaussian", scale)
    assert math.sqrt((z**2 * p).sum()) <= other.sigma
    if scale >= 1:
        assert other.sigma == pytest.approx(math.sqrt((z**2 * p).sum()), rel=1e-6)


@given(st.integers(1, 10**18), st.integers(1, 10**9))
def test_the_scale_meets_the_price_and_wastes_nothing(nano: int, square: int) -> None:
    """In exact arithmetic, independent of OpenDP's map (which `gaussian` has asked by then)."""
    price = Fraction(nano, 10**9)
    try:
        scale = Fraction(gaussian(root_above(square), Rho(nano)).sigma)
        assert (1 - Fraction(1, 10**11)) * price <= square / (2 * scale**2) <= price
        laplace(square, Epsilon(nano))
        scale = Fraction(noise._noise_scale(square, Epsilon(nano)))
        assert (1 - Fraction(1, 10**11)) * price <= square / scale <= price
    except Refused:
        assert square / price > MAX_SCALE / 2


@pytest.fixture
def anew() -> Iterator[None]:
    """Mechanisms are built once for each distance and price: here none is, before and after."""
    for build in (gaussian, laplace):
        build.cache_clear()
    yield
    for build in (gaussian, laplace):
        build.cache_clear()


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("build", ["make_gaussian", "make_laplace", "make_noisy_max"])
def test_a_map_that_disagrees_stops_everything(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale that is one part in a billion too small is caught by OpenDP's map."""
    real = getattr(noise.measurements, build)

    def short(*args: Any) -> object:
        *space, scale = args
        return real(*space, scale * (1 - 1e-9))

    calls = {
        "make_gaussian": lambda: gaussian(3, Rho(10**7)),
        "make_laplace": lambda: laplace(3, Epsilon(10**7)),
        "make_noisy_max": lambda: select([1, 2], 3, Rho(10**7)),
    }
    calls[build]()
    for made in (gaussian, laplace):
        made.cache_clear()
    monkeypatch.setattr(noise.measurements, build, short)
    with pytest.raises(KernelError, match="does not meet its price"):
        calls[build]()


def choice_p_value(scores: list[int], price: Price, odds: list[float]) -> float:
    n = 1_500
    counts = np.bincount([select(scores, 1, price) for _ in range(n)], minlength=len(scores))
    return float(stats.chisquare(counts, np.array(odds) * n).pvalue)


def exponential_odds(scores: list[int], scale: float) -> list[float]:
    weight = np.exp(np.array(scores) / scale)
    return list(weight / weight.sum())


def permute_and_flip_odds(scores: list[int], scale: float) -> list[float]:
    """Walks every order in which candidates can be shown and refused."""
    odds, best = [0.0] * len(scores), max(scores)

    def walk(open_: frozenset[int], probability: float) -> None:
        for i in open_:
            taken = math.exp((scores[i] - best) / scale)
            odds[i] += probability / len(open_) * taken
            walk(open_ - {i}, probability / len(open_) * (1 - taken))

    walk(frozenset(range(len(scores))), 1.0)
    return odds


def test_choices_have_the_odds_that_were_paid_for() -> None:
    """n = 1,500. With half the epsilon the chi-square statistic gains at least 0.06 n = 90 (and
    the threshold is 28): power above 0.999. Scale 2 is rho = 1/8 and, in pure terms, epsilon = 1.
    """
    scores, rho, epsilon = [0, 2, 4], Rho.at_most(0.125), Epsilon.at_most(1)
    assert choice_p_value(scores, rho, exponential_odds(scores, 2)) > ALPHA
    assert choice_p_value(scores, epsilon, permute_and_flip_odds(scores, 2)) > ALPHA
    assert choice_p_value(scores, Rho(rho.nano // 4), exponential_odds(scores, 2)) < ALPHA
    halved = Epsilon(epsilon.nano // 2)
    assert choice_p_value(scores, halved, permute_and_flip_odds(scores, 2)) < ALPHA


@pytest.mark.parametrize("price", [Rho(10**15), Epsilon(10**15)])
def test_scores_of_any_size_are_ranked(price: Price) -> None:
    assert select([-(2**200), 7, 2**200, 0], 1, price) == 2
    assert select([-(2**200)], 1, price) == 0
    assert select(np.array([-(2**63), 7, 2**63 - 1, 0]), 1, price) == 2
    with pytest.raises(KernelError):
        select([], 1, price)


def test_noise_too_wide_for_its_integers_is_refused() -> None:
    at_limit = laplace(2**55 - 2**16, Epsilon(10**9))
    assert at_limit.sigma <= math.sqrt(2) * MAX_SCALE
    assert all(abs(z) < 2**62 for z in at_limit.draw(100))
    for wide in (
        lambda: laplace(2**55, Epsilon(10**9)),
        lambda: gaussian(2.0**55, Rho(5 * 10**8)),
        lambda: gaussian(2.0**200, Rho(10**18)),
        lambda: laplace(2**63, Epsilon(10**18)),
        lambda: select([1], 2**63, Epsilon(10**18)),
        lambda: select([1], 2**56, Rho(5 * 10**8)),
    ):
        with pytest.raises(Refused, match="nothing was read"):
            wide()


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_a_sensitivity_or_price_of_nothing_is_a_bug(sensitivity: int) -> None:
    for build in (
        lambda: laplace(sensitivity, Epsilon(1)),
        lambda: laplace(1, Epsilon(0)),
        lambda: gaussian(1, Rho(0)),
        lambda: select([1], sensitivity, Epsilon(1)),
        lambda: gaussian(sensitivity, Rho(1)),
    ):
        with pytest.raises(KernelError):
            build()


def test_no_draws() -> None:
    assert gaussian(1, Rho(10**9)).draw(0) == []


@given(st.integers(0, 2**200) | st.fractions(0, 10**30))
def test_a_root_is_the_next_double_above(square: int | Fraction) -> None:
    above = root_above(square)
    assert Fraction(above) ** 2 >= square
    assert Fraction(max(0.0, above * (1 - 2**-50))) ** 2 < square or square == 0


def test_roots_of_squares_are_exact() -> None:
    assert [root_above(n * n) for n in range(100)] == list(range(100))
    assert all(a < b for a, b in pairwise(map(root_above, range(100))))


def test_an_error_of_opendp_leaves_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: object) -> object:
        raise ValueError("score 4711")

    with pytest.raises(KernelError) as drawing:
        Noise(1.0, failing).draw(3)
    monkeypatch.setattr(noise, "_confirm_price", lambda *_: failing)
    with pytest.raises(KernelError) as selecting:
        select([4711, 0], 1, Rho(10**9))
    for caught in (drawing.value, selecting.value):
        assert "4711" not in str(caught)
        assert caught.__cause__ is None
        assert caught.__context__ is None
