"""Every number of the planner that was chosen rather than derived, with where it comes from.

None of them concerns privacy: the kernel charges and noises whatever is planned. "Measured" names
the experiment that compared values and its command; "derived" says from what; "a limit" bounds
work, and its figure is what the work costs at the limit.

| constant | what it sets | where it comes from |
|---|---|---|
| HISTOGRAM_SHARE, CELL_SHARE | parts of a clipped mean's price for its histograms | measured: [1] |
| HISTOGRAM_SHARES | what the first of them may take where there are few rows | measured: [7] |
| MOST_LOST | what such a part may cost a mean that needs no clipping | chosen: less than 1.5 |
| COINPRESS_SHARE | part of the price for COINPRESS's rounds but the last | its authors: [2] |
| AUTO_COST | noise of the population's figure under `population_share = auto` | measured: [1] |
| STRATA_LOSE | what everybody's own sum beside the strata's may cost a stratum | set: below |
| MOST_OWN | the most of the price that it takes | a limit |
| LEAST_OWN_GAIN | how many times better it has to make everybody's figure | set |
| UPPER_DECILE, MEDIAN_SPREAD | which spread a mean's error is predicted with | measured: [3] |
| LEAST_GAIN | predicted gain from which AVG(x) is measured in rounds | derived: any; [5] |
| RELIABLE | half the interval that a spread of 1 asks for | derived: 4 σ hold 99.99 % |
| SECTIONS, PARTS, WIDE | bins of the histogram that says where to clip | measured: [1] |
| FINE_SECTIONS, MOST_FOR_FINE | the same in wide domains | measured: [7], 1,000 and 20,000 rows |
| LEVEL | squared error of a choice among levels, that of a count being 1 | derived: [4] |
| SIZE | weight of the count that tells whether a quantile has values | chosen |
| MOST_FOR_SIZE | noise of a histogram's levels for a count of all of its rows | chosen |
| EMPTY | least weight of the count of a sum, which tells whether there is any value | chosen |
| FLOOR, TURNS | precision of the price split | derived: shares move by under 1e-6 |
| STEPS, LEVELS_OF_ALL_CELLS | levels of a quantile's grid | a limit: 4 ms a cell for 2048 of them |
| EXTREME | the ranks of MIN and MAX, in thousandths | chosen: one row in a hundred is told |
| MAX_PICKED | cells with clipping intervals of their own | a limit: they are part of the SQL |
| SELECTIONS, SELECTION_SHARE | parts of the keys' delta and of the price | chosen |
| LEFT_OUT_SHARE | part of the price that tells what a bound leaves out | chosen |
| ROWS_CHOICE_SHARE | part of the price that chooses how many rows of a unit count | measured: [6] |
| MAX_CELLS | cells of a statement | a limit: memory of an answer |
| WORTH_TELLING | cost of strata from which an option is proposed | chosen |

1. `python examples/papers/means/run.py`, parts census and mixture; README.md beside it has tables.
2. Biswas, Dong, Kamath, Ullman (2020), "CoinPress", arXiv:2006.06618: a quarter of the price.
3. `python examples/papers/means/run.py`, part border ("Where the border lies" in its README.md).
4. At ρ = 1 and 95 %, by the formulas of `quantile_method`: a median among 1,000 levels errs by 3.5
   rows of rank, MIN by 6.9, a count by 1.39. The ratios are 2.5 and 5.0; 9 is the square of 3.
5. `python tests/bench/regret.py`: how far `auto` is from the best estimator, shape by shape.
6. `python tests/bench/rows_choice.py`: the errors of COUNT(*) by the share, beside the best bound.
7. `python tests/bench/coverage.py --rows 100 300 --strata 1 18 --using auto`, at 0.15 and at 0.45.
"""

from __future__ import annotations

