"""What a synthesizer is: a few functions and what a user must know about them.

`fit(ask, space, price, options) -> models` asks the gate, for all
strata at once, and spends exactly `price`; `model.sample(sizes, rows, rng) -> levels` is
post-processing. Neither sees a row. `phases` says what `fit` will spend on what, before anything
is read; `fit` takes its prices from it, so that EXPLAIN PRIVACY and the run cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.inference.one_way_tables import Merging
from sqlpriv.synth.models.sampling import Codes, dealt, draw
from sqlpriv.synth.models.tree_model import TreeModel

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Option:
    """An option of a method.

    Args:
        name: As written in OPTIONS (…), lower case.
        default: Its value when left out.
        meaning: One line for people.
        choices: The values allowed; empty where `least` and `most` say.
        least, most: Ends of a whole number.
        text: Its value is text.
    """

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    share: bool = False
    text: bool = False


@dataclass(frozen=True)
class Space:
    """What there is to model, by number.

    Args:
        sizes: Levels of each column.
        strata_shape: Levels of each column of STRATIFY BY; their product numbers the strata, row
            by row.
        zeros: By columns (those of the strata are numbered after the others), which cells of theirs
            cannot hold anybody. What is drawn is looked through in any case: a method that cannot
            make use of it need not.
        names: Of the columns, as declared.
        values: By numeric column, the mean of each level's values and their reach to either side,
            shape (levels, 2).
        existing: By stratum, the combinations of levels that passed a threshold, shape
            (combinations, columns); None for a method that selects none.
    """

    sizes: tuple[int, ...]
    strata_shape: tuple[int, ...] = ()
    zeros: Mapping[tuple[int, ...], NDArray[np.bool_]] = field(default_factory=dict, compare=False)
    names: tuple[str, ...] = field(default=(), compare=False)
    values: Mapping[int, NDArray[np.float64]] = field(default_factory=dict, compare=False)
    existing: tuple[NDArray[np.int64], ...] | None = field(default=None, compare=False)

    @property
    def strata(self) -> int:
        """How many strata there are; 1 without STRATIFY BY."""
        return math.prod(self.strata_shape)

    def levels(self, stratum: int) -> dict[int, int]:
        """Returns the levels that a stratum is made of, of columns of several, by column."""
        begin, positions = len(self.sizes), np.unravel_index(stratum, self.strata_shape)
        pairs = enumerate(zip(positions, self.strata_shape, strict=True))
        return {begin + i: int(level) for i, (level, n) in pairs if n > 1}


@dataclass(frozen=True)
class Phase:
    """One step of a run and what it costs.

    Args:
        name: For people.
        mechanism: "noise" or "exponential mechanism".
        price: For all of the step, all strata together.
        rounds: How many times the gate is asked.
        marginals: What is measured, where that is known beforehand.
    """

    name: str
    mechanism: str
    price: Price
    rounds: int = 1
    marginals: tuple[Marginal, ...] = ()


class Model(Protocol):
    """What is fitted to one stratum."""

    @property
    def size(self) -> float:
        """The noised number of rows; may be negative."""

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns the levels of that many rows, shape (rows, columns).

        A column that is not in the model has one level only, which is number 0.
        """


@dataclass(frozen=True, eq=False)
class StratumModel:
    """One stratum as a forest over merged levels, and how to undo the merging.

    Args:
        tree: Over the columns that have more than one level.
        merging: By column; a column that is left out was not merged.
        size: The noised number of rows; may be negative.
    """

    tree: TreeModel
    merging: Mapping[int, Merging]
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels down the tree; see `Model`."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        for column, codes in draw(self.tree, rows, rng).items():
            drawn[:, column] = _unmerge_levels(codes, self.merging.get(column), rng)
        return drawn


