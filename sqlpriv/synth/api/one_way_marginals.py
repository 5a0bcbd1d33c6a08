"""One-way marginals, as nearly every synthesizer asks for them first."""

from __future__ import annotations

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Marginal


def modelled_columns(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the columns that have more than one level: the others need no budget."""
    return tuple(column for column, size in enumerate(sizes) if size > 1)


def one_ways(sizes: tuple[int, ...], price: Price) -> tuple[Marginal, ...]:
    """Returns the one-way marginals at equal shares of `price`; the bare count if none."""
    columns = modelled_columns(sizes)
    if not columns:
        return (Marginal((), price),)
    shares = split_price(price, [1.0] * len(columns))
    return tuple(Marginal((c,), share) for c, share in zip(columns, shares, strict=True))
