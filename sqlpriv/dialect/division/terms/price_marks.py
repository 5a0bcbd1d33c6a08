"""The price and the WITH that hold for a query inside another, wherever it is put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sqlpriv.dialect.clauses import Clauses
from sqlpriv.dialect.common_tables import with_of_used
from sqlpriv.dialect.marks import clauses_mark, duckdb_text, outputs_of

PRICE = "price"
"""Of a SELECT, in its `meta`: the mark of its price."""


def price_mark(place: exp.Expr, clauses: Mapping[str, Clauses]) -> str:
    """Returns the mark of the price that holds for a query; '' where none is written.

    It is the query's own, or that of the SELECT around it; the first SELECT of a UNION has the
    price of all of them.
    """
    node: exp.Expr | None = place
    inside: exp.Expr | None = None
    while node is not None:
        first = node
        if not isinstance(node, exp.SetOperation) or node.this is not inside:  # else looked at
            while isinstance(first, exp.SetOperation):
                first = first.this
            first = first.unnest() if isinstance(first, exp.Subquery) else first
            if isinstance(first, exp.Select) and first.expressions:
                mark = clauses_mark(first)
                if mark and clauses[mark].is_priced:
                    return mark
        node, inside = node.parent, node
    return ""


def query_key(written: exp.Select, clauses: Mapping[str, Clauses]) -> str:
    """Returns a text that two spellings of one query share, and two queries do not."""
    marks = filter(None, map(clauses_mark, written.find_all(exp.Select)))
    own = [clauses[mark] for mark in marks]
    contents = [(x.options, list(map(duckdb_text, x.columns)), x.weights) for x in own]
    return f"{duckdb_text(written)} {contents}"


def price_at(place: exp.Expr | None) -> str:
    """Returns the mark of the price that holds at a place; '' where none is written."""
    while place is not None and PRICE not in place.meta:
        place = place.parent
    return "" if place is None else str(place.meta[PRICE])


def with_surroundings(
    place: exp.Expr, private: exp.Select, clauses: dict[str, Clauses]
) -> tuple[exp.Select, str]:
    """Returns a query with the price and the WITH that hold at a place, and the price's mark;
    clauses that it needs are added to those of the statement."""
    written = private.copy()
    price = price_at(place)
    own = clauses.get(clauses_mark(written))
    if price and (own is None or not own.is_priced):
        around = clauses[price]
        both = replace(own or Clauses(around.select), is_priced=True, options=around.options)
        mark = f"{both.mark} {price}"
        clauses[mark] = both
        written.set("expressions", [exp.column(mark), *outputs_of(written)])
    written.set("with_", with_of_used(place, private))
    return written, price
