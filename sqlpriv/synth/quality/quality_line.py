"""One line that says how good a synthetic table is, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlpriv.synth.quality.measured_error import MeasuredError, NoisedNumber
from sqlpriv.synth.quality.prediction import ExpectedError

GRADES = ((0.05, "good"), (0.15, "fair"), (0.4, "poor"))
"""By the error of two columns together (of one, where there is one): the share of rows that a pair
of columns has in wrong cells."""
WORST = "not usable"
NAMED = 4
"""How many columns, or pairs, are named."""
SELECTED = "selected"
"""In the place of the option `outside`: rows take part whose combination of values was selected."""
NEAR, FAR, UNUSUAL = 0.5, 1.2, 0.2
"""How far a true error is from the predicted one, as deviations of its logarithm: in most tables
NEAR, in UNUSUAL of them FAR, since nothing that is public says that all rows lie in a second of a
century, say. Of tables of every type (`tests/bench/hostile.py --wild`) it was .55 at epsilon 1."""
GRID = np.exp(np.linspace(math.log(1e-5), 0.0, 800))
"""Errors that are thought possible."""
INTERVAL = 1.96
"""Standard deviations of the 95 % interval of a noised number."""
SEEN = 3.0
"""Standard deviations from which on rows with numbers beyond declared ends are told."""


@dataclass(frozen=True)
class Findings:
    """What is known of a synthetic table, from noised numbers alone.

    Args:
        drawn: Rows.
        total: The noised number of rows that the models stand for.
        measured: Its error; None where the price was too small to measure it.
        expected: What was predicted, told where nothing was measured.
        noisy: Columns that are mostly noise.
        constant: Columns of one level.
        unseen: Pairs that the method could not look at.
        outside: The option of that name, or SELECTED.
        bounded: Whether rows may be in more strata of a unit than are kept.
        total_sigma: The noise of `total`.
        vague: Columns of numbers of which noise hides where they lie.
        constrained: Whether columns are differences of others, which have an end at 0.
    """

    drawn: int
    total: float
    measured: MeasuredError | None
    expected: ExpectedError
    noisy: Sequence[str] = ()
    constant: Sequence[str] = ()
    unseen: Sequence[str] = ()
    outside: str = "drop"
    bounded: bool = False
    total_sigma: float = 0.0
    vague: Sequence[str] = ()
    constrained: bool = False


def grade(two_way: float, drawn: int) -> str:
    """Returns a word for an error.

    >>> grade(0.03, 1_000), grade(0.2, 1_000), grade(0.03, 0)
    ('good', 'poor', 'not usable')
    """
    if drawn == 0:
        return WORST
    return next((word for most, word in GRADES if two_way < most), WORST)


def quality_line(findings: Findings) -> str:
    """Returns the line."""
    ways, expected = _ways(findings), findings.expected
    worst = ways[2].value if 2 in ways else ways[1].value if 1 in ways else expected.two_way
    uncompared = findings.measured.uncompared if findings.measured else ()
    if uncompared and 2 not in ways:
        worst = max(worst, expected.two_way)
    if findings.outside == SELECTED or _some_left_out(findings):
        worst += _share_left_out(findings)
    parts = [_errors(findings, ways)]
    if findings.drawn == 0:
        parts = ["there is no row: the noised number of rows is 0 or below"]
        parts[0] += "" if _some_left_out(findings) else "; pay a larger epsilon"
    if findings.drawn > 1:
        parts += _column_lines(findings.noisy, "mostly noise")
        vague = [name for name in findings.vague if name not in findings.noisy]
        parts += _column_lines(
            vague, "whose numbers, beside NULL and the commonest, are mostly noise"
        )
        parts += _column_lines(findings.constant, "of one value only")
    parts += _pair_lines(findings.unseen, "too large to be looked at")
    parts += _pair_lines(uncompared, "too large to be compared, which no figure above is about")
    parts += _left_out(findings)
    parts += _beyond(findings)
    return f"quality: {grade(worst, findings.drawn)}: {'; '.join(parts)}"


def _ways(findings: Findings) -> dict[int, NoisedNumber]:
    """Returns the measured errors, each beside what was predicted: in a small table the prediction
    is worth more than the measurement. Where noise explains no gap between the two the measurement
    counts alone."""
    if findings.measured is None:
        return {}
    predictions = {1: findings.expected.one_way, 2: findings.expected.two_way}
    return {k: believed_error(x, predictions[k]) for k, x in findings.measured.ways.items()}


def believed_error(measured: NoisedNumber, predicted: float) -> NoisedNumber:
    """Returns the mean of what the error may be, and its deviation.

    Args:
        measured: With Gaussian noise, cut off at 0 and 1.
        predicted: From public facts; see NEAR.

    >>> said = believed_error(NoisedNumber(0.9, 0.01), 0.05)
    >>> round(said.value, 2), round(said.sigma, 2)
    (0.9, 0.01)
    >>> round(believed_error(NoisedNumber(0.0, 0.5), 0.05).value, 2)
    0.06
    """
    away = np.log(GRID / min(max(predicted, 0.001), 1.0))
    believed = sum(
        weight * np.exp(-((away / spread) ** 2) / 2) / spread
        for weight, spread in ((1 - UNUSUAL, NEAR), (UNUSUAL, FAR))
    )
    squares = ((GRID - measured.value) / max(measured.sigma, 1e-4)) ** 2
    weights = believed * np.exp((squares.min() - squares) / 2)
    weights /= weights.sum()
    mean = float(weights @ GRID)
    return NoisedNumber(mean, math.sqrt(float(weights @ (GRID - mean) ** 2)))


def _errors(findings: Findings, ways: dict[int, NoisedNumber]) -> str:
    if not ways:
        one, two = findings.expected.one_way, findings.expected.two_way
        return f"expected error of 1 column {one:.2g}, of 2 columns {two:.2g} (not measured)"
    each = [
        f"of {k} {'columns' if k > 1 else 'column'} {x.value:.3f} ± {INTERVAL * x.sigma:.3f}"
        for k, x in sorted(ways.items())
    ]
    return f"error {', '.join(each)} (share of rows in a wrong cell)"


def _column_lines(names: Sequence[str], what: str) -> list[str]:
    if not names:
        return []
    return [f"{len(names)} column{'s' * (len(names) > 1)} {what}: {_shortened_list(names)}"]


def _pair_lines(pairs: Sequence[str], what: str) -> list[str]:
    if not pairs:
        return []
    count = f"{len(pairs)} pair{'s' * (len(pairs) > 1)} of columns"
    return [f"{count} {what}: {_shortened_list(pairs)}"]


def _left_out(findings: Findings) -> list[str]:
    every = findings.measured.all_rows if findings.measured else None
    if findings.outside == SELECTED:
        return _too_rare(findings.total, every)
    if every is None:
        if findings.outside == "drop" and findings.measured is None:
            return ["rows with undeclared values, if there are any, take no part"]
        return []
    left = every.value - findings.total
    margin = INTERVAL * math.hypot(every.sigma, findings.total_sigma)
    if left <= margin:
        return [f"no rows with undeclared values were seen (± {margin:.0f})"]
    what = f"about {left:.0f} (± {margin:.0f}) of {every.value:.0f} rows have undeclared values"
    if findings.bounded:
        what += ", or are in more strata than groups_per_unit keeps of a unit,"
    return [f"{what} and take no part; OPTIONS (outside = 'null' | 'other') keeps such values"]


def _some_left_out(findings: Findings) -> bool:
    """Returns whether there are rows, of which some are left out, for all that noise hides."""
    every = findings.measured.all_rows if findings.measured else None
    if every is None:
        return False
    margin = INTERVAL * math.hypot(every.sigma, findings.total_sigma)
    return every.value - findings.total > margin


def _beyond(findings: Findings) -> list[str]:
    """Returns how many rows have numbers beyond declared ends, where noise does not hide them."""
    beyond = findings.measured.beyond if findings.measured else None
    if beyond is None or beyond.value <= SEEN * beyond.sigma:
        return []
    rows = f"about {beyond.value:.0f} (± {INTERVAL * beyond.sigma:.0f}) rows"
    what = "have a number or date beyond its declared ends"
    what += ", or break a constraint" * findings.constrained
    return [f"{rows} {what}, which counts as the end"]


def _share_left_out(findings: Findings) -> float:
    """Returns the share of the rows that are not in the table."""
    every = findings.measured.all_rows if findings.measured else None
    return 0.0 if every is None else max(1 - findings.total / max(every.value, 1.0), 0.0)


def _too_rare(total: float, every: NoisedNumber | None) -> list[str]:
    """Returns how many rows have a combination of values that too few units have."""
    if every is None:
        return ["rows whose values too few units have take no part"]
    margin = INTERVAL * every.sigma
    left = max(every.value - total, 0.0)
    of = f"about {left:.0f} (± {margin:.0f}) of {every.value:.0f} rows"
    return [f"{of} have values that too few units have together, and take no part"]


def _shortened_list(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
