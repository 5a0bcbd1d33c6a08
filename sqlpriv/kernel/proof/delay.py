"""A random delay after a private read.

**Claim.** Where the presence of one unit changes the time of a read by at most d, and nothing else
about it, whoever learns from when the answer comes, or from the processor's time, guesses presence
right with probability at most 1/2 + d / (2 w), where the read's delay is uniform on [0, w]. A new
guess needs a new read, which is charged; a replay reads nothing and is not delayed.

**Proof.** The times with and without the unit are one distribution and that distribution moved by
d; uniform distributions of width w that are moved by d have a distance in total variation of d / w,
adding an independent time makes it no larger, and a guess is right with probability at most a half
more than a half of that. (Ratliff and Vadhan, "A Framework for Differential Privacy Against Timing
Attacks", 2024, arXiv 2409.05623: a program whose time is stable, and a delay.)

That d is small is measured, not proved: `unit_rows` bounds the work of one unit, and
`tests/attacks/test_time.py` the time.
"""

import time
from contextlib import AbstractContextManager
from secrets import SystemRandom

WIDTH = 0.002
"""Seconds for each scan of a private table. One unit changes the time of a scan, and of what takes
its rows, by about 0.06 ms, by 0.2 ms where it is hashed: see Known limits in kernel/README.md."""
RANKED = 3
"""How many scans one scan counts as where units may exceed their bound. Counting, looking up and
ranking the rows of such a unit changes the time by 0.4 to 0.5 ms a scan."""
OPERATIONS = 200
"""How many operations of row expressions count as one scan. Where a filter passes one row, the
engine computes all that stands behind the filter for that row, at 0.5 to 1 µs an operation: 3,000
terms `exp(x + i) = -1` took 29 ms longer where the named unit was there (medians, on a busy
machine). `WRITTEN` says how the statement's text, which is public, tells how many there may be."""
WRITTEN = ("(", "WHEN", "', ", '", ', "e, ", " OR ", " AND ")
"""What operations write: each function and number a bracket, each branch of a CASE the word WHEN,
and each further item of a list or chain what stands between them: behind a text or a moment, a
column, true or false, or a predicate. `IN` compares a row's value with item after item, 0.46 µs
each: 3,000 listed texts behind `WHERE id = 42` took 1.4 ms for the row that was there, and the
delay did not grow. Besides, 100 letters count as one operation, because a table of numbers (`Pick`)
has none of these signs: 30,000 of them took 0.48 ms."""


class Delay(AbstractContextManager["Delay"]):
    """Ends later than what it encloses, by a time drawn from [0, `WIDTH` × `scans`] seconds,
    whether that succeeds or fails. `scans` is set before rows are read.

    The delay is the thread's own work, so that a clock of the processor shows it, too.
    """

    scans = 0

    def __exit__(self, *_: object) -> None:
        end = time.thread_time() + SystemRandom().uniform(0, WIDTH * self.scans)
        while time.thread_time() < end:
            pass
