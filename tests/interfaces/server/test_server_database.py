"""What servers of one vault keep in PostgreSQL: users, sessions and statements."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support.places import ROOT

from sqlpriv.errors import InterfaceError, OperationalError, PermissionDenied
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.sessions import Client
from sqlpriv.interfaces.server.shared.server_database import ServerDatabase
from sqlpriv.interfaces.server.shared.shared_sessions import (
    MOST_SESSIONS,
    SharedHandles,
    SharedSessions,
)
from sqlpriv.interfaces.server.shared.statement_handles import MOST_STATEMENTS, Statement
from sqlpriv.interfaces.server.users_file import users_path
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.session.commands.ledger_place import write_pointer


class FakeSession:
    """Settings, and nothing to run with them."""

    def __init__(self):
        self.dialect, self.settings = "duckdb", {}

    def restore(self, dialect, settings):
        self.dialect, self.settings = dialect, settings

    def close(self):
        pass


def client_of(name, shared=None):
    return Client(users.User(1, "ada", "analyst"), FakeSession(), "here", name, shared)


@pytest.fixture
def database(url):
    with closing(ServerDatabase(url)) as opened:
        yield opened


@pytest.fixture
def vault(tmp_path: Path, url: str) -> Path:
    """A vault's name, whose ledger is in PostgreSQL."""
    write_pointer(tmp_path / "people.ledger", url)
    return tmp_path / "people.duckdb"


def test_a_session_is_followed_until_it_ends(database):
    shared = SharedSessions(database)
    here, there = client_of("s", shared), client_of("s", shared)
    here.row = shared.begin(1, "s", here.session)
    there.row = shared.find(1, "s")
    here.session.settings = {"privacy_epsilon": 0.5}
    here.keep_settings()
    there.load_settings()
    assert there.session.settings == {"privacy_epsilon": 0.5}
    assert shared.find(2, "s") is None
    database.execute("UPDATE session SET last_used = now() - interval '29 minutes'")
    assert shared.find(1, "s") is not None
    assert shared.find(1, "s").version == 1
    database.execute("UPDATE session SET last_used = now() - interval '31 minutes'")
    with pytest.raises(InterfaceError, match="has ended"):
        there.load_settings()
    shared.begin(1, "another", FakeSession())
    assert database.execute("SELECT name FROM session").fetchall() == [("another",)]


def test_a_user_has_so_many_sessions_and_a_session_so_many_statements(database):
    shared, handles = SharedSessions(database), SharedHandles(database)
    for number in range(MOST_SESSIONS + 2):
        shared.begin(1, str(number), FakeSession())
    (count,) = database.execute("SELECT count(*) FROM session").fetchone()
    assert count == MOST_SESSIONS
    newest = str(MOST_SESSIONS + 1)
    for number in range(MOST_STATEMENTS + 2):
        handles.keep(1, newest, number.to_bytes(16), Statement(f"SELECT {number}"))
    with pytest.raises(InterfaceError, match="no such statement"):
        handles.find(1, (1).to_bytes(16))
    assert handles.find(1, (2).to_bytes(16)) == (newest, Statement("SELECT 2"))
    shared.end(1, newest)
    assert database.execute("SELECT count(*) FROM handle").fetchone() == (0,)


def test_a_lost_connection_is_made_again(database):
    database.execute("SELECT 1")
    with pytest.raises(OperationalError, match="cannot be used just now"):
        database.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert database.execute("SELECT key FROM common").fetchone() == (database.key,)


def test_the_first_takes_its_users_over_and_another_file_counts_no_more(vault, url):
    pointer = vault.with_suffix(".ledger")
    pointer.unlink()
    secret = users.add_user(vault, "ada", "analyst", "test")
    users.add_user(vault, "bob", "analyst", "test")
    users.remove_user(vault, "bob", "test")
    write_pointer(pointer, url)
    assert [user.name for user in users.list_users(vault)] == ["ada"]
    assert [path.name for path in vault.parent.glob("*.users*")] == ["people.users.moved"]
    users_path(vault).write_bytes(users_path(vault).with_name("people.users.moved").read_bytes())
    users.add_user(vault, "carl", "owner", "test")
    assert {user.name: user.id for user in users.list_users(vault)} == {"ada": 1, "carl": 4}
    assert users_path(vault).exists()
    with closing(users.Doorkeeper(vault)) as keeper:
        assert keeper.bearer(f"ada.{secret}").name == "ada"
        for stranger in ("a\0da", "nobody", "ada' OR 1"):
            with pytest.raises(PermissionDenied):
                keeper.user(stranger, secret)
    users.remove_user(vault, "ada", "test")
    with closing(users.Doorkeeper(vault)) as keeper, pytest.raises(PermissionDenied):
        keeper.bearer(f"ada.{secret}")


def test_names_that_nobody_has_look_the_same_at_every_server(vault, url):
    with closing(ServerDatabase(url)) as one, closing(ServerDatabase(url)) as two:
        keepers = [users.Doorkeeper(vault, each.key) for each in (one, two)]
        salts = {keeper.scram_verifier("nobody")[1].salt for keeper in keepers}
        for keeper in keepers:
            keeper.close()
    assert len(salts) == 1


def recipe():
    """Returns the statements that docs/how-to/operations.md gives a server's login."""
    text = (ROOT / "docs" / "how-to" / "operations.md").read_text()
    block = text.partition("CREATE ROLE seller")[2].partition("```")[0]
    lines = ("CREATE ROLE seller" + block).replace("PASSWORD '…'", "").splitlines()
    return "\n".join(line.partition("--")[0] for line in lines)


def test_a_servers_login_needs_what_the_page_grants(vault, url):
    """Without it the message says so; with it sessions and prices of the day are kept, and nobody
    is let in by it."""
    Ledger(vault.with_suffix(".ledger")).close()
    seller = f"postgresql://seller@{url.partition('@')[2]}"
    with psycopg.connect(url, autocommit=True) as db:
        try:
            db.execute("CREATE ROLE seller LOGIN")
            with pytest.raises(OperationalError, match="let the owner's login run"):
                ServerDatabase(seller)
            users.list_users(vault)
            with pytest.raises(OperationalError, match="let the owner's login run"):
                ServerDatabase(seller)
            db.execute(recipe().replace("CREATE ROLE seller LOGIN ;", "").encode())
            with closing(ServerDatabase(seller)) as database:
                SharedSessions(database).begin(1, "s", FakeSession())
                SharedHandles(database).keep(1, "s", bytes(16), Statement("SELECT 1"))
                assert SharedHandles(database).find(1, bytes(16), once=True)[0] == "s"
                database.execute("INSERT INTO day_price VALUES ('2026-01-01', 'a', 't', 'pure', 1)")
                with pytest.raises(OperationalError, match="may not use"):
                    database.execute("DELETE FROM login")
                with pytest.raises(OperationalError, match="may not use"):
                    database.execute("UPDATE common SET version = 2")
        finally:
            db.execute("DROP OWNED BY seller; DROP ROLE seller")
