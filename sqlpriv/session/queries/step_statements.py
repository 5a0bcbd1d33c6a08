"""The statements of a program's steps: cut out of the one that was written, each at its price."""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.session.queries.program import PrivateStep
from sqlpriv.session.queries.public_subqueries import ONE_AGGREGATE, ONE_VALUE
from sqlpriv.statements import tree as t


def with_price_share(select: t.Select, price: Price | None, parts: int) -> t.Select:
    """Returns the statement with one of so many equal parts of a price; None leaves it as it is."""
    if price is None:
        return select
    name = "rho" if isinstance(price, Rho) else "epsilon"
    share = type(price)(price.nano // parts)
    rest = tuple(option for option in select.options if option[0] not in ("epsilon", "rho"))
    return replace(select, options=(*rest, (name, share.value)), private=True)


def with_output_names(select: t.Select) -> t.Select:
    """Returns the statement with a name for every output: values are put into them later."""
    items = [replace(item, alias=item.alias or item.text) for item in select.items]
    return replace(select, items=tuple(items))


def shift_awaited(step: PrivateStep, by: int) -> PrivateStep:
    """Returns a step that stands that many places further on."""
    return replace(step, awaits={part: at + by for part, at in step.awaits.items()})


def scalar_as_statement(part: t.Subquery) -> t.Select:
    """Returns a private scalar subquery as a statement.

    Raises:
        Refused: It is no SELECT of one value.
    """
    query = part.query
    grouped = isinstance(query, t.Select) and (query.group_by or query.group_all or query.sets)
    if not isinstance(query, t.Select) or len(query.items) != 1 or grouped:
        raise Refused.at(part.pos, ONE_VALUE, ONE_AGGREGATE)
    return replace(query, text=part.text)
