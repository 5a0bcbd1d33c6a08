"""One-way marginals of a model of everybody, measured inside strata as far as that is worth it.

A method's one-way marginals are measured once, not once for everybody and again inside strata: the
strata's tables of a column add up to everybody's. Their sum has sqrt(S) times the noise of
everybody's own table, and everybody's table says nothing of how strata differ. So the method's own
one-way marginals are spent inside strata as far as everybody's table can spare it. A look tells, in
every stratum, how far strata are apart, and so whether more is to be spent there.

Price: the look is one batch in every stratum, which costs what one stratum costs. Each one-way
marginal of price q that the method asks for becomes up to two that add up to q, one in every
stratum and one of everybody. That is sequential composition, also where prices depend on earlier
answers. A second look (`deepen`) is one more batch in every stratum, whose price the method's
statement is without. Everything else is post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask, Marginal, Question
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import (
    LEAST_SIGMA,
    Floats,
    at_worth,
    count_sigma,
    scale_sigma,
)
from sqlpriv.synth.inference.strata_constants import (
    DEEPER,
    DEPENDENT,
    LEAST_INSIDE,
    SMALL,
    SPARED,
    TOLERATED,
)


@dataclass(eq=False)
class SharedOneWays:
    """What was measured of the columns inside strata, and how it is put to a method.

    Args:
        ask: The gate.
        rows: Of each stratum, above 0, shape (strata,).
        inside: By column, the noised one-way tables of strata, values of shape (strata, levels):
            their inverse-variance mean, at the price that one table of that noise would have cost.
        looks: By column, the look at it, until the method has asked for the column.
    """

    ask: Ask
    rows: Floats
    inside: dict[int, Release] = field(default_factory=dict)
    looks: dict[int, Release] = field(default_factory=dict)

    def look(self, questions: Sequence[Marginal]) -> None:
        """Measures one-way marginals in every stratum."""
        for question, release in zip(questions, self.ask.measure(questions), strict=True):
            self.looks[question.clique[0]] = self.inside[question.clique[0]] = release

    def deepen(self, price: Price, cells: float, tables: float) -> Price:
        """Measures one-way marginals in every stratum once more, where strata are so far apart
        that this is worth a part of `price`; returns what is left of it.

        The part is the one of DEEPER that makes the expected error of a column inside a stratum and
        that of everybody's table of a pair, whose noise grows with what is taken from it, together
        least. A table of a pair that noise hides loses no more than its dependence, DEPENDENT.

        Args:
            price: Of everything that is still to be measured.
            cells: Of a table of everybody's that tells how columns are related: the mean.
            tables: How many of them the price is for.
        """
        columns = list(self.looks)
        kind, whole = type(price), float(self.rows.sum())
        errors, parts = [], [part for part in DEEPER if part <= deepest(price)]
        for part in parts:
            of_each = max(round(price.nano * part / max(len(columns), 1)), 1)
            of_pair = max(round(price.nano * (1 - part) / tables), 1)
            noise = math.sqrt(2 / math.pi) * count_sigma(kind(of_pair)) * cells / 2 / whole
            inside = [self._error_inside(c, kind(of_each) if part else None) for c in columns]
            lost = noise * DEPENDENT / (DEPENDENT + noise)
            errors.append(float(np.mean(inside)) + lost if inside else 0.0)
        part = parts[int(np.argmin(errors))]
        if not part:
            return price
        spent, rest = split_price(price, [part, 1 - part])
        questions = [
            Marginal((c,), p)
            for c, p in zip(columns, split_price(spent, [1.0] * len(columns)), strict=True)
        ]
        for question, release in zip(questions, self.ask.measure(questions), strict=True):
            column = question.clique[0]
            look = self.looks[column]
            if release.id != look.id:  # one release may answer both, which counts once
                values, sigma = _average(
                    [(look.values, look.sigma), (release.values, release.sigma)]
                )
                self.looks[column] = self.inside[column] = at_worth(look, values, sigma)
        return rest

    def _error_inside(self, column: int, price: Price | None) -> float:
        """Returns the total variation by which a column's tables inside strata are expected to be
        off, the mean over strata, once they are measured at `price` beside the look."""
        look, levels = self.looks[column], self.looks[column].values.shape[1]
        noise = max(look.sigma, LEAST_SIGMA) ** 2
        apart = self._apart(look)
        if price is not None:
            more = scale_sigma((look.sigma, look.price), price) ** 2 + LEAST_SIGMA**2
            noise = 1 / (1 / noise + 1 / more)
        each = _expected_errors(apart, noise / self.rows**2) / len(self.rows)
        return float(min(math.sqrt(2 / math.pi) * levels * each / 2, 1.0))

    def _apart(self, look: Release) -> float:
        """Returns the variance of the share of a cell between strata, as expected from the look.

        What its squared distances are more than their noise is an estimate of that, but is below 0
        half of the time where noise hides how far strata are apart. Taken for 0 it says that
        nothing inside strata is worth measuring. So this is the mean of the values that may be, all
        above 0 being alike beforehand: of a normal variable around the estimate, cut off at 0.
        """
        sizes, noise = self.rows, max(look.sigma, LEAST_SIGMA) ** 2
        strata, levels = look.values.shape
        shares = look.values.sum(axis=0) / float(sizes.sum())
        distance = float(((look.values - sizes[:, None] * shares) ** 2).sum())
        squares = float((sizes**2).sum())
        estimate = (distance / levels - noise * strata) / squares
        return positive_mean(estimate, noise * math.sqrt(2 * strata / levels) / squares)

    def measure(self, questions: Sequence[Question]) -> tuple[Release, ...]:
        """Answers questions of everybody; the first one-way marginal of a column is shared."""
        marginals = [q for q in questions if isinstance(q, Marginal)]
        assert len(marginals) == len(questions), (
            "cells and moments are numbered_questions of strata alone"
        )
        columns = [
            q.clique[0] if len(q.clique) == 1 and q.clique[0] in self.looks else None
            for q in marginals
        ]
        first = {c: q.price for c, q in zip(columns, marginals, strict=True) if c is not None}
        parts = self._parts_inside(first)
        numbered_questions: list[tuple[int, Marginal]] = []
        for i, (column, question) in enumerate(zip(columns, marginals, strict=True)):
            part = 0.0 if column is None else parts[column]
            inside, of_all = _divide(question.price, part)
            if inside:
                numbered_questions.append((i, Marginal(question.clique, inside)))
            if of_all:
                numbered_questions.append(
                    (i, replace(question, price=of_all, within=None, pooled=True))
                )
        answers: list[list[Release]] = [[] for _ in marginals]
        for (i, _), release in zip(
            numbered_questions, self.ask.measure([q for _, q in numbered_questions]), strict=True
        ):
            answers[i].append(release)
        return tuple(
            of[0] if column is None else self._put_together(column, of)
            for column, of in zip(columns, answers, strict=True)
        )

    def _parts_inside(self, prices: Mapping[int, Price]) -> dict[int, float]:
        """Returns by column which part of its price is spent inside strata: as much as everybody's
        table can spare, whatever the look says.

        The strata's tables are summed for everybody's, so little is lost where strata are alike.
        Where they are not, most is. A look that noise hides cannot tell: by its estimate of how far
        strata are apart, which is 0 half of the time where they are a little apart, two of three
        runs on one table left them unmeasured and had twice the third's error of means.
        """
        strata, whole = len(self.rows), float(self.rows.sum())
        most = {}
        for column, price in prices.items():
            look = self.looks[column]
            sigma = scale_sigma((look.sigma, look.price), price) + LEAST_SIGMA
            most[column] = _most_inside(sigma * look.values.shape[1] / whole, strata)
        return most

    def _put_together(self, column: int, answers: Sequence[Release]) -> Release:
        """Keeps what strata have of a column, and returns what is known of everybody's table: its
        price is what everybody's own table of that noise would have cost.

        Args:
            column: Its number.
            answers: Of each stratum, shape (strata, levels), and of everybody, shape (1, levels).
        """
        look = self.looks.pop(column)
        each = [r for r in answers if len(r.values) == len(self.rows)]
        of_all = [r for r in answers if len(r.values) == 1]
        if look.id not in [r.id for r in each]:  # one release may answer both, which counts once
            each.append(look)
        inside, sigma = _average([(r.values, r.sigma) for r in each])
        self.inside[column] = at_worth(look, inside, sigma)
        summed = inside.sum(axis=0), sigma * math.sqrt(len(self.rows))
        values, sigma = _average([summed, *((r.values[0], r.sigma) for r in of_all)])
        return at_worth(answers[-1], values[None], sigma)


def positive_mean(estimate: float, error: float) -> float:
    """Returns the mean of a normal variable of this mean and deviation where it is above 0.

    >>> round(positive_mean(0.0, 1.0), 3), round(positive_mean(5.0, 1.0), 3)
    (0.798, 5.0)
    """
    at = max(estimate / error, -30.0)
    above = math.erfc(-at / math.sqrt(2)) / 2
    return error * (at + math.exp(-(at**2) / 2) / math.sqrt(2 * math.pi) / above)


def deepest(price: Price) -> float:
    """Returns the largest part of a price that `deepen` may spend; 0 of a price so small that what
    is left could not be shared out."""
    return max(DEEPER) if price.nano >= SMALL else 0.0


def pair_tables(space: Space, choosing: float, pairs: int | None = None) -> tuple[float, float]:
    """Returns the mean cells of a pair of columns, and for how many such tables the price would be
    if nothing but pairs were measured.

    Args:
        space: At least two of its columns have several levels.
        choosing: The part of its price that a method spends on anything but its pairs.
        pairs: How many it measures; None for those of a tree of the columns.
    """
    columns = modelled_columns(space.sizes)
    tables = max(len(columns) - 1 if pairs is None else pairs, 1) / (1 - choosing)
    sizes = [space.sizes[c] for c in columns]
    return float(np.mean([math.prod(p) for p in itertools.combinations(sizes, 2)])), tables


def _most_inside(noise: float, strata: int) -> float:
    """Returns which part of a one-way marginal's price can be spent inside strata at most.

    Everybody's table then has the noise of TOLERATED, or SPARED times that of its own price.

    Args:
        noise: Of everybody's table at the whole price: standard deviations of all cells, as a share
            of the rows.
        strata: How many.

    >>> _most_inside(0.001, 3), round(_most_inside(0.05, 12), 2)
    (1.0, 0.61)
    """
    tolerated = max(TOLERATED / (noise * math.sqrt(2 / math.pi) / 2), SPARED)
    part = (1 - tolerated**-2) / (1 - 1 / strata)
    return 1.0 if part > LEAST_INSIDE else part


def _divide(price: Price, part: float) -> tuple[Price | None, Price | None]:
    """Returns what is spent on tables inside strata, and on everybody's."""
    each = min(round(price.nano * part), price.nano)
    kind = type(price)
    return kind(each) if each else None, kind(price.nano - each) if price.nano > each else None


def _expected_errors(apart: float, noise: Floats) -> float:
    return float(np.sqrt(apart * noise / (apart + noise)).sum())


def _average(tables: Sequence[tuple[Floats, float]]) -> tuple[Floats, float]:
    """Returns the inverse-variance mean of tables of the same, and its noise's sigma."""
    precisions = [max(sigma, LEAST_SIGMA) ** -2 for _, sigma in tables]
    summed = sum(
        (w * table for w, (table, _) in zip(precisions, tables, strict=True)),
        np.zeros_like(tables[0][0]),
    )
    return summed / sum(precisions), sum(precisions) ** -0.5
