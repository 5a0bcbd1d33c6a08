"""One-way marginals, beside what was learned of the columns before the method began.

The histograms that the levels of numbers and dates are chosen from, and the counts of the values of
long lists, are of the whole population. They say how many rows a level has, often better than the
method's own one-way marginal, which is one of as many as there are columns. So the first one-way
marginal of a column that counts the population is averaged with them, each weighted by the inverse
of its variance. Post-processing of releases: no price changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.api.ask import Marginal, Measure, Question
from sqlpriv.synth.domain.binning import ColumnLook
from sqlpriv.synth.domain.domain import Attribute, Domain
from sqlpriv.synth.domain.histogram_rounds import level_counts
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, at_worth


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Unbiased rows of each level, shape (levels,), and their variance; infinite: not known."""

    values: Floats
    variance: Floats


@dataclass(eq=False)
class KnownOneWays:
    """Puts a synthesizer's questions, and averages the first answer about each column.

    Args:
        ask: Puts questions to the gate.
        counts: By number of the column; what was put to use is taken out.
        one_stratum: Whether a marginal counts the population without saying so.
    """

    ask: Measure
    counts: dict[int, LevelCounts] = field(default_factory=dict)
    one_stratum: bool = True

    def measure(self, questions: Sequence[Question]) -> tuple[Release, ...]:
        """Returns one release per question; see `ask.Asker.measure`."""
        answers = self.ask(questions)
        return tuple(self._average(*pair) for pair in zip(questions, answers, strict=True))

    def _average(self, question: Question, release: Release) -> Release:
        if not isinstance(question, Marginal) or len(question.clique) != 1:
            return release
        if not (question.pooled or self.one_stratum):
            return release
        prior = self.counts.pop(question.clique[0], None)
        return release if prior is None else average_release(release, prior)


def average_release(release: Release, prior: LevelCounts) -> Release:
    """Returns the release with the inverse-variance mean of both, at the price that it would have
    cost: of the mean variance of its cells.

    Args:
        release: Of a one-way marginal of the population, values of shape (1, levels).
        prior: Of the same levels.
    """
    own = max(release.sigma, LEAST_SIGMA) ** 2
    precision = 1 / own + 1 / np.maximum(prior.variance, LEAST_SIGMA**2)
    is_counted = np.isfinite(prior.variance)
    before = np.where(is_counted, prior.values, 0.0) / np.where(is_counted, prior.variance, 1.0)
    values = (release.values / own + before) / precision
    return at_worth(release, values, float(np.sqrt(np.mean(1 / precision))))


def counts_of_levels(domain: Domain, looks: Mapping[int, ColumnLook]) -> dict[int, LevelCounts]:
    """Returns what noised histograms say of the rows of each level, by number of the column.

    Args:
        domain: Whose levels were chosen.
        looks: By number of the column; after all rounds.
    """
    return {number: _of_levels(domain.attributes[number], look) for number, look in looks.items()}


def _of_levels(attribute: Attribute, look: ColumnLook) -> LevelCounts:
    within = attribute.within
    assert within is not None
    ends = np.append(within.ends[within.first], within.ends[-1])
    counts, variance = level_counts(look.histograms, ends)
    others = attribute.size - len(counts)  # NULL is in no part of a histogram
    return LevelCounts(np.append(counts, [0.0] * others), np.append(variance, [np.inf] * others))
