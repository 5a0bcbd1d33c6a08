"""How long private reads are delayed in tests: not at all, but where a test is about the delay."""

from __future__ import annotations

from sqlpriv.kernel.proof import delay

WIDTH = delay.WIDTH
"""Seconds for each scan, as outside of the tests: see the fixture `delayed`."""


def end_reads_at_once() -> None:
    """Has reads of this process end when they end.

    The delay is the thread's own work, 1 ms for each scan: 6 % of the tests' processor time, in
    which nothing was tested. What is read, and what is answered, is the same without it.
    """
    delay.WIDTH = 0.0
