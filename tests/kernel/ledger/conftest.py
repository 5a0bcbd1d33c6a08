"""A ledger in a file, and one in PostgreSQL, where a server is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import write_pointer


@pytest.fixture(params=["file", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where a ledger is to be made."""
    if request.param == "postgresql":
        write_pointer(tmp_path / "people.ledger", request.getfixturevalue("url"))
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(place: Path) -> Iterator[Ledger]:
    """A ledger with a budget of 1,000 nano."""
    with closing(Ledger(place)) as made:
        made.set_budget(Budget("People", Rho(1000), 1e-9), "owner")
        yield made
