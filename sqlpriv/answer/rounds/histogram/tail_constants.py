"""Every number that was chosen for clipped means: their tails, shapes of cells and clipping ends.

None of them concerns privacy: what is made here is made of releases. `plan.pricing.tuned_constants`
has the parts of the price. "Measured" names the experiment; "derived" says from what; "set" was not
searched, and its figure is what was seen with it.

**What noise may hide of a table's histogram** (`tail_model`)

| name | value | chosen by |
|---|---|---|
| VISIBLE | 0.02 | derived: next to bins with rows two of 100 empty bins are taken for rows |
| CLEAR | 0.0001 | measured: [2]. One of 100 tables has such a bin apart from others. At 0.0017 |
|  |  | one in 30 answers had a lone bin of noise, and 30 times the error (zero-inflated) |
| ATOM | 0.003 | derived: of atoms there are three; one of 100 tables has a false one |
| MOST_CLAMPED | 0.5 | set: see `end_atoms` |
| MANY | 80 | derived: false rows of 97 empty bins at VISIBLE, 8 σ, are then a tenth of all |
| MOST_UNSEEN | 0.3 | measured: [2], 300 rows: of 0.1 to 0.4 the two in the middle erred least; |
|  |  | with 0.1 log-normal, Pareto and bimodal values erred 4 to 70 times as much |
| FEWEST_BINS | 4 | set: the bins that a distribution has at least |
| DECAYS | 0.75 … 0.9 | measured: [1]. With 0.75 alone everybody's interval of days to screening |
|  |  | held .07; 0.95 and 1 made rare errors of 1,000 rows of Pareto 1.5 larger |
| RELUCTANCE | 5 | measured: [2]. Noise alone says 5 in one of 150; with 0 the errors of 1,000 |
|  |  | rows in 18 strata were 5 to 15 times as large |
| OUTLYING | 4 | set |

**Tails that go on from what is seen** (`pooled_histogram`)

| name | value | chosen by |
|---|---|---|
| SLOWEST_FALL | 0.75 | derived: the fall of x^-1.66, 2^(-1.66 / 4): a mean of slower ones is |
|  |  | hardly finite |
| STEPS_BACK | 5 | derived: five bins are four steps, one doubling of the values |
| RUN | 4.75 | derived: one in a million, as there are some thousand runs: one of 100 tables has |
|  |  | a false one. A long run next to visible bins needs it, too: its rows may be at its end |
| DROPS, BELIEF | 0 … 1 | set: a tail goes on as it came, or drops by any part, each as likely |
| CURVATURES | 0.02 … 0.32 | set: log-normal tails of spreads from 1.2 to 0.3 have these; what |
|  |  | they gain: `curved_tails` |
| STRAIGHT | 0.8 | measured: [2], 20,000 exponential rows of which .01 are a power law's, pure, |
|  |  | 80 and 100 runs: held .61 with 0.5, .73 with 0.8; power laws alone .75 |
| HEAVIER | 0.05 | measured: [2], the same: with 0.1 .63 held, and hurdles erred more |
| HEAVIER_FALL | 0.8 | derived: the fall of x^-1.29; a mean of slower ones is hardly finite |
| CURVED_BINS | 9 | derived: nine bins are two doublings of the values |
| FEWEST_CURVED | 5 | set: three numbers are fitted to them |
| CURVE_MISFIT | 0.1 | set: as TAIL_MISFIT |
| MASS | 0.25 | set: in the slowest tails a bin holds three quarters of the one before |

**The slowest tails that noise allows** (`slow_tails`)

| name | value | chosen by |
|---|---|---|
| PRIOR_FALL | 4 | measured: [2]. Of 0, 4 and 8, eight shapes, 1,000 rows: 0 makes ± three to ten |
|  |  | times as long, 8 holds .66 to .88 of a power law |
| COUNTED | 0.95 | derived: what an interval is to hold |
| SCATTER | 2 | derived: of a normal they hold 95 %. With 1, everybody's interval of 20,000 rows |
|  |  | of a power law x^-1.2 under zCDP held .86, with 2 .95 |
| SLOWEST | 0.99 | set: what a note tells of, beyond COUNTED |
| HEAVY | 0.1 | measured: [2]. Bimodal values and constants have .05 at most, a power law x^-1.5 |
|  |  | .1 to .8 |
| TAIL_MISFIT | 0.1 | set: how far a distribution's bins are off the nearest tail's |
| FIRST_MISFIT | 0.3 | set: the same of the tail's first bin |
| INNER_MISFIT | 0.1 | measured: [2] at 8,000 and 20,000 rows. With 0, where the bulk of rows |
|  |  | decides how a tail goes on, an interval counts on .4 of what a power law behind an |
|  |  | exponential hides, with 0.1 on .7, and ± of a Burr distribution is 5 to 10 times as |
|  |  | long; 0.3 held less elsewhere |
| STANDS_OUT | 3 | set: a bin of more deviations of noise is seen |
| FINE, COARSE | 4, 64 | measured: [2]. The smallest s, as a part of the first bin. A power law |
|  |  | begins anywhere in a bin that reaches to the grid's middle; there, with 4, it was taken |
|  |  | for a lighter one. Tails that are no power law may end in their first bin: with 4 for |
|  |  | these ± of 20,000 equal values was 20 times as long; with 64 for power laws, too, that of |
|  |  | a law x^-2 four times |

**Rows that noise may hide beyond what is seen** (`hidden_clumps`)

| name | value | chosen by |
|---|---|---|
| CLUMPED | 0.05 | set: about one in twenty random cells has such rows, [4] |
| FARTHER | 0.7 | measured: [4]. Of 0.5, 0.7 and 0.9, notes under as many answers are under .33, |
|  |  | .37 and .37 of those that do not hold |
| CLAMPED | 0.25 | set: of real columns values pile up at a declared end oftener than elsewhere |
| MOST_HIDDEN | 0.5 | set |
| EVIDENT | 0.06 | measured: [4]. Counted on always (CLUMPED 0.05), ± of 1,000 normal values are |
|  |  | 1.12 to 1.18 times as long; from 0.06 on as long, and outliers hold as often |
| DOUBTED | 0.98 | measured: [4], 11 cells. Notes stand under .28 of the answers with 0.99, |
|  |  | .21 with 0.985, .11 with 0.98; each time under .6 of those that do not hold |

**Rows far beyond all that is seen** (`far_rows`)

| name | value | chosen by |
|---|---|---|
| BEYOND_SEEN | 100 | set: of 16 real columns one is declared so much wider than what stands out |
| MANY_FAR | 0.05 | set: at epsilon 1 noise hides as many of 3,000 rows and fewer |
| HIDDEN_DEVIATIONS | 1.64 | derived: of a normal, 95 % lie below |

**How cells differ from all rows** (`cell_shapes`, `place_shrinkage`)

| name | value | chosen by |
|---|---|---|
| SHAPE_MISFIT | 0.05 | set: with it 93 to 97 % of census strata lie in their intervals, [3] |
| BETWEEN | 0.25 | measured: [2]. 0.06 to 1 are alike (ten shapes, eight tables); without, |
|  |  | everybody's error of 1,000 uniform rows in 18 strata was six times as large, and held .30 |
| RESOLUTION | 1 | derived: one bin of the grid; a rate is not compared more finely than that |
| FAR | 6 | set: squares of Laplace noise vary more than those of normal noise |

**Where cells are clipped** (`clipping`, `clipping_errors`, `clipping_loss`, `clipped_mean`)

| name | value | chosen by |
|---|---|---|
| DOUBT | 0.08 | set: with it 93 to 97 % of census strata lay in their intervals, [3] |
| OWN_TAIL | 0.1 | set |
| UNEVEN | 0.096 | derived: see its text |
| SUM_MISFIT | 0.05 | set: how far a cell's clipped sum is off its family's |
| CLUMP | 0.01 | set: everybody's interval of air times held 0 of 12 without |
| UNSEEN, SMALL_LOSS | 0.1, 0.15 | measured: [2] at 100 and 300 rows |
| NARROW | 64 | measured: [2]. Of 300 whole numbers from 0 to 5 a noisy histogram hid one, and the |
|  |  | interval held .6 to .7 |
| NOISE_STEPS | 16 | derived: a price that is off by little gives the same ends, and query |

1. `python examples/papers/means/run.py`: errors and intervals of census columns and of mixtures.
2. `python tests/bench/coverage.py --rows 300 1000 --strata 1 18`: intervals and errors, shape by
   shape; real columns with `--tables`. `regret.py` takes the same options and compares estimators.
3. `pytest -m slow tests/answer/test_means_example.py`: intervals of census strata.
4. `python tests/bench/random_shapes.py --cells 2000 2150 --using auto --runs 16 --draws 8`,
   and cells 20000 to 20150: intervals and notes of random columns.
"""

