"""What a statement about private rows becomes: private queries, and a tail over their answers.

Every form that reads more than one answer is the same thing, a `Program`:

    SELECT COUNT(*) FROM t                      one step, no tail
    … WHERE x > (SELECT AVG(x) FROM t)          the average is a step; its noised answer stands as a
                                                number in the last step; no tail
    … WHERE x IN (SELECT x … HAVING …)          the keys that pass are a step, and then a list
    WITH w AS (private query) SELECT … FROM w   a step for w; the rest is the tail
    windows, QUALIFY, UNION ALL, PIVOT, answers side by side or joined: `dialect.division` finds the
                                                private queries, each a step; the rest is the tail

Steps are answered in order, each charged when it is its turn: what one asks may depend on what
another was answered, which composition allows. The tail is DuckDB's own SQL, run where nothing
private is; it costs nothing. Prices add up: steps that state no price of their own have equal
parts of the one that is written around them, or of the session's.

`compiler` makes programs, `private_steps` plans their steps, `runner` runs and explains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.plan import Plan
from sqlpriv.statements import tree as t


@dataclass(frozen=True)
class PrivateStep:
    """One private query of a statement.

    Args:
        select: The query, at its own price.
        plan: How it is answered; made with any number in the place of what it awaits.
        contract: Of the table whose unit pays.
        schema: The columns of its answer.
        awaits: Subqueries in it that stand for a value, or for a list behind IN → the number of the
            step that gives it.
        name: What the tail calls its answer; '' where no tail reads it.
        is_lasting: It is planned alike until something is written, declared or set.
    """

    select: t.Select
    plan: Plan
    contract: TableContract
    schema: pa.Schema
    awaits: Mapping[t.Subquery | t.InQuery, int] = field(default_factory=dict)
    name: str = ""
    is_lasting: bool = True


@dataclass(frozen=True)
class Tail:
    """Plain SQL over answers.

    Args:
        text: One query of DuckDB's.
        parameters: Its values, by name.
        public: The public tables that it reads.
        levels: Answers that are public whatever the rows are, by name.
        reads_released: Whether it reads released tables, too.
    """

    text: str
    parameters: Mapping[str, object]
    public: tuple[str, ...]
    levels: Mapping[str, pa.Table]
    reads_released: bool


@dataclass(frozen=True)
class Program:
    """A statement in parts; without a tail the last step's rows are the answer.

    Args:
        steps: The private queries, in the order in which they are answered.
        schema: The columns of the answer.
        tail: What is computed of the answers.
    """

    steps: tuple[PrivateStep, ...]
    schema: pa.Schema
    tail: Tail | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether the statement has this program until something is written, declared or set."""
        return all(step.is_lasting for step in self.steps)
