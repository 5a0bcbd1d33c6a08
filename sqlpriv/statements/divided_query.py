"""A statement in parts: private queries, and a tail over their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlpriv.errors import Refused
from sqlpriv.statements.tree import Select


@dataclass(frozen=True)
class PrivateQuery:
    """A query that is answered under the budget.

    Args:
        name: What its answer is called in the tail.
        select: The query.
        price: The mark of the price that is written for it; queries of one mark share that price.
        keys_alone: Nothing but its keys is used.
    """

    name: str
    select: Select
    price: str
    keys_alone: bool


Attempt = Callable[[PrivateQuery], Refused | None]
"""Says why a query cannot be answered privately; None where it can."""


@dataclass(frozen=True)
class Division:
    """A statement in parts.

    Args:
        queries: The private queries, in the order in which the tail was read.
        tail: Plain SQL over their answers.
        parameters: Values for the tail, by name.
        tables: Stored tables that the tail reads besides the answers, in lower case.
    """

    queries: tuple[PrivateQuery, ...]
    tail: str
    parameters: Mapping[str, object]
    tables: tuple[str, ...]
