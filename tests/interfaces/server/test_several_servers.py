"""Two servers of one vault behind one address: whichever answers, a client goes on.

The balancer gives each connection to the next server in turn. `Restless` makes a connection for
every call, so that no two calls that follow one another reach the same server.
"""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from types import SimpleNamespace

import psycopg
import pytest
from click.testing import CliRunner
from interfaces.server.conftest import SETUP
from pyarrow import flight
from support.endless_query import ENDLESS
from support.places import copy_vault
from support.round_robin import RoundRobin

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.interfaces.dbapi import remote_session
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.shared.server_database import NAME, ServerDatabase
from sqlpriv.interfaces.server.spending_rules import SpendingRules
from sqlpriv.session.session import Session

pytestmark = pytest.mark.slow
COUNT = "SELECT COUNT(*) AS n FROM people"


class Restless(remote_session.RemoteSession):
    """A session whose every call goes over a connection of its own."""

    def __init__(self, url, token):
        self._url, self._cookies = url, remote_session._Cookies()
        self._opened = ExitStack()
        super().__init__(url, token)

    @property
    def _flight(self):
        options = [("grpc.use_local_subchannel_pool", 1)]  # else gRPC shares connections
        client = flight.connect(self._url, middleware=[self._cookies], generic_options=options)
        return self._opened.enter_context(closing(client))

    @_flight.setter
    def _flight(self, client):
        client.close()

    def close(self):
        super().close()
        self._opened.close()

    def ask_by_ticket(self, sql):
        """Returns the FlightInfo of a statement."""
        command = flight.FlightDescriptor.for_command(m.wrap("CommandStatementQuery", query=sql))
        return self._flight.get_flight_info(command, self._call)

    def get(self, info):
        """Returns the rows of the ticket."""
        return self._flight.do_get(info.endpoints[0].ticket, self._call).read_all()

    def cancel(self, info):
        """Returns the status that cancelling the ticket's statement has."""
        request = m.message("CancelFlightInfoRequest", m.FLIGHT, info=info.serialize())
        (answer,) = self._act("CancelFlightInfo", request.SerializeToString())
        return m.parse("CancelFlightInfoResult", answer).status


def start_server(vault):
    """Returns a process of `sqlpriv serve`, and its ports of Flight SQL and PostgreSQL.

    Its stderr stays open: the server says more than its ports, and ends where nobody can read it.
    """
    listen = ["--listen", "grpc://127.0.0.1:0", "--postgresql", "127.0.0.1:0", "--exact-times"]
    command = [sys.executable, "-m", "sqlpriv", "serve", str(vault), *listen]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = process.stderr.readline() + process.stderr.readline()
    ports = re.search(r"grpc://127\.0\.0\.1:(\d+).*-p (\d+) ", lines, re.DOTALL)
    assert ports, lines
    return process, int(ports[1]), int(ports[2])


@pytest.fixture(scope="module")
def pair(server, tmp_path_factory):
    """Two servers of copies of one vault, and balancers of both protocols before them."""
    pytest.importorskip("google.protobuf")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(
            f"DROP SCHEMA IF EXISTS sqlpriv_ledger CASCADE; DROP SCHEMA IF EXISTS {NAME} CASCADE"
        )
    folder = tmp_path_factory.mktemp("several")
    first, second = (folder / name / "people.duckdb" for name in "ab")
    first.parent.mkdir()
    second.parent.mkdir()
    with sqlpriv.connect(first, role="owner") as owner:
        owner.execute(SETUP)
        owner.execute(
            "CREATE SYNTHETIC TABLE made AS SELECT sex, income FROM people USING independent"
            " OPTIONS (epsilon = 1, rows = 500)"
        )
    earlier = users.add_user(first, "ada", "analyst", "test")  # before the ledger is moved
    copy_vault(first.parent, second.parent)  # as servers did that shared no users
    result = CliRunner().invoke(main, ["ledger", "move", str(first), "--to", server])
    assert result.exit_code == 0, result.output
    for name in ("people.ledger", "people.release.duckdb"):
        shutil.copy2(first.parent / name, second.parent / name)
    with ExitStack() as stack:
        served = [start_server(vault) for vault in (first, second)]
        processes = [process for process, *_ in served]
        for process in processes:
            stack.callback(process.stderr.close)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        balancers = [RoundRobin([each[i] for each in served]) for i in (1, 2)]
        for balancer in balancers:
            stack.callback(balancer.close)
        yield SimpleNamespace(
            vaults=(first, second),
            processes=processes,
            flight=balancers[0],
            url=f"grpc://127.0.0.1:{balancers[0].port}",
            postgresql=balancers[1],
            token=f"ada.{earlier}",
            database=server,
        )


