"""What is inside a bin: bins by noised quantiles, and values drawn by the noised shape of a bin.

A wide number or date column is cut into bins of equal width from its declaration alone. A twentieth
of the price (`SHARE`) goes to a fine histogram of each such column over the whole population, about
FINE cells. It says how values lie inside each bin, in every stratum alike; with `binning =
quantile` it first says where the bins end, so that each holds about as many people.

Price: the fine histograms are one batch, at equal shares of `SHARE` of the price; they count every
stratum together, so they are paid for besides what the method is given, which is the rest. Where
edges, mass and drawn values follow from their noised counts, that is post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.domain.domain import Attribute, Domain, Within, bin_end
from sqlpriv.synth.inference.one_way_tables import Floats, onto_simplex, shrunk

FINE = 1_024
SHARE = 0.05
WORTH = 1_000
"""Nanos of price for each binned column, below which no fine histogram is worth it: values are
drawn evenly then, and bins are of equal width."""


def binned(domain: Domain) -> tuple[int, ...]:
    """Returns the numbers of the columns that are made of bins of more than one value."""
    return tuple(
        i
        for i, x in enumerate(domain.attributes)
        if x.bounds is not None and len(_fine(x)) > x.size
    )


def fine_query(domain: Domain, number: int) -> a.Count:
    """Returns the count of the population in the parts of the bins of a column."""
    attribute = domain.attributes[number]
    bounds = _fine(attribute)
    edges = tuple(bin_end(attribute.column, bound) for bound in bounds[1:-1])
    key = a.Key(a.Bin(a.Col(attribute.column.name), edges), tuple(range(len(bounds) - 1)))
    return a.Count(domain.source, (), (key,))


def refined(domain: Domain, inside: Mapping[int, Release], by: str) -> Domain:
    """Returns the domain with the insides of its bins, and with other bins for `by` = quantile.

    Args:
        domain: Of bins of equal width.
        inside: The answers to `fine_query`, by number of the column.
        by: "width" or "quantile". The number of bins, and so every price, is the same for both.
    """
    attributes = list(domain.attributes)
    for number, release in inside.items():
        fine, noisy = _fine(attributes[number]), release.values.ravel()
        attribute = attributes[number]
        if by == "quantile":
            attribute = _by_quantiles(attribute, fine, noisy)
        attributes[number] = _shaped(attribute, fine, noisy, release.sigma)
    return replace(domain, attributes=tuple(attributes))


def _fine(attribute: Attribute) -> list[int] | list[float]:
    """Returns the ends of equal parts of every bin, about FINE parts in all."""
    bounds = attribute.bounds or ()
    parts = max(1, FINE // max(len(bounds) - 1, 1))
    pairs = list(itertools.pairwise(bounds))
    if attribute.column.type is Type.REAL:
        inner = {float(x) for low, high in pairs for x in np.linspace(low, high, parts + 1)[:-1]}
        return sorted(inner | set(map(float, bounds)))
    whole = {int(low + (high - low) * i // parts) for low, high in pairs for i in range(parts)}
    return sorted(whole | set(map(int, bounds)))


def _by_quantiles(attribute: Attribute, fine: Sequence[float], noisy: Floats) -> Attribute:
    """Returns as many bins as there were, with about the same noised count in each.

    Ends are ends of fine parts and differ, so a part of very many people is a bin of its own.
    """
    bounds = attribute.bounds or ()
    bins, parts = len(bounds) - 1, len(fine) - 1
    mass = np.cumsum(onto_simplex(noisy / max(noisy.sum(), 1.0), 1.0))
    wanted = np.searchsorted(mass, np.arange(1, bins) / bins, side="left") + 1
    ends = [0, *wanted.tolist(), parts]
    for i in range(1, bins + 1):
        ends[i] = max(ends[i], ends[i - 1] + 1)
    ends[bins] = parts
    for i in range(bins - 1, 0, -1):
        ends[i] = min(ends[i], ends[i + 1] - 1)
    chosen = tuple(fine[i] for i in ends)
    edges = tuple(bin_end(attribute.column, bound) for bound in chosen[1:-1])
    key = a.Key(a.Bin(a.Col(attribute.column.name), edges), attribute.key.values)
    return replace(attribute, key=key, bounds=chosen)


def _shaped(attribute: Attribute, fine: Sequence[float], noisy: Floats, sigma: float) -> Attribute:
    """Returns the column with the shares of the parts of each bin, shrunk towards equal ones."""
    whole = attribute.column.type is not Type.REAL
    ends = np.array(fine, dtype=np.int64 if whole else np.float64)
    places: NDArray[np.int64] = np.searchsorted(ends, np.array(attribute.bounds))
    widest = int(np.diff(places).max())
    share = np.zeros((len(places) - 1, widest))
    widths = np.diff(ends).astype(np.float64)
    for i, (first, last) in enumerate(itertools.pairwise(places)):
        alike = widths[first:last] / widths[first:last].sum()
        total = max(float(noisy[first:last].sum()), 0.0)
        apart = shrunk(noisy[first:last] - alike * total, sigma, 0.0)
        found = onto_simplex(alike * total + apart, total)
        share[i, : last - first] = found / found.sum() if found.sum() > 0 else alike
    return replace(attribute, within=Within(ends, places[:-1], share))
