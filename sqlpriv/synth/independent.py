"""`independent`: every column by itself. The baseline, and the choice for very many columns."""

from __future__ import annotations

from sqlpriv.kernel.budget import Price
from sqlpriv.kernel.release import Release
from sqlpriv.synth.asking import Ask, Marginal
from sqlpriv.synth.marginals import onto_simplex, total_of
from sqlpriv.synth.method import Method, Options, Phase, Space, StratumModel, shared
from sqlpriv.synth.progress import Progress
from sqlpriv.synth.tree import TreeModel, rooted


def modelled(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the columns that have more than one level: the others need no budget."""
    return tuple(column for column, size in enumerate(sizes) if size > 1)


def one_ways(sizes: tuple[int, ...], price: Price) -> tuple[Marginal, ...]:
    """Returns the one-way marginals at equal shares of `price`; the bare count if none."""
    columns = modelled(sizes)
    if not columns:
        return (Marginal((), price),)
    shares = shared(price, [1.0] * len(columns))
    return tuple(Marginal((c,), share) for c, share in zip(columns, shares, strict=True))


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
    return tuple(_model(modelled(sizes), releases, s) for s in range(strata))


def _model(columns: tuple[int, ...], releases: tuple[Release, ...], stratum: int) -> StratumModel:
    tables = [r.values[stratum] for r in releases]
    size = total_of(tables, [r.sigma for r in releases])
    total = max(size, 1.0)
    shares = {c: onto_simplex(t, total) for c, t in zip(columns, tables, strict=False)}
    return StratumModel(TreeModel(rooted(columns, ()), shares, total), {}, size)


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
