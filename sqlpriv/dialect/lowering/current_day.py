"""CURRENT_DATE, and NOW() where only its day counts.

The day is read into the statement as a literal. A statement with CURRENT_DATE is therefore another
question each day, and is paid for once a day. With NOW() it would be another question at each
moment, and never free: NOW() is read only where it is cut down to days or longer units.
"""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.marks import function_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words

NOW_CALLS = words("now get_current_timestamp transaction_timestamp current_localtimestamp")
DAY_UNITS = words("day week month quarter year decade century millennium")
"""Units of DATE_TRUNC and of intervals that do not look at the time of day."""


def lower_current_date(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads CURRENT_DATE as the day on which the statement is read, where this program runs."""
    return t.Literal(dt.date.today(), lowering.token(node).pos)


def cut_now(args: list[Glot]) -> list[Glot]:
    """Returns the arguments of DATE_TRUNC with CURRENT_DATE for a `now()` of which only the day
    counts: `date_trunc('month', now() - INTERVAL 30 DAY)`. Others are returned as they are."""
    if (
        len(args) != 2
        or not isinstance(args[0], exp.Literal)
        or args[0].name.lower() not in DAY_UNITS
    ):
        return args
    moment = day_of_now(args[1])
    return args if moment is None else [args[0], moment]


def day_of_now(moment: Glot) -> Glot | None:
    """Returns `now()`, moved by whole days, with CURRENT_DATE in its place; None for other moments.

    Metabase writes `CAST(NOW() AS timestamp) + INTERVAL '-30 day'`, of which this makes
    `CAST(CURRENT_DATE AS date) + INTERVAL '-30 day'`.
    """
    moment = moment.copy()
    within = moment
    while isinstance(within, exp.Paren | exp.Add | exp.Sub | exp.Cast):
        if isinstance(within, exp.Cast):
            if not within.to.is_type(*exp.DataType.TEMPORAL_TYPES):
                return None
            within.set("to", exp.DataType.build("DATE"))
        elif not isinstance(within, exp.Paren):
            within.set("expression", within.expression.unnest())
            if not _is_of_days(within.expression):
                return None
        within = within.this
    if not is_now(within):
        return None
    today = exp.CurrentDate()
    today.meta.update(within.meta)
    while isinstance(within.parent, exp.Cast):
        within = within.parent
    if within is moment:
        return today
    within.replace(today)
    return moment


def is_now(node: Glot) -> bool:
    """Returns whether a node is the moment at which a statement is read: `now()`."""
    if isinstance(node, exp.Paren):
        return is_now(node.this)
    is_call = function_name(node) in NOW_CALLS and not node.expressions
    return is_call or (isinstance(node, exp.CurrentTimestamp) and not node.args.get("this"))


def _is_of_days(moved_by: Glot) -> bool:
    """Returns whether a span is of whole days or more."""
    if not isinstance(moved_by, exp.Interval):
        return False
    unit, size = moved_by.args.get("unit"), moved_by.this
    size = size.this if isinstance(size, exp.Neg) else size
    text = str(size.this) if isinstance(size, exp.Literal) else ""
    written = [unit.name] if unit else text.split()[1::2]
    return bool(written) and all(word.lower().removesuffix("s") in DAY_UNITS for word in written)
