"""What a ledger holds, as its rows."""

from __future__ import annotations

from typing import Any

from sqlpriv.kernel.ledger.records import Ledger


def releases(ledger: Ledger) -> list[dict[str, Any]]:
    """Returns every sealed answer, oldest first, with the columns of the view `release`."""
    with ledger.begin() as db:
        found = db.execute("SELECT * FROM release")
        return [{c[0]: x for c, x in zip(found.description, row, strict=True)} for row in found]
