"""Refusals that cost nothing."""

from __future__ import annotations

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session


def check_refused_unpaid(session: Session, statement: str, message: str) -> None:
    """Asserts that a statement is refused in these words, a regular expression, and charges
    nothing."""
    before = session.budgets()
    with pytest.raises(Refused, match=message):
        session.execute(statement)
    assert session.budgets() == before
