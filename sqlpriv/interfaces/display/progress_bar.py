"""A progress bar on stderr for what takes longer than a moment: synthesis, mostly."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sqlpriv.session.session import Progress

Report = Callable[[Progress], None]


@contextmanager
def reporting(console: Console | None = None) -> Iterator[Report]:
    """Yields what `Session.execute` may call with its progress; the bar is gone afterwards.

    Stages are public facts (which step, how many strata), so the bar tells nothing about data but
    the time that work on it takes, which the caller could measure. Where stderr is no terminal
    nothing is shown.
    """
    console = console or Console(file=sys.stderr)
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[expected]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task: list[TaskID] = []
    pace = Pace()

    def report(progress: Progress) -> None:
        if not task:  # shown from the first report on: short statements show no bar at all
            task.append(bar.add_task(progress.stage, total=progress.of, expected=""))
            bar.start()
        bar.update(
            task[0],
            description=progress.stage,
            completed=progress.done,
            total=progress.of,
            expected=pace.estimate_rest(progress),
        )

    try:
        yield report
    finally:
        bar.stop()


@dataclass
class Pace:
    """How fast a stage goes, and so how long the rest of it will take.

    Args:
        clock: Seconds; monotonic.
    """

    clock: Callable[[], float] = time.monotonic
    _stage: str = ""
    _begun: float = 0.0
    _first: int = 0

    def estimate_rest(self, progress: Progress) -> str:
        """Returns `about 12 s left of this stage`, or '' while there is nothing to go by."""
        now = self.clock()
        if progress.stage != self._stage:
            self._stage, self._begun, self._first = progress.stage, now, progress.done
        steps = progress.done - self._first
        if steps <= 0 or progress.done >= progress.of:
            return ""
        rest = (now - self._begun) / steps * (progress.of - progress.done)
        return f"about {_spell(rest)} left of this stage"


def _spell(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
