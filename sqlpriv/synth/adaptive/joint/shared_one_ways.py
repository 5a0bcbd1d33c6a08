"""One-way marginals of a model of everybody, measured inside strata as far as that is worth it.

A method's one-way marginals are measured once, not once for everybody and again inside strata: the
strata's tables of a column add up to everybody's. Their sum has sqrt(S) times the noise of
everybody's own table, and everybody's table says nothing of how strata differ. A look tells, in
every stratum, how far strata are apart (`strata_distance`), and so which part of the method's own
one-way marginals, and how much more, is to be spent there.

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

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive.joint.strata_distance import distance_of
from sqlpriv.synth.api.ask import Ask, Marginal, Question
from sqlpriv.synth.api.method import PairPlan, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import (
    LEAST_SIGMA,
    TO_DISTANCE,
    Floats,
    at_worth,
    count_sigma,
    scale_sigma,
)
from sqlpriv.synth.inference.strata_constants import (
    DEEPER,
    DEPENDENT,
    INSIDE,
    SMALL,
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
        answers: Columns and table of each question that is not shared so.
    """

    ask: Ask
    rows: Floats
    inside: dict[int, Release] = field(default_factory=dict)
    looks: dict[int, Release] = field(default_factory=dict)
    answers: list[tuple[Clique, Release]] = field(default_factory=list)

    def look(self, questions: Sequence[Marginal]) -> None:
        """Measures one-way marginals in every stratum."""
        for question, release in zip(questions, self.ask.measure(questions), strict=True):
            self.looks[question.clique[0]] = self.inside[question.clique[0]] = release

    def deepen(
        self, price: Price, cells: float, tables: float, pairs_with_strata: bool = False
    ) -> Price:
        """Measures one-way marginals in every stratum once more, where strata are so far apart
        that this is worth a part of `price`; returns what is left of it.

        The part is the one of DEEPER that makes the product of two expected errors least: of a
        column inside a stratum, and of everybody's table of a pair, whose noise grows with what is
        taken from it. A table of a pair that noise hides loses no more than its dependence,
        DEPENDENT.

        Args:
            price: Of everything that is still to be measured.
            cells: Of a table of everybody's that tells how columns are related: the mean.
            tables: How many of them the price is for.
            pairs_with_strata: Whether the method itself measures each column by strata for it.
        """
        columns = list(self.looks)
        if not columns:
            return price
        kind, whole = type(price), float(self.rows.sum())
        parts = [part for part in DEEPER if part <= deepest(price)]
        insides, pairs = [], []
        distance, weights = distance_of(self.rows, self.looks), self._weights(kind)
        for part in parts:
            of_each = {c: kind(max(round(price.nano * part * weights[c]), 1)) for c in columns}
            sigma = count_sigma(kind(max(round(price.nano * (1 - part) / tables), 1)))
            noise = TO_DISTANCE * sigma * cells / whole
            of_all = sigma * cells**0.25 / whole  # of a column, a pair's other levels added up
            by_method = max(sigma, LEAST_SIGMA) ** -2 if pairs_with_strata else 0.0
            inside = []
            for c in columns:
                of_column = self._noise(c, of_each[c] if part else None)
                inside.append(distance.error_inside(c, 1 / (1 / of_column + by_method), of_all))
            insides.append(float(np.mean(inside)))
            pairs.append(noise * DEPENDENT / (DEPENDENT + noise))
        part = parts[int(np.argmin(np.array(insides) * np.array(pairs)))]
        if not part:
            return price
        spent, rest = split_price(price, [part, 1 - part])
        questions = [
            Marginal((c,), p)
            for c, p in zip(columns, split_price(spent, [weights[c] for c in columns]), strict=True)
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

    def _weights(self, kind: type[Price]) -> dict[int, float]:
        """Returns by column its part of a price for one-way marginals: as much as makes the sum of
        their noise over all cells least, see `dearer_prices`. Of columns of 2 to 14 levels that had
        equal parts, means inside strata erred three times as much as in strata by themselves."""
        power = 2 / 3 if kind is Rho else 1 / 2
        levels = {c: look.values.shape[1] ** power for c, look in self.looks.items()}
        return {c: float(x / sum(levels.values())) for c, x in levels.items()}

    def _noise(self, column: int, price: Price | None) -> float:
        """Returns the variance of a cell inside strata, once it is measured at `price` beside the
        look."""
        look = self.looks[column]
        noise = max(look.sigma, LEAST_SIGMA) ** 2
        if price is None:
            return noise
        return 1 / (1 / noise + 1 / (self._sigma(column, price) ** 2 + LEAST_SIGMA**2))

    def _sigma(self, column: int, price: Price) -> float:
        look = self.looks[column]
        return scale_sigma((look.sigma, look.price), price)

    def measure_inside(self, questions: Sequence[Question]) -> tuple[Release, ...]:
        """Answers questions of strata by themselves; the first one-way marginal of a column in all
        of them is averaged with the look at it."""
        answers = []
        for question, release in zip(questions, self.ask.measure(questions), strict=True):
            look = None
            if isinstance(question, Marginal) and len(question.clique) == 1:
                look = self.looks.pop(question.clique[0], None)
            if look is None or look.id == release.id or len(release.values) != len(look.values):
                answers.append(release)
            else:
                both = [(release.values, release.sigma), (look.values, look.sigma)]
                answers.append(at_worth(release, *_average(both)))
        return tuple(answers)

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
        self.answers += [
            (q.clique, of[0])
            for q, column, of in zip(marginals, columns, answers, strict=True)
            if column is None
        ]
        return tuple(
            of[0] if column is None else self._put_together(column, of)
            for column, of in zip(columns, answers, strict=True)
        )

    def _parts_inside(self, prices: Mapping[int, Price]) -> dict[int, float]:
        """Returns by column which part of its price is spent inside strata: the one that makes the
        expected errors of its tables inside strata and of everybody's table, to which those are
        added up, together least."""
        if not prices:
            return {}
        distance, whole = distance_of(self.rows, self.looks), float(self.rows.sum())
        strata, parts = len(self.rows), {}
        for column, price in prices.items():
            kind, errors = type(price), []
            for part in INSIDE:
                of_all, each = (max(round(price.nano * x), 1) for x in (1 - part, part))
                noise = self._noise(column, kind(each) if part else None)
                precision = 1 / (strata * noise)
                if part < 1:
                    precision += (self._sigma(column, kind(of_all)) + LEAST_SIGMA) ** -2
                off = precision**-0.5 / whole
                levels = self.looks[column].values.shape[1]
                inside = distance.error_inside(column, noise, off)
                errors.append(inside + TO_DISTANCE * levels * off)
            parts[column] = INSIDE[int(np.argmin(errors))]
        return parts

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


def deepest(price: Price) -> float:
    """Returns the largest part of a price that `deepen` may spend; 0 of a price so small that what
    is left could not be shared out."""
    return max(DEEPER) if price.nano >= SMALL else 0.0


def pair_tables(space: Space, plan: PairPlan) -> tuple[float, float]:
    """Returns the mean cells of a pair of columns, and for how many such tables the price would be
    if nothing but pairs were measured.

    Args:
        space: At least two of its columns have several levels.
        plan: What the method's pairs have of its price.
    """
    columns = modelled_columns(space.sizes)
    pairs = len(columns) - 1 if plan.pairs is None else plan.pairs
    tables = max(pairs, 1) / (1 - plan.choosing)
    sizes = [space.sizes[c] for c in columns]
    return float(np.mean([math.prod(p) for p in itertools.combinations(sizes, 2)])), tables


def _divide(price: Price, part: float) -> tuple[Price | None, Price | None]:
    """Returns what is spent on tables inside strata, and on everybody's."""
    each = min(round(price.nano * part), price.nano)
    kind = type(price)
    return kind(each) if each else None, kind(price.nano - each) if price.nano > each else None


def _average(tables: Sequence[tuple[Floats, float]]) -> tuple[Floats, float]:
    """Returns the inverse-variance mean of tables of the same, and its noise's sigma."""
    precisions = [max(sigma, LEAST_SIGMA) ** -2 for _, sigma in tables]
    summed = sum(
        (w * table for w, (table, _) in zip(precisions, tables, strict=True)),
        np.zeros_like(tables[0][0]),
    )
    return summed / sum(precisions), sum(precisions) ** -0.5