HISTOGRAM_SHARE, CELL_SHARE = 0.04, 0.06
"""Parts of its price that `quantile` pays for the histogram, and for the cells' own."""
HISTOGRAM_SHARES = (HISTOGRAM_SHARE, 0.08, 0.15, 0.25, 0.45)
"""The histogram's parts of the price, ascending: a larger one where the usual could not show so few
rows. They are few, so that what a mean has paid for can be told from its histogram's price."""
MOST_LOST = 1.45
"""How many times as far the sum may err for want of what the histograms take of its price."""
COINPRESS_SHARE = 0.25
"""The part that COINPRESS pays for all rounds but the last, in equal parts."""
AUTO_COST = 1.09
"""population_share = auto: the population's noise is at most so many times a fresh figure's. Under
zCDP that leaves the strata 16 % of the price: 2.5 times the noise that all of it buys."""
STRATA_LOSE, LEAST_OWN_GAIN = 1.25, 1.1
"""How much longer a stratum's ± may be for everybody's own sum, and how many times less far
everybody's figure then errs at the least. Under zCDP, by strata without end (k → ∞) that agree on
nothing, a stratum errs a = (1 - f)^-1/2 times as far as alone and everybody f^-1/2 times, f being
the own sum's part. The product (f (1 - f))^-1/2 is least, 2, at a = √2; it is 4.2 % more at a =
1.25 and 32 % more at 1.1."""
MOST_OWN = 0.8
"""The most of the price that everybody's own sum takes: more of ρ makes it 12 % better at most."""
UPPER_DECILE, MEDIAN_SPREAD = 0.9, 0.5
"""Ranks among spreads that are log-uniform between one unit of x and that of a uniform x."""
LEAST_GAIN = 1.0
"""How many times the error has to fall, by prediction, for a mean to be measured in rounds."""
RELIABLE = 4.0
"""Half the interval that a spread of 1 asks for."""
MAX_PICKED = 20_000
"""More cells than this have no interval of their own: their bounds are part of the SQL text."""
SECTIONS, FINE_SECTIONS, PARTS, WIDE = 12, 16, 4, 8
"""The histogram's grid reaches down to 2**-SECTIONS of the interval, PARTS bins for each halving:
within a bin values differ by 19 %. WIDE of them are one of a cell's own histogram. An interval of
more than 2**SECTIONS units has FINE_SECTIONS: with 12 there, values of some hundreds in [0, 1e8]
were all in the first bin, nothing told of their tail, and intervals of log-gamma values held .7."""
MOST_FOR_FINE = 0.08
"""The most of the price that a histogram takes which has FINE_SECTIONS. Of fewer rows, spread over
many orders of magnitude, narrow bins hide what wide ones show: with them 1,000 assets erred five
times as far."""
LEVEL = 9.0
"""A choice among some thousand levels errs, in rows of rank, about 3 times as far as a count."""
SIZE = 0.09
"""A hundredth of LEVEL: a tenth of a choice's price under zCDP tells whether there is any value."""
MOST_FOR_SIZE = 1.1
"""How much noisier levels may become for a count of all their rows beside them. That count takes
.022 (zCDP) or .073 (pure) of the price of 2,049 levels, whose sum is then 6.6 or 3.6 times as noisy
as the count."""
EMPTY = 0.01
"""A sum around 0 does not need its count but to be NULL over no rows: a tenth of the noise's share
of the price under zCDP, which makes the sum 5 % as noisy again."""
FLOOR = 1e-6
"""Whatever is measured gets this part, at least, of the largest A_j."""
TURNS = 25
"""Of w and the shares; the largest of them then changes by less than a millionth."""
STEPS = 2048
"""Most levels of a grid: the middle of a cell is within 1 / 4096 of the interval's length. Each is
a candidate of a choice in each cell, which takes time: 4 ms for these many."""
LEVELS_OF_ALL_CELLS = 1_000_000
"""Most levels in all cells together; grids of many cells are coarser."""
EXTREME = 10
"""MIN and MAX are the ranks EXTREME / MAX_RANK and 1 - EXTREME / MAX_RANK."""
SELECTIONS = 100
"""A selection of keys takes this part of the delta that the budget keeps for them."""
SELECTION_SHARE = 4
"""... and this part of the statement's price, which has to find the keys before it counts them."""
LEFT_OUT_SHARE = 20
"""`left_out = true` takes this part of the price: units are counted once, at one row each."""
ROWS_CHOICE_SHARE = 5
"""`max_rows_contributed = auto` takes this part: too little hides heavy units, whose rows are then
left out."""
MAX_CELLS = 100_000
"""Most cells of one statement: strata times groups."""
WORTH_TELLING = 1.1
"""A larger cost of the population's figures comes with the option that brings it down to this."""
