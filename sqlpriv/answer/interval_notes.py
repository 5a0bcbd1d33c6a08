"""What stands under an answer about its intervals: what they rest on, and what is not known.

The half-width of a mean is cut at the length of its domain. Where it is that long the released
numbers say nothing, and whatever number stood there would be one of the noise's: it is NULL, and
the answer says why. A plain mean and a variance, of strata that are neither weighted nor drawn
together, are NULL where noise may be all of their rows, and nowhere else (`few_rows`). Of a domain
of one value everything is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer import means
from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.moments import Moments
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.computed_columns import aggregates_in
from sqlpriv.plan.notices import listing
from sqlpriv.plan.output_half_widths import correlation_of, uncertain_divisors
from sqlpriv.plan.plan import Output
from sqlpriv.statements import keywords
from sqlpriv.statements import tree as t

LONG_TAILS = (
    "± does not hold for values with long tails of {}: coinpress clips them, and cannot tell what "
    "that loses"
)
UNSEEN = (
    "± does not hold if rows lie far beyond those that stand out of the noise, in a group of their "
    "own or in a tail without a finite variance: noise may hide as many as move {}"
)
TELLING = 0.5
"""The part of a half-width that such rows have to move a figure by, for that to be said."""
ON_AVERAGE = (
    "± of {} holds 95 % on average over groups, not of each group: small groups are drawn towards "
    "everybody"
)
_MORE = "ask for larger groups, or a higher price"
_NOTHING = (
    "nothing is known of {}, which is NULL there: noise may be all of its rows, or ± would be as "
    "long as the domain; "
)
UNKNOWN = {
    "mean": f"{_NOTHING}OPTIONS (smooth = true) with STRATIFY BY draws such groups towards "
    "everybody",
    "variance": f"{_NOTHING}{_MORE}",
    "stddev": f"{_NOTHING}{_MORE}",
}
"""By kind of aggregate whose domain is known: why it is NULL, and what to write."""
HIDDEN = f"noise hides {{}}, where 0 stands: only the upper end of an interval is known; {_MORE}"
DIVIDED = f"± of {{}} is not known where noise may make what it is divided by 0; {_MORE}"
FEW = (
    "± of {} holds for 95 % of all groups, those without ± counted; noise decides which few have "
    f"one, and of these fewer may hold; {_MORE}"
)
WITHIN_NOISE = (
    "{} is within its ± of 0 in {} of {}, which may have no rows: ask for wider keys, or a higher "
    "price"
)
FEWER_VALUES = (
    "nothing is known of {}: ± is longer than that; ask for a higher price, or for COUNT(*) with "
    "GROUP BY the column, which tells which values occur"
)
RULES = (LONG_TAILS, UNSEEN, *dict.fromkeys(UNKNOWN.values()), FEWER_VALUES, HIDDEN, ON_AVERAGE)
"""What a note says of the aggregates that are listed in it, the worst first."""
NOTED = (*UNKNOWN, "sum", "count")


def division_notes(output: Output, rows: pa.Table, halves: list[int]) -> tuple[str, ...]:
    """Returns which ratios have no half-width because what they are divided by may be 0.

    Args:
        output: Of the plan.
        rows: The outputs' columns, then the half-widths of those in `halves`.
        halves: Numbers of outputs.
    """
    names = []
    for at, number in enumerate(halves, len(output.items)):
        blanks = rows.column(at).null_count - rows.column(number).null_count
        is_number = not pa.types.is_string(rows.column(number).type)
        if blanks > 0 and is_number and uncertain_divisors(output.items[number]):
            names.append(output.names[number])
    return (DIVIDED.format(listing(names)),) if names else ()


def few_stated_notes(output: Output, rows: pa.Table, halves: list[int]) -> tuple[str, ...]:
    """Returns which outputs have a half-width in less than a third of their rows.

    Where an interval would reach over all that is possible none is stated, and it holds. So of G
    groups .05 G intervals may fail, all of them among the K that are stated: of these 1 - .05 G / K
    hold at least, which is less than .85 where K < G / 3. It is those groups whose divisor noise
    made look large. (Random cells: .97 of those stated held where .5 to .7 of the groups had none,
    .91 where .7 to .9 had none, .87 beyond.) What is stated by its rows alone holds there, too
    (`few_rows`, `quantiles`).

    Args:
        output, rows, halves: As of `division_notes`.
    """
    names = []
    for at, number in enumerate(halves, len(output.items)):
        stated = rows.num_rows - rows.column(at).null_count
        if 0 < 3 * stated < rows.num_rows and not is_stated_by_rows(output, number):
            names.append(output.names[number])
    return (FEW.format(listing(names)),) if names else ()


def is_stated_by_rows(output: Output, number: int) -> bool:
    """Returns whether the rows of a group alone decide on the half-width of an output."""
    item = output.items[number]
    recipes = [output.marginals[0].recipes[i] for i in aggregates_in(item)]
    is_divided = uncertain_divisors(item) and correlation_of(item) is None
    by_length = any(
        (r.kind == "mean" and r.using) or (r.kind in UNKNOWN and (r.pooled or output.weights))
        for r in recipes
    )
    return not is_divided and not by_length


def without_unknown(recipe: Recipe, estimate: Estimate) -> Estimate:
    """Returns an estimate without the values of which nothing is known: NaN stands for NULL."""
    unknown = _unknown(recipe, estimate)
    return replace(estimate, values=np.where(unknown, np.nan, estimate.values))


def interval_notes(output: Output, moments_by_recipe: Mapping[Recipe, Moments]) -> tuple[str, ...]:
    """Returns what a reader has to know of the intervals; it follows from released numbers alone.

    A mean that is clipped rests on its histogram: values too few to stand out of the histogram's
    noise are clipped off, and no half-width tells.

    Args:
        output: Of the plan, whose aggregates are numbered as its outputs name them.
        moments_by_recipe: The noised moments of its aggregates.
    """
    subjects: dict[str, list[str]] = {rule: [] for rule in RULES}
    for number in range(len(output.marginals[0].recipes) if output.marginals else 0):
        names = [
            name
            for name, item in zip(output.names, output.items, strict=True)
            if number in aggregates_in(item)
        ]
        recipes = [marginal.recipes[number] for marginal in output.marginals]
        moments = [moments_by_recipe.get(r) for r in recipes if r.kind in NOTED]
        pairs = [(r, m) for r, m in zip(recipes, moments, strict=False) if m is not None]
        if names and recipes[0].kind == "level" and recipes[0].pooled:
            subjects[ON_AVERAGE].append(names[0])
        if names and pairs:
            for rule, subject in _rules_met(names[0], pairs):
                subjects[rule].append(subject)
    # An output may hold several aggregates of one kind: each subject is listed once.
    rules = (
        rule.format(listing(list(dict.fromkeys(subjects[rule]))))
        for rule in RULES
        if subjects[rule]
    )
    return (*rules, *_counts_within_noise(output, moments_by_recipe))


def _counts_within_noise(
    output: Output, moments_by_recipe: Mapping[Recipe, Moments]
) -> tuple[str, ...]:
    """Returns which count is within its own half-width in more than half of the groups.

    Of all values of a wide key nearly all groups are empty, and their counts are noise, the largest
    of them, too: groups that HAVING and LIMIT leave out are counted. The first such count of the
    outputs is named; others have the same groups.
    """
    for name, item in zip(output.names, output.items, strict=True):
        numbers = aggregates_in(item)
        is_shown = isinstance(item, t.Name) and numbers and not name.startswith(keywords.HIDDEN)
        for marginal in output.marginals if is_shown else ():
            recipe = marginal.recipes[numbers[0]]
            if recipe.kind != "count" or recipe not in moments_by_recipe:
                continue
            counts = means.cells(recipe, moments_by_recipe[recipe])
            if _is_noise_alone(recipe, counts):  # FEWER_VALUES tells that, and why
                continue
            within = int((np.abs(counts.values) <= counts.half_widths).sum())
            if 2 * within > counts.values.size > 1:
                groups = _groups(counts.values.size)
                return (WITHIN_NOISE.format(name, f"{within:,}", groups),)
    return ()


def _rules_met(name: str, pairs: list[tuple[Recipe, Moments]]) -> Iterator[tuple[str, str]]:
    """Yields the rules that one aggregate meets, and how each lists the aggregate.

    The aggregate has a recipe in each marginal."""
    kind = pairs[0][0].kind
    if any(r.using == "coinpress" for r, _ in pairs):
        yield LONG_TAILS, name
    if any(r.pooled for r, _ in pairs):
        yield ON_AVERAGE, name
    if any(_is_noise_alone(r, means.cells(r, m)) for r, m in pairs):
        yield FEWER_VALUES, f"{name} (at most {pairs[0][0].most_values:,})"
    if unseen := max(most_unseen(r, m) for r, m in pairs):
        yield UNSEEN, f"{name} by {unseen:.3g}"
    estimates = [(r, means.cells(r, m)) for r, m in pairs if not r.pooled]
    unknown = sum(int(_unknown(r, estimate).sum()) for r, estimate in estimates)
    if unknown:
        yield UNKNOWN[kind], f"{name} in {_groups(unknown)}"
    zeros = sum(int(_zeros_of_noise(r, estimate).sum()) for r, estimate in estimates)
    if zeros and kind in ("variance", "stddev"):
        yield HIDDEN, f"{name} in {_groups(zeros)}"


def _is_noise_alone(recipe: Recipe, counts: Estimate) -> bool:
    """Returns whether a count of different values has a half-width as long as the most it can be,
    in any cell."""
    most = recipe.most_values
    return most is not None and bool(np.any(counts.half_widths >= most))


def most_unseen(recipe: Recipe, m: Moments) -> float:
    """Returns by how much rows that noise hides may move a mean or a sum: the most of
    those figures that it moves out of the interval by `TELLING` of the half-width, or 0.

    Args:
        recipe, m: Of the strata. Everybody's figure is looked at, too.
    """
    unseen = np.broadcast_to(np.asarray(m.unseen, float), m.n.shape)
    if recipe.kind not in ("mean", "sum") or not unseen.any():
        return 0.0
    rows = np.maximum(m.n, 0.0)
    of_all = (rows * unseen).sum(axis=0)
    if recipe.kind == "sum":
        unseen = rows * unseen
    else:
        of_all = of_all / np.maximum(rows.sum(axis=0), 1.0)
    figures = [
        (means.cells(recipe, m), unseen),
        (means.combine_strata(recipe, m, None), of_all),
    ]
    if m.everybody is not None:
        own = means.combine_strata(recipe, m.everybody, None)
        figures.append((own, np.broadcast_to(m.everybody.unseen, m.everybody.n.shape)[0]))
    most = 0.0
    for estimate, moves in figures:
        telling = moves > (1 + TELLING) * np.nan_to_num(estimate.half_widths, nan=np.inf)
        most = max(most, float(np.max(moves, where=telling, initial=0.0)))
    return most


def _groups(number: int) -> str:
    return "1 group" if number == 1 else f"{number:,} groups"


def _zeros_of_noise(recipe: Recipe, estimate: Estimate) -> NDArray[np.bool_]:
    """Returns where a variance is 0 and its interval is not."""
    is_cut = (estimate.values == 0) & (estimate.half_widths > 0)
    return np.asarray(is_cut & ~_unknown(recipe, estimate))


def _unknown(recipe: Recipe, estimate: Estimate) -> NDArray[np.bool_]:
    """Returns where no figure is stated: by its rows, or because its interval, not cut, is as long
    as the domain, or because there is no value."""
    longest = {"mean": recipe.width, "variance": recipe.width**2 / 4, "stddev": recipe.width / 2}
    if recipe.kind not in longest or not recipe.width:
        return np.zeros(estimate.values.shape, bool)
    if estimate.is_stated is not None:
        return np.asarray(~estimate.is_stated | np.isnan(estimate.values))
    return np.asarray(~(estimate.half_widths < longest[recipe.kind]))
