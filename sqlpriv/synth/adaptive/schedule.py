"""AIM's schedule: rounds that get dearer where they taught no more than noise would have.

McKenna, Mullins, Sheldon and Miklau 2022 (arXiv:2201.12677), Algorithms 2 and 3. It is for
sixteen rounds a column and ends long before. Where the model moved no more than noise would have
moved it, its stratum's next round costs four times as much (half the noise, twice the epsilon of
the choice; twice as much of pure epsilon), and a stratum that could not pay two more rounds spends
all that it has left on the next one. A `Schedule` has these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.synth.adaptive.rounds import BETWEEN, LAST, SELECTING, Chosen, Rounds
from sqlpriv.synth.adaptive.stratum_run import fit_run
from sqlpriv.synth.api.method import Options
from sqlpriv.synth.api.progress import Progress


@dataclass(frozen=True)
class Schedule:
    """How a price is spent on rounds.

    Args:
        rounds: How many for each column could be paid if none got dearer.
        dearer: How many times the rho of a round is that of one that taught nothing.
        selecting: One part in this many of a round's price is for choosing.
    """

    rounds: int = 16
    dearer: float = 4.0
    selecting: int = SELECTING

    def step(self, price: int, columns: int) -> int:
        """Returns the price of the first round, in nano."""
        return max(2, price // (self.rounds * columns))


AIM = Schedule()
"""As the paper has it."""


def anneal(
    rounds: Rounds,
    whole: int,
    options: Options,
    dearer: float,
    later: int = 0,
) -> None:
    """Plays rounds until every stratum has spent what it had.

    Args:
        rounds: Its runs have something left, and the price of their next round.
        whole: The price, in nano, at which junction trees may have all their cells; before, they
            may have the share that is spent.
        options: `cells` and `engine`.
        dearer: How many times the rho of a round is that of one that moved nothing.
        later: What will be left of `whole` when these rounds are played.
    """
    runs, begun = rounds.runs, max(run.left for run in rounds.runs)
    of = "population: " if rounds.pooled else ""
    stage = f"{of}choosing and measuring marginals"
    while active := [s for s, run in enumerate(runs) if run.left]:
        spent = begun - sum(runs[s].left for s in active) // len(active)
        rounds.ask.report(Progress(stage, spent, begun))
        for s in active:
            if runs[s].left < 2 * runs[s].step:
                runs[s].step = runs[s].left
        left = {s: runs[s].left - runs[s].step + later for s in active}
        limits = {s: options["cells"] * (1 - nano / whole) for s, nano in left.items()}
        for s, choice in rounds.play(limits).items():
            _fit(rounds, s, choice, options["engine"], dearer)
    rounds.ask.report(Progress(stage, begun, begun))


def _fit(rounds: Rounds, stratum: int, choice: Chosen, engine: str, dearer: float) -> None:
    """Fits a stratum anew, and makes its rounds dearer where that moved it less than noise."""
    run = rounds.runs[stratum]
    run.model = fit_run(run, engine, BETWEEN if run.left else LAST)
    moved = np.abs(rounds.model_counts(stratum, choice.clique) - choice.believed).sum()
    if moved <= choice.noise * choice.believed.size:
        gaussian = isinstance(rounds.sigma[1], Rho)
        run.step = max(2, int(run.step * (dearer if gaussian else math.sqrt(dearer))))