class Fit(Protocol):
    """Asks the gate and returns one model per stratum."""

    def __call__(self, ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
        """See the module."""


class Phases(Protocol):
    """Says what a run will cost, in order; prices add up to `price` exactly."""

    def __call__(self, space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
        """Levels of columns and strata, the whole price, every option."""


@dataclass(frozen=True)
class PairPlan:
    """What a method's pairs of columns have of its price.

    Args:
        choosing: The part that is spent on anything but pairs.
        pairs: How many are measured; None for those of a tree of the columns.
    """

    choosing: float
    pairs: int | None = None


class Strata(Enum):
    """What is known of how strata are modelled before their columns are looked at.

    UNLESS_APART: as one model, if a look at their columns does not say that they lie far apart;
    each by itself, if it does.
    """

    EACH = "each by itself"
    ONE = "one model"
    UNLESS_APART = "one model, unless far apart"


class OneModel(Protocol):
    """Says whether strata are parts of one model of everybody, as far as sizes and prices say."""

    def __call__(self, rows: float, price: Price, space: Space, options: Options) -> Strata:
        """Noised or expected number of all rows, the method's price, and what `fit` is given."""


@dataclass(frozen=True)
class Method:
    """A synthesizer.

    Args:
        name: As written after USING.
        title: One line.
        paper: Where it comes from.
        options: Beyond the common ones.
        max_strata: Refused above.
        max_cells: Most cells (over all strata) of all marginals that are looked at; refused above.
        arity: How many columns its largest marginals have; None for all of them.
        trees: Whether its models are junction trees, which keep to structural zeros.
        fit, phases: See the module.
        one_model: What EXPLAIN PRIVACY forecasts by: what `fit` decides from sizes alone, and
            whether its look at columns may decide otherwise. None for a method whose strata each
            have a model of their own.
        max_columns: Most columns of several levels; None for any number.
        merges_lists: Whether the rare levels of long lists are made groups before it begins, see
            `synth.long_lists`.
        selects: Whether the combinations of values that occur are selected before it begins, at the
            price of its first phase: see `synth.existing_cells`.
        pair_cells: By options and number of strata, the cells of a pair's table above which the
            method does not look at the pair; None where it looks at all of them.
    """

    name: str
    title: str
    paper: str
    options: tuple[Option, ...]
    max_strata: int
    max_cells: int
    arity: int | None
    fit: Fit
    phases: Phases
    one_model: OneModel | None = None
    trees: bool = False
    pair_cells: Callable[[Options, int], int] | None = None
    max_columns: int | None = None
    merges_lists: bool = False
    selects: bool = False


def named_columns(space: Space, text: str | None, option: str) -> tuple[int, ...]:
    """Returns the columns that an option names, `'label, other'`; none where it is not given.

    Raises:
        Refused: A name is no column that is modelled.
    """
    if text is None:
        return ()
    numbers = {name.lower(): i for i, name in enumerate(space.names)}
    named = [part.strip().strip('"') for part in text.split(",")]
    for part in named:
        if part.lower() not in numbers:
            raise Refused(
                f'the option {option} names "{part}", which is no modelled column',
                hint=f"{option} = 'label' or 'label, other', of the selected columns",
            )
    return tuple(dict.fromkeys(numbers[part.lower()] for part in named))


def _unmerge_levels(codes: Codes, merging: Merging | None, rng: np.random.Generator) -> Codes:
    """Returns levels for merged levels: a bucket's rows are dealt out by its shares."""
    if merging is None:
        return codes
    levels = np.zeros(merging.size, dtype=np.int64)
    levels[merging.group] = np.arange(merging.group.size)
    drawn = levels[codes]
    in_bucket = np.bincount(merging.group)[codes] > 1
    members = np.flatnonzero(np.bincount(merging.group)[merging.group] > 1)
    if in_bucket.any():
        bucket = np.zeros(int(in_bucket.sum()), dtype=np.int64)
        drawn[in_bucket] = members[dealt(bucket, merging.share[members][None, :], rng)]
    return drawn
