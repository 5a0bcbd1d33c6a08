"""A vault with two released tables, and a PostgreSQL server."""

import pytest
from support import postgres_server
from support.released_tables import ODD, release


@pytest.fixture
def vault(tmp_path):
    """The path of a vault that need not exist: publishing opens its release file alone."""
    path = tmp_path / "people.duckdb"
    release(path)
    release(path, 3, name=ODD)
    return path


@pytest.fixture(scope="session")
def postgresql():
    """The URI of a server of our own; skips where none is installed."""
    pytest.importorskip("adbc_driver_postgresql")
    if postgres_server.FOUND is None:
        pytest.skip("no PostgreSQL server is installed here")
    with postgres_server.serving() as uri:
        yield uri


@pytest.fixture
def uri(postgresql):
    """The server, without the tables of the test before."""
    postgres_server.run(postgresql, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return postgresql
