"""`independent`: every column by itself. The baseline, and the choice for very many columns."""

from __future__ import annotations

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.method import Method, Options, Phase, Space, StratumModel
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import onto_simplex, total_of
from sqlpriv.synth.models.tree_model import TreeModel, root_forest


def phases(
    space: Space,
    price: Price,
    options: Options,
) -> tuple[Phase, ...]:
    """Returns the one phase: all of the price on the one-way marginals."""
    sizes = space.sizes
    return (Phase("one-way marginals", "noise", price, 1, one_ways(sizes, price)),)


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumModel, ...]:
    """Returns independent columns: each noisy marginal brought onto its stratum's noised total.

    Price: one batch of one-way marginals whose prices add up to `price`; strata are disjoint.
    """
    sizes, strata = space.sizes, space.strata
    ask.report(Progress("measuring one-way marginals", 0, 1))
    releases = ask.measure(phases(space, price, options)[0].marginals)
    ask.report(Progress("measuring one-way marginals", 1, 1))
    return tuple(_model(modelled_columns(sizes), releases, s) for s in range(strata))


def _model(columns: tuple[int, ...], releases: tuple[Release, ...], stratum: int) -> StratumModel:
    tables = [r.values[stratum] for r in releases]
    size = total_of(tables, [r.sigma for r in releases])
    total = max(size, 1.0)
    shares = {c: onto_simplex(t, total) for c, t in zip(columns, tables, strict=False)}
    return StratumModel(TreeModel(root_forest(columns, ()), shares, total), {}, size)


METHOD = Method(
    name="independent",
    title="every column on its own; no relation between columns is kept",
    paper="baseline: the one-way step of McKenna, Miklau and Sheldon 2021 (arXiv:2108.04978)",
    options=(),
    max_strata=10_000,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    phases=phases,
)
