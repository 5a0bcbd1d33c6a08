"""A ledger in a file, and one in PostgreSQL, where a server is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support import postgres_server

from sqlpriv.kernel.ledger.database import NAME
from sqlpriv.kernel.ledger.pointer import write_pointer
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server of this test run's own."""
    if postgres_server.FOUND is None:
        pytest.skip("no PostgreSQL server is installed")
    with postgres_server.serving() as uri:
        yield uri


@pytest.fixture
def url(server: str) -> str:
    """The URL of a database without a ledger."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {NAME} CASCADE")
    return server.replace("bi:secret@", "bi@")


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
