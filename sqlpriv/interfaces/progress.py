"""A progress bar on stderr for what takes longer than a moment: synthesis, mostly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sqlpriv.session import Progress

Report = Callable[[Progress], None]


@contextmanager
def reporting(console: Console | None = None) -> Iterator[Report]:
    """Yields what `Session.execute` may call with its progress; the bar is gone afterwards.

    Stages are public facts (which step, how many strata), so the bar tells nothing about data.
    Where stderr is no terminal nothing is shown.
    """
    console = console or Console(file=sys.stderr)
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task: list[TaskID] = []

    def report(progress: Progress) -> None:
        if not task:  # shown from the first report on: short statements show no bar at all
            task.append(bar.add_task(progress.stage, total=progress.of))
            bar.start()
        bar.update(task[0], description=progress.stage, completed=progress.done, total=progress.of)

    try:
        yield report
    finally:
        bar.stop()
