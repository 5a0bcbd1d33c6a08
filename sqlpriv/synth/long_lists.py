"""Long lists of values: rare ones are made groups, so that pairs with other columns can be known.

Of a list of 2,000 values most hold fewer rows than noise. A table of it by another column is mostly
noise, so a method that weighs noise never measures one, and the list comes out independent. So LIST
of the price goes to a noised count of the values, over the whole population. Values of many rows
stay levels of their own; the others become groups of neighbours in the declared order, of about as
many rows: codes that begin alike are often alike. A group's rows are dealt to its values by noised
shares.

Price: one measurement for each long list, besides what the method is given. Groups and shares are
post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.synth.domain.domain import Domain, GroupedLevels
from sqlpriv.synth.domain.level_choice import level_count
from sqlpriv.synth.inference.one_way_tables import onto_simplex

LONG = 150
"""Values of a list from which on it is long."""
LIST = 0.1
"""The part of the price for the values of all long lists."""
MOST_GROUPS = 64
"""Groups of rare values at most, in a table of very many rows."""
MOST_ALONE = 32
"""Values of many rows that are levels of their own, at most."""
SURE = 3.0
"""Standard deviations of noise above which a value is a level of its own, as in `mst`."""


def long_lists(domain: Domain) -> tuple[int, ...]:
    """Returns the numbers of the columns that are long lists."""
    return tuple(
        i
        for i, x in enumerate(domain.attributes)
        if isinstance(x.column.domain, Categories) and len(x.column.domain.labels) > LONG
    )


def list_questions(domain: Domain, prices: Mapping[int, Price]) -> list[Measurement]:
    """Returns what is measured of the long lists, each at its price."""
    return [
        Measurement(a.Count(domain.source, (), (domain.attributes[c].key,)), price)
        for c, price in prices.items()
    ]


def group_lists(domain: Domain, columns: Sequence[int], releases: Sequence[Release]) -> Domain:
    """Returns the domain whose long lists have groups for levels.

    Args:
        domain: As declared.
        columns: Numbers of the long lists.
        releases: The answers to `list_questions`, in order.
    """
    attributes = list(domain.attributes)
    for c, release in zip(columns, releases, strict=True):
        attribute, counts = attributes[c], release.values.reshape(-1)
        group = group_values(counts, release.sigma)
        rows = onto_simplex(counts, max(float(counts.sum()), 1.0)) + 1e-9
        share = np.zeros((int(group.max()) + 1, counts.size))
        share[group, np.arange(counts.size)] = rows
        share /= share.sum(axis=1, keepdims=True)
        number = a.Pick((attribute.key,), tuple(map(float, group)))
        key = a.Key(a.Call("integer", (number,)), tuple(range(len(share))))
        grouped = GroupedLevels(attribute.key.values, share)
        attributes[c] = replace(attribute, key=key, grouped=grouped)
    return replace(domain, attributes=tuple(attributes))


def group_values(counts: NDArray[np.float64], sigma: float) -> NDArray[np.int64]:
    """Returns the group of each value, shape (values,): frequent ones are alone, runs of the others
    hold about as many rows as a frequent one must.

    >>> group_values(np.array([900.0, 20, 30, 700, 40, 10]), 15.0).tolist()
    [0, 1, 1, 2, 1, 1]
    """
    total = max(float(counts.sum()), 1.0)
    least = total / level_count(total, sigma, MOST_GROUPS) / 2
    frequent = counts >= SURE * sigma
    if frequent.sum() > MOST_ALONE:
        frequent = counts >= np.sort(counts)[-MOST_ALONE]
    group = np.zeros(counts.size, dtype=np.int64)
    run = 0.0
    number = -1
    open_group = -1
    for i, (count, alone) in enumerate(zip(counts.tolist(), frequent.tolist(), strict=True)):
        if alone:
            number += 1
            group[i] = number
            continue
        if open_group < 0 or run >= 2 * least:
            number, run = number + 1, 0.0
            open_group = number
        group[i], run = open_group, run + max(count, 0.0)
    return group


def list_notes(domain: Domain) -> tuple[str, ...]:
    """Returns how many values of each long list are known by themselves."""
    notes = []
    for x in domain.attributes:
        if x.grouped is not None:
            alone = int(((x.grouped.share > 0).sum(axis=1) == 1).sum())
            values, groups = len(x.grouped.values), x.size - alone
            what = f"{alone} of {values} values of {x.column.name} are known by themselves"
            notes.append(f"{what}, the others in {groups} groups of neighbours")
    return tuple(notes)
