"""What a plan is made of: what the kernel is asked, and what becomes of its releases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.aggregates.estimators import StatementOptions
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells import dimensions, group_keys
from sqlpriv.plan.cells.axes import Axis
from sqlpriv.plan.cells.computed_combinations import Existing
from sqlpriv.plan.output_half_widths import SharedReleases
from sqlpriv.statements import tree as t

PLAIN = StatementOptions()
SelectedKeys = group_keys.SelectedKeys


@dataclass(frozen=True)
class GroupingSet:
    """One table of the answer: the cells of some of the grouping keys, in each stratum.

    Without ROLLUP, CUBE and GROUPING SETS there is one, of all keys.

    Args:
        axes: Those of its cells, row-major.
        recipes: What aggregate column i is made of.
        own: For each recipe the same over the whole population, where that is measured as well.
    """

    axes: tuple[Axis, ...]
    recipes: tuple[Recipe, ...]
    own: tuple[Recipe | None, ...] = ()

    @property
    def keys(self) -> tuple[int, ...]:
        """Positions among the output's groups, ascending; the others are summed over."""
        return tuple(sorted(i for axis in self.axes for i in axis.places))

    @property
    def cells(self) -> int:
        """How many cells there are in a stratum."""
        return math.prod(len(axis.rows) for axis in self.axes)

    def combinations(self) -> Iterator[tuple[Value, ...]]:
        """Yields the values of the keys in each cell of a stratum, in the order of `keys`."""
        along = [i for axis in self.axes for i in axis.places]
        at = [along.index(i) for i in self.keys]
        for rows in itertools.product(*(axis.rows for axis in self.axes)):
            values = tuple(itertools.chain(*rows))
            yield tuple(values[n] for n in at)


@dataclass(frozen=True)
class Output:
    """What is made of the releases.

    Args:
        names: Of the result's columns.
        items: One expression per column, over those that `computed_columns` names: `STRATUM + i`,
            `GROUP + i`, `AGGREGATE + i`, `SUMMED + i` and `POPULATION`.
        strata, groups: The dimensions of the cells.
        marginals: The tables that the answer has, in the order of their rows.
        having, order_by, limit, offset: As in SELECT, over the same columns.
        weights: The public table of WEIGHTS FROM, or ''.
        kept: Combinations of selected keys that have rows; None where all cells have.
        existing: Positions of keys that are of one public table or made of one column, and the
            combinations that there are: no other can have a row.
        shared: What each aggregate's errors may share with others'.
        types: DuckDB's type of each item, in which it is shown; '' for that of its numbers.
        by_zero: Whether a quotient in an aggregate or a key may have 0 as its divisor.
    """

    names: tuple[str, ...]
    items: tuple[t.Node, ...]
    strata: tuple[dimensions.Dimension, ...]
    groups: tuple[dimensions.Dimension, ...]
    marginals: tuple[GroupingSet, ...]
    having: t.Node | None = None
    order_by: tuple[t.Order, ...] = ()
    limit: t.Node | None = None
    offset: t.Node | None = None
    weights: str = ""
    kept: SelectedKeys | None = None
    existing: tuple[Existing, ...] = ()
    shared: tuple[SharedReleases, ...] = ()
    types: tuple[str, ...] = ()
    by_zero: bool = False

    @property
    def strata_count(self) -> int:
        """How many strata there are; one without STRATIFY BY."""
        return math.prod(len(d.values) for d in self.strata)

    @property
    def cells(self) -> int:
        """How many cells there are: none where no key was selected."""
        inside = sum(marginal.cells for marginal in self.marginals)
        return inside * self.strata_count

    @property
    def enum_types(self) -> dict[str, str]:
        """DuckDB's type of each output that is an ENUM."""
        types = zip(self.names, self.types, strict=True)
        return {name: type_ for name, type_ in types if type_.startswith("ENUM")}

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The recipes of all marginals, one marginal after the other."""
        return tuple(recipe for marginal in self.marginals for recipe in marginal.recipes)

    @property
    def own(self) -> tuple[Recipe, ...]:
        """Those of the population's own figures."""
        return tuple(r for marginal in self.marginals for r in marginal.own if r is not None)


@dataclass(frozen=True)
class Selection:
    """Values of keys without a declared list, selected before all else: `Allowance.select_keys`.

    One selection serves all aggregates of its statement: each is then over the selected values.
    """

    source: a.Relation
    exprs: tuple[a.Expr, ...]
    price: Rho
    yocto: int


@dataclass(frozen=True)
class Plan:
    """What the kernel is asked for, from whose budget, and what becomes of it.

    Args:
        measurements: Each query once, with its share of the price.
        rounds: The means that are asked for in rounds after those, with their shares.
        unit_table: The table whose budget pays.
        price: The statement's price; the shares add up to it.
        output: What is made of the releases.
        selection: What has to be selected first; the plan is then made anew with its values.
        options: Those that are not the price.
        left_out: Which of the measurements counts units by how many rows they have, if one does.
        rows_choice: The same measurement, where the answer chooses how many rows of a unit count.
    """

    measurements: tuple[Measurement, ...]
    unit_table: str
    price: Price
    output: Output
    selection: Selection | None = None
    rounds: tuple[MeanRounds, ...] = ()
    options: StatementOptions = PLAIN
    left_out: Measurement | None = None
    rows_choice: Measurement | None = None

    @property
    def awaits_rows(self) -> bool:
        """Whether the plan is for the owner's bound, and is made anew once `rows` is chosen."""
        return self.rows_choice is not None and self.options.rows is None
