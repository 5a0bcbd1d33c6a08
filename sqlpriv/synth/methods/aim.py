"""`aim`: one-way marginals, then, round by round, the marginal that the model knows worst.

McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for
Differentially Private Synthetic Data" (arXiv:2201.12677), Algorithms 2 and 3. The workload is all
marginals of `degree` columns; a candidate's score is its distance from the model less the noise
that measuring it would add, times its weight. The schedule is in `schedule`. One-way marginals that
are noisy, because rows are few or the price is small, are measured once more before the rounds, for
up to half of the price in all (`separate.dearer_one_ways`); the paper does not do that.

Strata are pooled (`pooling`): see there. `pooling = 0` is every stratum by itself, the method of
Rosenblatt, Stoyanovich and Musco 2024.

Price of that: a stratum's one-way marginals and rounds add up to it exactly, and strata are
disjoint, so they cost it together. That later questions depend on earlier answers is what adaptive
composition allows.
"""

from __future__ import annotations

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import pooling
from sqlpriv.synth.adaptive.rounds import TREES, most_cells
from sqlpriv.synth.adaptive.schedule import AIM
from sqlpriv.synth.adaptive.separate import separate
from sqlpriv.synth.adaptive.stratum_model import StratumCliques
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Method, Option, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.methods import independent

MOST_COLUMNS = 40
"""Seconds of a statement over 20,000 rows of columns of six levels, at epsilon = 1 (the tests' own
gate, two busy cores): 13 for 24 columns, 49 for 36; 48 did not end within 170."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on: one-way marginals, then rounds that depend on answers."""
    columns = modelled_columns(space.sizes)
    if len(columns) < 2:
        return independent.phases(space, price, options)
    if _is_pooled(space, options):
        return pooling.phases(space, price)
    nominal = AIM.rounds * len(columns)
    first, rest = split_price(price, [0.9 * len(columns), nominal - 0.9 * len(columns)])
    shares = split_price(first, [1.0] * len(columns))
    ones = tuple(Marginal((c,), p) for c, p in zip(columns, shares, strict=True))
    return (
        Phase("one-way marginals", "noise", first, 1, ones),
        Phase("chosen marginals", "exponential mechanism and noise", rest, nominal),
    )


def _is_pooled(space: Space, options: Options) -> bool:
    return space.strata > 1 and options["pooling"] != 0


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    several = len(modelled_columns(space.sizes)) > 1
    if several and _is_pooled(space, options):
        return pooling.fit(ask, space, price, options)
    ones, *others = phases(space, price, options)
    left = sum(phase.price.nano for phase in others)
    return separate(ask, space, ones.marginals, left, options, AIM)


METHOD = Method(
    name="aim",
    title="the marginals that matter, chosen one by one in each stratum",
    paper="McKenna, Mullins, Sheldon and Miklau 2022 (arXiv:2201.12677)",
    options=(
        Option(
            "degree", 3, "columns of the marginals to be kept; 2 of many columns", least=2, most=4
        ),
        *TREES,
        Option(
            "pooling",
            "auto",
            "share of the price for a model of the population that strata start from: auto goes by"
            " noised sizes; 0 for none",
            choices=("auto",),
            share=True,
        ),
    ),
    max_strata=1_000,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    one_model=pooling.is_one_model,
    phases=phases,
    trees=True,
    pair_cells=lambda options, strata: most_cells(options["cells"], strata),
    max_columns=MOST_COLUMNS,
    merges_lists=True,
)
