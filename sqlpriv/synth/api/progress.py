"""How far a synthesizer has come, for a progress bar. Public facts only (DESIGN rule 10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report: `done` of `of` steps of a stage.

    Args:
        stage: What is being done, for people.
        done: Steps finished.
        of: Steps in all; at least 1.
    """

    stage: str
    done: int
    of: int


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Reports to nobody."""
