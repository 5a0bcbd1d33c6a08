"""Inference engines by name. mbi, and with it JAX, is imported when it is asked for, not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlpriv.synth import least_squares
from sqlpriv.synth.tree import Problem, TreeModel

Engine = Callable[[Problem], TreeModel]


def numpy_engine(problem: Problem) -> TreeModel:
    """Returns the model of `least_squares.estimate`."""
    return least_squares.estimate(problem)


def mbi_engine(problem: Problem) -> TreeModel:
    """Returns the model that mbi estimates; compiles for each new tree (1 to 4 s)."""
    from sqlpriv.synth import mbi_tree  # imports JAX

    return mbi_tree.estimate(problem)


ENGINES: Mapping[str, Engine] = {"numpy": numpy_engine, "mbi": mbi_engine}