from __future__ import annotations

import numpy as np

VISIBLE, CLEAR, ATOM, MANY = 0.02, 1e-4, 0.003, 80.0
"""Chances with which an empty bin is taken for rows: CLEAR where it stands alone, ATOM where values
may be expected to pile up, VISIBLE next to rows; CLEAR for all where the table has fewer rows than
MANY standard deviations of the histogram's noise."""
MOST_CLAMPED = 0.5
"""How likely values are clamped to a declared end up to which they are seen."""
MOST_UNSEEN, FEWEST_BINS = 0.3, 4
"""The most of all rows that two standard deviations of the noise in so few bins may be; where they
are more, nothing is taken for known and nothing is clipped."""
SLOWEST_FALL, STEPS_BACK = 0.75, 5
"""The slowest fall from bin to bin that is extrapolated, and the bins it is estimated from."""
DECAYS = np.array([SLOWEST_FALL, 0.8, 0.85, 0.9])
RELUCTANCE = 5.0
"""Of hidden rows, from bin to bin, and how much likelier, by its logarithm, each has to make the
counts than the one before."""
OUTLYING = 4.0
"""By how many standard deviations a count in the noise may speak for or against a tail: Laplace
noise has outliers, which would decide alone."""
RUN = 4.75
"""What a run of bins has to have, in standard deviations of its noise, to be no noise."""
DROPS = np.arange(1, 17) / 16
BELIEF = np.array([1 / 30] * 15 + [1 / 2])
"""Factors of a tail and of its rate of fall, and how likely each is before."""
CURVATURES, STRAIGHT = np.array([0.02, 0.04, 0.08, 0.16, 0.32]), 0.8
"""By how much the logarithm of a bin's rows falls faster from bin to bin, and how likely it is at
least, before what lies beyond is looked at, that it falls as it came; the others share the rest."""
HEAVIER, HEAVIER_FALL = 0.05, 0.8
"""How likely it is before that a tail falls slower than what is seen, and how slowly."""
CURVED_BINS, FEWEST_CURVED, CURVE_MISFIT = 9, 5, 0.1
"""The visible bins that tell of it, the least of them, and their relative standard deviation around
a tail."""
MASS = 0.25
"""A bin of many equal values: both bins next to it hold less than such a part of its rows."""
PRIOR_FALL = 4.0
"""How fast the belief in a tail falls with its slowness ξ, before counts are seen."""
COUNTED, SLOWEST, DOUBTED = 0.95, 0.99, 0.98
"""Quantiles of the belief in tails, and in clumps: of what the interval counts on, and of what is
told in a note of tails without a finite variance, and of clumps."""
SCATTER = 2.0
"""Standard deviations of what a tail's rows happen to hold that are counted on besides."""
HEAVY = 0.1
"""The likelihood of tails without a finite variance from which on none is held less likely."""
TAIL_MISFIT, FIRST_MISFIT = 0.1, 0.3
"""Relative standard deviations of a bin's rows around a tail's, and of the first bin's."""
INNER_MISFIT, STANDS_OUT = 0.1, 3.0
"""What is added to the first of them for each doubling of x inwards of the last bin that is seen,
and the standard deviations of noise that such a bin holds."""
FINE, COARSE = 4.0, 64.0
"""The smallest scale of a tail: so many parts of its first bin."""
CLUMPED, FARTHER, CLAMPED, MOST_HIDDEN = 0.05, 0.7, 0.25, 0.5
"""Before any count is looked at: the chance of rows on a side that are no tail, by how much rarer
they are twice as far out, which part of them is at a declared end, and the most of all rows."""
BEYOND_SEEN, MANY_FAR, HIDDEN_DEVIATIONS = 100.0, 0.05, 1.64
"""How many times as far as what is seen the declared interval reaches, and the part of all rows
that noise may hide there, from which on that is told; and the deviations of what may be hidden."""
EVIDENT = 0.06
"""The belief in such rows from which on an interval counts on them."""
SHAPE_MISFIT = 0.05
"""Relative standard deviation of a cell's counts around the family's at the right rate."""
BETWEEN = 0.25
"""The most that the cells' places, or rates, are taken to vary, in variances of a row's bin: noise
says little of small cells, and what lies between cells is a part of all (law of total variance)."""
RESOLUTION = 1.0
"""Standard deviation, in steps, that a cell's rate keeps however well it was measured."""
FAR = 6
"""Standard deviations by which cells have to be farther apart than noise explains before they are
taken to be so."""
DOUBT = 0.08
"""θ: relative error of the logarithm of the part of values beyond an end."""
OWN_TAIL = 0.1
"""Relative standard deviation of what a cell has beyond an end, around its family's."""
UNEVEN = 1 / (6 * 3**0.5)
"""Standard deviation of the mean of a bin's values, in widths of the bin: that of a density which
is a line of any slope that keeps it above 0, each as likely."""
SUM_MISFIT = 0.05
"""Relative standard deviation of a cell's clipped mean around its family's at the right rate."""
CLUMP = 0.01
"""κ: the share of all rows that is taken to be in one cell."""
UNSEEN, SMALL_LOSS = 0.1, 0.15
"""The part of the rows that a histogram may leave in the noise where that needs no more than such a
part of the price, which is a small loss."""
NARROW = 64
"""Units of x. In a narrower domain clipping gains little, and nothing is clipped."""
NOISE_STEPS = 16
"""Ends are chosen with a noise that is rounded to so many steps of each doubling. See
`adaptive_means`."""
