"""`CREATE SYNTHETIC TABLE … AS SELECT …` read against the contract, for the synthesizers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlpriv.kernel.terms.budget import Budget, Price
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.aggregates.estimators import read_statement_options
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, require_unit, statement_price
from sqlpriv.plan.pricing.tuned_constants import SELECTIONS
from sqlpriv.plan.relations.contribution_bound import bound_contributions
from sqlpriv.plan.synthetic.difference_columns import (
    Difference,
    read_constraints,
    with_differences,
    with_domains,
)
from sqlpriv.plan.synthetic.synthetic_columns import SyntheticColumns, read_columns
from sqlpriv.plan.synthetic.undeclared_columns import Undeclared
from sqlpriv.statements import alter_text
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

BY_THRESHOLD = "stability"
"""The method that finds values by itself: it takes columns without a public list of them."""
BOUNDS = ("max_rows_contributed", "max_groups_contributed")
"""Options by which fewer rows of a unit count than its owner allows."""


@dataclass(frozen=True)
class SyntheticPlan:
    """What a synthesizer is asked for.

    Args:
        name: Of the synthetic table.
        method: Of synthesis, lower case.
        read: Its columns, strata and rows. Strata that are not selected come before the columns in
            the table: the rows of a stratum say which stratum they are of.
        price: What it may spend.
        options: Those that are not the price; the synthesizer reads and checks them.
        weights: The public table of WEIGHTS FROM, or ''.
        yocto: Of the budget's delta for keys, in 1e-24: what a threshold may spend; 0 where the
            method has none.
        differences: Columns of `read` that are differences; see `difference_columns`.
    """

    name: str
    method: str
    read: SyntheticColumns
    price: Price
    options: tuple[tuple[str, Value], ...]
    weights: str = ""
    yocto: int = 0
    differences: tuple[Difference, ...] = ()


def plan_synthetic(
    statement: cmd.CreateSynthetic,
    contract: TableContract,
    budget: Budget,
    session_epsilon: float | None,
    price: Price | None = None,
) -> SyntheticPlan:
    """Returns the validated request.

    Args:
        statement: As read.
        contract: Of its table.
        budget: Of the table's privacy unit.
        session_epsilon: `SET privacy_epsilon`, or None.
        price: What it may spend; None where the statement or the session says it.

    Raises:
        Refused: A column without a domain, no price, or more rows of a unit than its owner allows.
    """
    select = statement.select
    require_unit(contract, statement.pos)
    options = (*select.options, *statement.options)
    price = price or statement_price(
        options,
        budget,
        session_epsilon,
        statement.pos,
        f"USING {statement.method} OPTIONS (epsilon = 1)",
    )
    yocto = _threshold_delta(budget, statement) if statement.method == BY_THRESHOLD else 0
    made_up = made_up_columns(dict(options).get("patterns"))
    undeclared = Undeclared(made_up, yocto > 0)
    read = read_columns(select, contract, undeclared)
    differences: tuple[Difference, ...] = ()
    if constraints := read_constraints(dict(options).get("constraints")):
        rewritten, differences = with_differences(select, read, constraints)
        left_out = read.left_out
        read = with_domains(read_columns(rewritten, contract, undeclared), constraints)
        read = replace(read, left_out=left_out)
    bounds = read_statement_options(
        tuple((name, value) for name, value in options if name in BOUNDS), statement.pos
    )
    if bounds.choose_rows:
        raise refuse(
            t.Literal(None, statement.pos),
            "max_rows_contributed = auto is of one SELECT; a synthetic table has a number",
            "write max_rows_contributed = 5",
        )
    rows = bound_contributions(read.rows, contract, bounds, statement.pos)
    read = replace(read, rows=rows)
    options = tuple((n, value) for n, value in options if n not in (*KNOWN_OPTIONS, *BOUNDS))
    weights = select.stratify.weights if select.stratify else ""
    return SyntheticPlan(
        statement.name, statement.method, read, price, options, weights, yocto, differences
    )


def _threshold_delta(budget: Budget, statement: cmd.CreateSynthetic) -> int:
    """Returns what one selection takes of the budget's delta for keys, as of a SELECT's."""
    if budget.keys >= SELECTIONS:
        return budget.keys // SELECTIONS
    table = budget.unit_table
    raise refuse(
        t.Literal(None, statement.pos),
        f"{BY_THRESHOLD} finds values by a threshold, for which the budget has no keys_delta",
        f"the owner runs {alter_text(table)} SET PRIVACY BUDGET (…, keys_delta = 1e-7)",
    )


def made_up_columns(patterns: Value) -> frozenset[str]:
    """Returns the columns that `OPTIONS (patterns = …)` names, lower case.

    >>> sorted(made_up_columns("plate = AA-###; Phone = 0## ####"))
    ['phone', 'plate']
    """
    parts = patterns.split(";") if isinstance(patterns, str) else ()
    return frozenset(part.partition("=")[0].strip().strip('"').lower() for part in parts)
