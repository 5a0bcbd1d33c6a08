"""Rows with a value that is not declared: left out, or kept as NULL or 'other'.

A column's list may not hold every value that rows have, and a column may have NULLs that its domain
does not. With `outside = drop` such a row is in no measurement. With `outside = other` the value
becomes 'other' in columns of text and NULL in the others, with `outside = null` NULL everywhere: a
level more in each column, whose noised count tells how many rows that is, and every row takes part.
Columns of STRATIFY BY stay as declared.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Categories, Type
from sqlpriv.synth.domain.domain import Attribute, Domain, source_of

OTHER = "other"


def keep_outside(attribute: Attribute, outside: str) -> Attribute:
    """Returns the column with a level for values that are not declared.

    Args:
        attribute: As declared.
        outside: "drop", "null" or "other"; "drop" leaves the column as it is.
    """
    values, column = attribute.key.values, attribute.column
    if outside == "drop":
        return attribute
    if not isinstance(column.domain, Categories):
        levels = values if None in values else (*values, None)
        return replace(attribute, key=a.Key(attribute.key.expr, levels))
    kind = column.type or Type.TEXT
    level = OTHER if outside == "other" and kind is Type.TEXT else None
    inside: a.Expr = a.In(attribute.key.expr, tuple(v for v in values if v is not None))
    if level is not None and None in values:  # NULL is declared: it stays NULL
        inside = a.Call("or", (inside, a.Call("is null", (attribute.key.expr,))))
    expr = a.Case(((inside, attribute.key.expr),), a.Lit(level, kind))
    levels = values if level in values else (*values, level)
    return replace(attribute, key=a.Key(expr, levels))


def keep_rows(domain: Domain, outside: str, base: a.Relation) -> Domain:
    """Returns the domain in which rows with undeclared values take part as `outside` says; `base`
    are all rows that the statement is about."""
    attributes = tuple(keep_outside(x, outside) for x in domain.attributes)
    return replace(
        domain, attributes=attributes, source=source_of(base, (*domain.strata, *attributes))
    )
