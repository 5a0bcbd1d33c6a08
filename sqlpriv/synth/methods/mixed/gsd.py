"""`gsd`: rows edited until they agree with chosen tables of three columns, and with slices.

Liu, Vietri and Wu 2023, "Generating Private Synthetic Data with Genetic Algorithms" (Private-GSD,
arXiv:2306.03257), with the queries of Vietri et al. 2022, "Private Synthetic Data for Multitask
Learning and Marginal Queries" (arXiv:2209.07400). What is measured are whole tables: categories and
numbers in 16 groups by a target, and slices, which are histograms of linear forms of the numbers by
a target (`grid_queries`). The search goes by single edits (`edited_rows`).

1. AIM with tables of at most two columns, for a share of the price: rows are drawn from its model.
2. Rounds for the rest: `choose` selects tables that the rows answer worst, by the L1 distance less
   the noise's mean magnitude in every cell; these are measured in one batch, and the rows are
   edited to agree with all tables so far. Those of AIM enter as its model has them, weighed by
   their noise.

Price: AIM spends its part exactly (`aim`). Each of the rounds' steps is one exponential mechanism
and one measurement in every stratum, at prices that add up to the rest; strata are disjoint, so
they cost it together (`kernel.sensitivity.joint_price`). Questions that depend on earlier answers
are what adaptive composition allows. Directions, bins and groups of levels are made from rows drawn
of released numbers, and edits see nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive.stratum_model import StratumCliques
from sqlpriv.synth.api.ask import Ask, Marginal, Question
from sqlpriv.synth.api.method import Method, Model, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import Floats
from sqlpriv.synth.methods import aim
from sqlpriv.synth.methods.mixed.candidate_tables import (
    CandidateTable,
    one_way_shares,
    slices,
    target_columns,
    whole_tables,
)
from sqlpriv.synth.methods.mixed.edited_rows import (
    EditedRows,
    FittedTable,
    GroupAxis,
    PlacedRows,
)
from sqlpriv.synth.methods.mixed.table_rounds import OPTIONS, play_tables
from sqlpriv.synth.models.row_sample import RowSample

START = 0.6
"""Of the price, for AIM's tables of one and two columns."""
MOST_ROWS = 50_000
"""Rows that are edited in all; of more people, each row stands for several."""
LEAST_ROWS = 500
EDITS = 12
"""Edits proposed for each row in a round; twice as many after the last."""

SEED = 0
"""Of directions and edits, which are no noise: the same answers lead to the same questions, as
tests/synth/test_audit.py has it."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on: AIM's phases, then rounds that depend on answers."""
    target_columns(space, options["target"])
    if len(modelled_columns(space.sizes)) < 2:
        return aim.phases(space, price, _aim_options(options))
    first, rest = split_price(price, [START, 1 - START])
    steps = options["tables"]
    split_price(rest, [1.0] * (2 * steps))  # refuses what cannot pay for choosing and measuring
    rounds = Phase("tables and slices", "exponential mechanism and noise", rest, steps)
    return (*aim.phases(space, first, _aim_options(options)), rounds)


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one set of rows per stratum. Spends exactly `price`; see the module."""
    if len(modelled_columns(space.sizes)) < 2:
        return aim.fit(ask, space, price, _aim_options(options))
    first, rest = split_price(price, [START, 1 - START])
    recorder, rng = _Recorder(ask), np.random.default_rng(SEED)
    models = aim.fit(recorder.ask, space, first, _aim_options(options))
    rows = [_rows_of(model, models, space, rng) for model in models]
    everybody = PlacedRows(
        np.concatenate([r.rows.levels for r in rows]), np.concatenate([r.rows.places for r in rows])
    )
    for editor, model in zip(rows, models, strict=True):
        recorder.fit_model(editor, model, space)
    targets = target_columns(space, options["target"])
    candidates = [
        *whole_tables(space, targets, everybody.levels),
        *slices(space, targets, everybody, rng),
    ]
    fitted = [_Editing(r, rng) for r in rows]
    play_tables(ask, fitted, candidates, rest, options["tables"], recorder.noise)
    return tuple(RowSample(r.rows.levels, m.size) for r, m in zip(rows, models, strict=True))


@dataclass(frozen=True)
class _Editing:
    """Rows of one stratum; a `FittedRows`."""

    rows: EditedRows
    rng: np.random.Generator

    def counts(self, table: CandidateTable) -> Floats:
        """Returns how many people the rows stand for in each cell."""
        return self.rows.counts(table.fitted, table.shape)

    def learn(self, tables: Sequence[FittedTable], last: bool) -> None:
        """Edits the rows until they agree with these tables, too."""
        self.rows.fit_tables(tables)
        self.rows.edit(EDITS * len(self.rows.rows) * (2 if last else 1), self.rng)


def _aim_options(options: Options) -> Options:
    return {**options, "degree": 2}


@dataclass
class _Recorder:
    """Passes AIM's questions on and keeps which tables it measured, and how noisy they are."""

    inner: Ask
    sigmas: dict[tuple[int, ...], float] = field(default_factory=dict)
    noise: tuple[float, Price] = (1.0, Rho(1))

    @property
    def ask(self) -> Ask:
        """What AIM is given of the world."""
        return Ask(self.measure, self.inner.select, self.inner.report)

    def measure(self, questions: Sequence[Question]) -> tuple[Release, ...]:
        """See `Asker.measure`."""
        releases = self.inner.measure(questions)
        for question, release in zip(questions, releases, strict=True):
            assert isinstance(question, Marginal)
            least = self.sigmas.get(question.clique, math.inf)
            self.sigmas[question.clique] = min(least, release.sigma)
            self.noise = release.sigma, release.price
        return releases

    def fit_model(self, rows: EditedRows, model: StratumCliques, space: Space) -> None:
        """Adds the tables that AIM measured, as its model has them: nonnegative, of one total."""
        own_sigmas: dict[tuple[int, ...], float] = {}
        for clique, sigma in self.sigmas.items():
            own = tuple(c for c in clique if c < len(space.sizes))
            if own:
                own_sigmas[own] = min(sigma, own_sigmas.get(own, math.inf))
        axes = {c: tuple(GroupAxis(i, np.arange(space.sizes[i])) for i in c) for c in own_sigmas}
        rows.fit_tables(
            [FittedTable(axes[c], model.model.counts(c), sigma) for c, sigma in own_sigmas.items()]
        )


def _rows_of(
    model: StratumCliques, models: Sequence[StratumCliques], space: Space, rng: np.random.Generator
) -> EditedRows:
    """Returns rows drawn from a stratum's model, as many as its part of those that are edited."""
    sizes = [max(m.size, 1.0) for m in models]
    size = max(model.size, 1.0)
    count = max(min(size, LEAST_ROWS), size * min(1.0, MOST_ROWS / sum(sizes)))
    drawn = model.sample(space.sizes, max(1, round(count)), rng)
    placed = PlacedRows(drawn, rng.uniform(-1.0, 1.0, drawn.shape))
    return EditedRows(placed, size, one_way_shares(drawn, space.sizes))


METHOD = Method(
    name="gsd",
    title="rows edited to agree with tables of three columns by a target, and with slices",
    paper="Liu, Vietri and Wu 2023 (arXiv:2306.03257)",
    options=(
        *OPTIONS,
        *(option for option in aim.METHOD.options if option.name != "degree"),
    ),
    max_strata=200,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    phases=phases,
    max_columns=aim.MOST_COLUMNS,
    merges_lists=True,
)