@pytest.fixture
def restless(pair):
    with Restless(pair.url, pair.token) as session:
        yield session


def spent(pair):
    with Session(pair.vaults[0]) as session:
        return session.execute("SHOW PRIVACY BUDGET").table["epsilon_spent"][0].as_py()


def test_settings_go_along(pair, restless):
    """What was SET at one server is the price at the other."""
    before = spent(pair)
    restless.execute("SET privacy_epsilon = 0.125")
    restless.execute("SET privacy_dialect = 'bigquery'")
    for _ in range(4):
        assert restless.settings == {"privacy_epsilon": 0.125}
        assert restless.dialect == "bigquery"
    assert restless.execute(COUNT).epsilon == 0.125
    restless.execute("RESET privacy_epsilon")
    assert [restless.settings for _ in range(2)] == [{}, {}]
    assert spent(pair) == pytest.approx(before + 0.125)


def test_a_session_that_was_closed_is_closed_at_both(pair):
    with Restless(pair.url, pair.token) as session:
        session.execute("SET privacy_epsilon = 0.25")
        session._act("CloseSession", b"")
        with pytest.raises(sqlpriv.InterfaceError, match="SET it again"):
            session.execute(COUNT)
        assert [session.settings for _ in range(2)] == [{}, {}]


def test_prepared_statements_and_their_values_go_along(restless):
    """Each call of prepare, bind, describe, run and close is another server's."""
    sql = "SELECT sex, count(*) AS n FROM made WHERE income >= ? AND sex IN (?, ?) GROUP BY sex"
    everybody = restless.execute("SELECT count(*) AS n FROM made").table["n"][0].as_py()
    for _ in range(2):
        table = restless.execute(sql, (0, 1, 2)).table
        assert sum(table["n"].to_pylist()) == everybody
    named = restless.execute("SELECT $x || chr(0) AS x", {"x": "a\0'é"}).table
    assert named["x"].to_pylist() == ["a\0'é\0"]
    assert restless.describe(sql, (0, 1, 2)).names == ["sex", "n"]


def test_a_ticket_is_good_once_wherever_it_is_shown(pair, restless):
    restless.execute("SET privacy_epsilon = 0.0625")
    info = restless.ask_by_ticket(COUNT + " WHERE sex = 1")
    before = spent(pair)
    assert restless.get(info).num_rows == 1
    assert spent(pair) == pytest.approx(before + 0.0625)
    for _ in range(2):
        with pytest.raises(flight.FlightError, match="its ticket was used"):
            restless.get(info)
    with Restless(pair.url, pair.token) as other:  # another session of the same user
        assert other.get(restless.ask_by_ticket(COUNT + " WHERE sex = 1")).num_rows == 1
    assert spent(pair) == pytest.approx(before + 0.0625)


def test_a_ticket_is_nobody_elses(pair, restless):
    secret = users.add_user(pair.vaults[1], "eve", "analyst", "test")
    info = restless.ask_by_ticket("SELECT count(*) AS n FROM made")
    with Restless(pair.url, f"eve.{secret}") as eve:
        for _ in range(2):
            with pytest.raises(flight.FlightError, match="no such statement"):
                eve.get(info)
            eve.cancel(info)
    assert restless.get(info).num_rows == 1


def test_a_token_for_a_password_is_good_at_both(pair):
    password = "correct horse battery"
    users.add_user(pair.vaults[0], "paul", "analyst", "test", secret=password)
    with Restless(pair.url, ("paul", password)) as session:
        assert [session.settings for _ in range(4)] == [{}] * 4


