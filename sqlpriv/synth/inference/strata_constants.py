"""Every number that was chosen for what strata share: pooling, borrowing, shrinkage, one model.

None of them concerns privacy: they divide a price that is charged whole, or work on what was
released. "Measured" names the experiment; "derived" says from what; "set" was not searched.

**How a price is parted between everybody and strata** (`adaptive.pooling_share`)

| name | value | chosen by |
|---|---|---|
| STRATA_APART, POWER | 0.005, 0.7 | measured: [1], fitted to census rows. The population gets 0.9 |
|  |  | at epsilon = 1, where 0.7 and 0.8 were worse, and 0.3 at 5, where 0.1 and 0.7 were |
| LEAST, MOST | 0.2, 0.95 | set |
| SHARE_STEPS | 20 | derived: a share that followed the noised size to the last digit would change |
|  |  | the price of every later question with each row |
| ROUNDS, TIMES | 8, 5 | set |

**How noisy one-way marginals may be before they are measured once more** (`adaptive.separate`)

| name | value | chosen by |
|---|---|---|
| TOLERATED_NOISE | 0.02 | measured: [3] |
| MOST_ONE_WAYS | 0.5 | measured: [3] |

**Strata by themselves, or as one model** (`adaptive.whole_or_strata`, `joint.shared_one_ways`,
`joint.strata_distance`). DEEPER and DEPENDENT were measured before `strata_distance` said how far
strata are apart, and while the sum of two errors was made least, not their product.

| name | value | chosen by |
|---|---|---|
| SIZES, LOOK | 0.02, 0.07 | derived: together they make the noise of what everybody is asked 1.05 |
|  |  | times as large as without strata; `adaptive.pooling` takes the same look |
| WORTH | 0.03 | measured: [2]. At .02 strata of SEX at epsilon = .3 were made one, where means |
|  |  | were .046 off for .020; strata apart at .03 erred at most 1.1 times as much as one model |
| OWN_PAIRS | 0.4 | set |
| INSIDE | quarters | set |
| DEEPER | up to 0.5 | measured: [4], means of table 85 .057 with .3 at most, .049 with .5 |
| SMALL | 1,000 | set |
| DEPENDENT | 0.5 | measured: [4] on tables 100 to 112, one run, means by the better of none and |
|  |  | alone, `aim` / `mst`: .15 had 1.13 / 1.04, 1 had 1.18 / 1.07, here 1.15 / .99; |
|  |  | and ten strata of which eight have 30 to 100 rows (means by those without strata, |
|  |  | `tests/synth/adaptive/test_borrowing.py`): 1.30, 1.10, here 1.12 |
| AS_COLUMNS | 3 | set |

**What small strata borrow** (`adaptive.borrowing`, `adaptive.strata_sizes`)

| name | value | chosen by |
|---|---|---|
| GAP | 0.1 | set: about the L1 distance from independence of a pair that is worth a place |
| OWN | 0.2 | set |
| AS_STRATA | 1 | set |

**How far tables are moved towards what is expected** (`inference.shrinkage`)

| name | value | chosen by |
|---|---|---|
| SCALES, LIKELY | .001 … 10 | set: strata are a twentieth off their prior, within a factor of 3 |
| AS_CELLS | 20 | set |
| AS_MOMENTS | 1 | set: a stratum has a mean level for each column, far fewer than cells |
| EMPTY | 0.2 | set |
| KEPT | 0.1 | set |

1. `python examples/papers/synth/run.py`
2. `python tests/bench/strata.py --methods mst --epsilons 0.3 1 5`
3. seven tables of `python tests/bench/synth.py --all-tables --rows 10000 --methods aim`, two or
   three runs, beside .03 and 1 / 3: errors of 1 column .97, .94 and .96 of those at epsilon 1, .3
   and .1, of 2 columns 1.00, .98 and .98, the same AUC. .015 and .6 had .90, .91 and .93 of 1
   column, .98, .99 and .96 of 2, but an AUC of .61 for .66 at .1
4. `python tests/bench/strata.py --random 60 71 --runs 2 --methods aim`, and 80 to 87
"""

from __future__ import annotations

import numpy as np

STRATA_APART, POWER = 0.005, 0.7
"""How far strata are from what a good model of the population says of a pair of their columns, as a
share of their rows, and how the population's share falls with the noise."""
LEAST, MOST = 0.2, 0.95
"""The population's share of a price."""
SHARE_STEPS = 20
"""Shares are twentieths."""
ROUNDS = 8
"""About how many rounds a stratum plays."""
TIMES = 5.0
"""How many standard deviations of a round's noise a stratum must have in rows to take part."""
SIZES = 0.02
"""Of the price, for the strata's sizes."""
LOOK = 0.07
"""For a look at one-way marginals inside strata, where all are one model or are pooled."""
WORTH = 0.03
"""The part of a pair's table, in total variation, that strata have of their own and one model of
everybody misses."""
OWN_PAIRS = 0.4
"""The part of a column's distance between strata that one model of everybody misses of a pair,
where strata are many."""
TOLERATED_NOISE = 0.02
"""The total variation of the noise in one-way marginals that AIM's rounds begin with."""
MOST_ONE_WAYS = 0.5
"""Of the price, what all one-way marginals may cost together."""
INSIDE = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Parts of a method's own one-way marginals that may be spent inside strata."""
DEEPER = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""What may be spent on one-way marginals inside strata beside the method's own, of its price."""
AS_COLUMNS = 3.0
"""How many columns the expectation of how far strata are apart weighs."""
SMALL = 1_000
"""Nanos of a price of which nothing is spent so: the answer would be noise."""
DEPENDENT = 0.5
"""The total variation of the pairs of columns that are worth measuring from independent ones."""
GAP = 0.1
"""What tells the best candidate from an ordinary one, as a share of a stratum's rows."""
OWN = 0.2
"""A level is its stratum's own, and merged where it is rare, if it has kept this part of what it
was measured to be away from what is borrowed."""
AS_STRATA = 1.0
"""How many strata the expectation weighs that all scales are alike."""
SCALES = np.array([0.001, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 10.0])
LIKELY = np.exp(-0.5 * (np.log(SCALES / 0.05) / 1.2) ** 2)
"""How far strata may be off their prior, and the scales that are expected beforehand."""
AS_MOMENTS = 1.0
"""How many mean levels that expectation weighs, where there is one for each column and no more."""
AS_CELLS = 20.0
"""How many cells that expectation weighs."""
EMPTY = 0.2
"""The part of a mean cell nearby by which a cell of any expectation may be off at scale 1."""
KEPT = 0.1
"""What is left at least of a shrunk table's variance, as a share of its noise's."""
