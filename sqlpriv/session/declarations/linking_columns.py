"""Which columns a link is of: what tells one link of a table from another."""

from __future__ import annotations

from sqlpriv.kernel.terms.contract import Link
from sqlpriv.statements.declarations import AddPrivacyLink


def linking_columns(link: Link | AddPrivacyLink) -> frozenset[str]:
    """Returns the columns of a link's own table, in lower case.

    >>> sorted(linking_columns(Link("Year", "homes", "year", (("Home", "number"),))))
    ['home', 'year']
    """
    return frozenset(mine.lower() for mine, _ in link.pairs)