def test_who_is_let_in_and_removed_on_one_machine_is_so_on_all(pair):
    first, second = pair.vaults
    secret = users.add_user(second, "carl", "analyst", "test")
    assert first.with_suffix(".users.moved").exists()
    assert {user.name for user in users.list_users(first)} >= {"ada", "carl"}
    for _ in range(2):
        Restless(pair.url, f"carl.{secret}").close()
    users.remove_user(first, "carl", "test")
    for _ in range(2):
        with pytest.raises(sqlpriv.Error, match="wrong, expired or revoked"):
            Restless(pair.url, f"carl.{secret}")


@pytest.mark.usefixtures("one_day")
def test_what_may_be_spent_in_a_day_is_one_amount(pair):
    rules = SpendingRules(epsilon=0.01, daily_epsilon=0.025)
    secret = users.add_user(pair.vaults[0], "dana", "analyst", "test", rules=rules)
    with Restless(pair.url, f"dana.{secret}") as session:
        for i in range(2):
            session.execute(f"{COUNT} WHERE income > {i + 50}")
        for i in range(2):
            with pytest.raises(sqlpriv.BudgetExhausted, match="a day"):
                session.execute(f"{COUNT} WHERE income > {i + 60}")


def test_a_statement_is_cancelled_at_the_other_server(restless):
    """By its ticket, and by whoever cancels all of the session."""
    for cancel in (restless.cancel, lambda _: restless._give_up()):
        info, errors = restless.ask_by_ticket(ENDLESS), []

        def get(info=info, errors=errors):
            with pytest.raises(flight.FlightCancelledError) as caught:
                restless.get(info)
            errors.append(caught.value)

        thread = threading.Thread(target=get)
        thread.start()
        time.sleep(1.5)
        assert cancel(info) in (1, 2, None)
        thread.join(30)
        assert len(errors) == 1


@pytest.mark.parametrize("times", [2])
def test_postgresqls_cancels_reach_the_server_of_the_statement(pair, times):
    """The connection is one server's, and the request to cancel, which is the next, the other's."""
    secret = users.add_user(pair.vaults[0], "pia", "analyst", "test")
    options = {"user": "pia", "password": f"pia.{secret}", "dbname": "people"}
    for _ in range(times):
        with psycopg.connect(
            host="127.0.0.1", port=pair.postgresql.port, autocommit=True, **options
        ) as connection:
            taken = list(pair.postgresql.taken)
            timer = threading.Timer(1.5, connection.cancel_safe)
            timer.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(ENDLESS)
            timer.join(30)
            assert sum(pair.postgresql.taken) == sum(taken) + 1
            assert connection.execute("SELECT 7").fetchone() == (7,)


def test_each_server_audits_what_it_was_asked_and_says_who_it_is(pair, restless):
    restless.execute("SELECT 'audited here' AS x")
    assert restless.settings == {}  # the next two calls are the other way round
    restless.execute("SELECT 'audited there' AS x")
    logs = [vault.with_suffix(".audit").read_text().splitlines() for vault in pair.vaults]
    records = [[json.loads(line) for line in log] for log in logs]
    assert len({record["server"] for of_one in records for record in of_one}) == 2
    mine = [x["sql"] for of_one in records for x in of_one if "audited" in x.get("sql", "")]
    assert sorted(mine) == ["SELECT 'audited here' AS x", "SELECT 'audited there' AS x"]
    assert all(any("audited" in x.get("sql", "") for x in of_one) for of_one in records)


def test_another_servers_messages_that_are_none_do_nothing(pair, restless):
    with closing(ServerDatabase(pair.database)) as database:
        for payload in ("", "7", "[]", '{"user": 3}', '{"user": "x", "handle": "zz"}', "{}" * 99):
            database.execute("SELECT pg_notify('sqlpriv_cancel', ?)", [payload])
    assert [restless.settings for _ in range(2)] == [{}, {}]
    assert [process.poll() for process in pair.processes] == [None, None]


def test_a_server_that_ends_leaves_its_sessions_to_the_other(pair):
    """The last test: the first server is stopped, and its port answers nobody."""
    with Restless(pair.url, pair.token) as session:
        session.execute("SET privacy_epsilon = 0.5")
        pair.processes[0].terminate()
        pair.processes[0].wait(60)
        settings = []
        for _ in range(4):
            try:
                settings.append(session.settings)
            except sqlpriv.OperationalError:  # the balancer's other turn
                continue
        assert settings
        assert all(each == {"privacy_epsilon": 0.5} for each in settings)
