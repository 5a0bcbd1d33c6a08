"""A checked request for a synthetic table: all of it public, and what it will cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.method import Method, Phase, Space, Strata
from sqlpriv.synth.domain import binning
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.domain.level_choice import level_count
from sqlpriv.synth.domain.level_values import level_values
from sqlpriv.synth.domain.structural_zeros import Zeros
from sqlpriv.synth.inference.one_way_tables import count_sigma
from sqlpriv.synth.long_lists import LIST, MOST_GROUPS, long_lists
from sqlpriv.synth.quality import hidden_cells, measured_error
from sqlpriv.synth.quality.prediction import (
    ExpectedError,
    expected_error,
    expected_noise,
    with_joint_error,
)


@dataclass(frozen=True, eq=False)
class Job:
    """A checked request: all of it public; nothing was read or charged yet.

    Args:
        domain: Cells, strata and the relation that is counted.
        method: The synthesizer.
        options: Every option, defaults filled in.
        price: What the whole statement costs, unless parts of it are replayed.
        zeros: Rows that cannot exist, or None.
        base: All rows that the statement is about, with undeclared values or without; None for
            those of the domain.
        asked_auto: Whether the statement said `USING auto`; `method` is what that took.
        bounded: Whether a unit may be in more strata than are kept of it.
        left_out: A remark on columns that * does not stand for, or ''.
        yocto: Delta, in 1e-24, of a method that selects values; 0 for the others.
    """

    domain: Domain
    method: Method
    options: Mapping[str, Any]
    price: Price
    zeros: Zeros | None = None
    base: a.Relation | None = None
    asked_auto: bool = False
    bounded: bool = False
    left_out: str = ""
    yocto: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What is known of the table before it is paid for: the method that `auto` takes, and which
        columns * does not stand for."""
        taken = [f"USING auto takes {self.method.name}"] if self.asked_auto else []
        return (*taken, *([self.left_out] if self.left_out else []))

    def phases(self) -> tuple[Phase, ...]:
        """Returns what the price will be spent on, in order."""
        return self.method.phases(self.space, self.parts[1], self.options)

    @property
    def space(self) -> Space:
        """Levels of the columns and of the strata."""
        columns = self.domain.attributes
        values = {i: v for i, x in enumerate(columns) if (v := level_values(x)) is not None}
        names = tuple(x.column.name for x in columns)
        return Space(self.domain.sizes, self.domain.strata_shape, names=names, values=values)

    @property
    def parts(self) -> tuple[tuple[Price, ...], Price]:
        """What the histograms of each binned column cost, and the method's part."""
        columns, price = self.binned, self.list_price[1]
        if not columns:
            return (), price
        each = binning.SHARE / len(columns)
        *looks, rest = split_price(price, [*[each] * len(columns), 1 - binning.SHARE])
        return tuple(looks), rest

    @property
    def list_price(self) -> tuple[dict[int, Price], Price]:
        """What counting the values of each long list costs, by column, and what is left."""
        price = self.error_price[1]
        columns = long_lists(self.domain) if self.method.merges_lists else ()
        if not columns or price.nano < binning.WORTH * len(columns):
            return {}, price
        *each, rest = split_price(price, [*[LIST / len(columns)] * len(columns), 1 - LIST])
        return dict(zip(columns, each, strict=True)), rest

    @property
    def error_price(self) -> tuple[Price, Price]:
        """What measuring the table's error costs, and what is left for the table."""
        one_level = max(self.space.sizes, default=1) == 1 and not self.method.selects
        if self.every_row == self.domain.source and one_level:
            return type(self.price)(0), self.price  # there is nothing to measure
        return measured_error.price_parts(self.price)

    @property
    def every_row(self) -> a.Relation:
        """All rows that the statement is about."""
        return self.domain.source if self.base is None else self.base

    def expected_error_apart(self, rows: float) -> ExpectedError | None:
        """Returns the error to expect if a look at columns says that strata lie so far apart that
        each is modelled by itself; None where no look decides that."""
        sizes = self._expected_levels(rows)[0]
        if self._strata_model(rows, sizes) is not Strata.UNLESS_APART:
            return None
        return self.expected_error_each(rows)

    def expected_error_each(self, rows: float) -> ExpectedError:
        """Returns the error to expect if each stratum is modelled by itself."""
        return replace(self, method=replace(self.method, one_model=None)).expected_error(rows)

    def _strata_model(self, rows: float, sizes: list[int]) -> Strata:
        decide, space = self.method.one_model, Space(tuple(sizes), self.space.strata_shape)
        return decide(rows, self.parts[1], space, self.options) if decide else Strata.EACH

    def _expected_levels(
        self, rows: float
    ) -> tuple[list[int], dict[int, float], dict[int, tuple[int, float]]]:
        """Returns how many levels columns are expected to have, and the noise of what says how a
        column's values lie inside them: see `expected_noise`."""
        looks = self.parts[0]
        sizes = list(self.space.sizes)
        histograms: dict[int, float] = {}
        lists: dict[int, tuple[int, float]] = {}
        for column, price in zip(self.binned, looks, strict=True):
            first = binning.round_prices(price, binning.begin_look(self.domain, column))[0]
            histograms[column] = count_sigma(first)
            if self.options["binning"] == "auto":
                sizes[column] = level_count(rows, histograms[column], sizes[column])
        for column, price in self.list_price[0].items():
            lists[column] = sizes[column], count_sigma(price)
            sizes[column] = level_count(rows, lists[column][1], MOST_GROUPS)
        return sizes, histograms, lists

    def expected_error(self, rows: float) -> ExpectedError:
        """Returns the error that a table of so many rows is expected to have; of strata that a look
        at columns may find far apart, if it does not."""
        sizes, histograms, lists = self._expected_levels(rows)
        space, phases = self.space, self.phases()
        one_model = self._strata_model(rows, sizes) is not Strata.EACH
        noise = expected_noise(
            tuple(sizes), space.strata, phases, rows, histograms, lists, one_model
        )
        if self.method.selects:
            sigma, of_each = count_sigma(phases[0].price), rows / space.strata
            sizes += [hidden_cells.UNDECLARED] * len(self.domain.undeclared)
            joint = hidden_cells.selected_table_error(tuple(sizes), sigma, of_each)
            return with_joint_error(noise, joint)
        if self.method.name in hidden_cells.METHODS and len(phases) > 1:
            sigma, of_each = count_sigma(phases[1].price), rows / space.strata
            joint = hidden_cells.joint_table_error(tuple(sizes), sigma, of_each)
            return with_joint_error(noise, joint)
        return expected_error(noise, self.method.name)

    @property
    def binned(self) -> tuple[int, ...]:
        """The columns of which histograms are measured: see `binning.WORTH`."""
        columns = binning.binned_columns(self.domain)
        return columns if self.price.nano >= binning.WORTH * len(columns) else ()
