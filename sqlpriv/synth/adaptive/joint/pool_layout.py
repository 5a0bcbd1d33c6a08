"""Columns of pooled strata by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlpriv.synth.api.method import Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.graph.junction_tree import Clique, Graph


@dataclass(frozen=True)
class Layout:
    """Columns by number: the modelled ones, then those of STRATIFY BY that have several levels."""

    space: Space

    @property
    def columns(self) -> Clique:
        """The modelled columns."""
        return modelled_columns(self.space.sizes)

    @property
    def strata(self) -> Clique:
        """The columns whose levels tell strata apart."""
        begin = len(self.space.sizes)
        return tuple(begin + i for i, n in enumerate(self.space.strata_shape) if n > 1)

    @property
    def strata_sizes(self) -> tuple[int, ...]:
        """How many levels those have."""
        return tuple(n for n in self.space.strata_shape if n > 1)

    @cached_property
    def graph(self) -> Graph:
        """Sizes of all columns."""
        return Graph((*self.space.sizes, *self.space.strata_shape))
