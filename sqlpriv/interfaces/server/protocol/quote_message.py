"""A statement's price over the network: the action `sqlpriv.Quote`, whose answer is JSON.

Flight SQL has no call for it. The request is the command that would run the statement.
"""

from __future__ import annotations

import json

from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho
from sqlpriv.session.session import Charge, Quote

ACTION = "sqlpriv.Quote"
_KINDS: dict[str, type[Price]] = {kind.kind: kind for kind in (Rho, Epsilon)}


def to_bytes(quote: Quote) -> bytes:
    """Returns a quote as it is sent; amounts are whole billionths, so that nothing is rounded.

    >>> amounts = Rho(5), Rho(10**9)
    >>> quote = Quote((Charge("people", *amounts, 1e-9),), {"n": 3.5})
    >>> from_bytes(to_bytes(quote)) == quote
    True
    """
    charges = [
        {
            "unit_table": charge.unit_table,
            "kind": charge.price.kind,
            "price_nano": charge.price.nano,
            "left_nano": charge.left.nano,
            "delta": charge.delta,
        }
        for charge in quote.charges
    ]
    return json.dumps({"charges": charges, "errors": dict(quote.expected_errors)}).encode()


def from_bytes(data: bytes) -> Quote:
    """Returns the quote that was sent."""
    message = json.loads(data)
    charges = []
    for row in message["charges"]:
        amount = _KINDS[row["kind"]]
        price, left = amount(row["price_nano"]), amount(row["left_nano"])
        charges.append(Charge(row["unit_table"], price, left, row["delta"]))
    return Quote(tuple(charges), message["errors"])
