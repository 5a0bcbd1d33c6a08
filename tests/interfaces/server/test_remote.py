"""`sqlpriv.connect("grpc+tls://…")`: on a server it does what it does on the file."""

import datetime as dt
import threading
import time
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import flight
from support.endless_query import ENDLESS

import sqlpriv
from sqlpriv import dialect
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol import results
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.session.session import Result

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"


@pytest.fixture
def both(served):
    """A connection on the file and one on the server, of one principal."""
    with sqlpriv.connect(served.vault, principal="ada") as local:
        yield local, served.connect("ada")


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (f"{PRICED} sex, COUNT(*) AS n, AVG(income) AS a FROM people STRATIFY BY sex", None),
        (f"{PRICED} COUNT(*) AS n FROM people WHERE income > ? AND sex = ?", [10, 2]),
        (f"{PRICED} COUNT(*) AS n FROM people WHERE income > $b AND sex = $a", {"a": 1, "b": 1.5}),
        (f"{PRICED} COUNT(*) AS n FROM people WHERE income > 1 HAVING n > 100000", None),
        ("SELECT sex, COUNT(*) AS n, SUM(1::HUGEINT) AS h FROM made GROUP BY sex ORDER BY 1", None),
        (
            "SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e FROM made LIMIT 1",
            [dt.date(2020, 2, 29), "x", True, Decimal("1.5"), dt.datetime(2020, 1, 1, 2)],
        ),
        ("SET privacy_epsilon = 0.5", None),
        ("SET privacy_epsilon = 0.1; SELECT ? AS a; SELECT ? AS b, COUNT(*) FROM made", [1, 2]),
        ("SELECT $2 AS a; SELECT $1 AS b", [1, 2]),
        ("FROM made LIMIT :x; SELECT :x + :y AS b FROM made LIMIT 1", {"x": 1, "y": 2}),
        ("SHOW PRIVACY TABLES; DESCRIBE people; -- and a comment", None),
        ("SUMMARIZE made", None),
        ("", None),
    ],
)
def test_the_same_results(both, sql, parameters):
    """Whoever asks second gets the same noised numbers, from their seals, at no cost."""
    local, remote = both
    first, second = remote.session.run(sql, parameters), local.session.run(sql, parameters)
    assert len(first) == len(second)
    for here, there in zip(second, first, strict=True):
        assert there.table == here.table
        assert there.half_widths == here.half_widths
        assert there.summed == here.summed
        assert (there.message, there.exact, there.changed) == (here.message, here.exact, -1)
        assert (there.price is None) == (here.price is None)
        if here.price is not None:
            assert (there.price, here.price.nano) == (type(here.price)(100_000_000), 0)
            assert there.epsilon == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (f"{PRICED} sex, COUNT(*) AS n, AVG(income) AS a FROM people STRATIFY BY sex", None),
        (f"{PRICED} COUNT(*) AS n FROM people WHERE income > ?", [10]),
        (f"{PRICED} sex, RANK() OVER (ORDER BY COUNT(*)) FROM people GROUP BY sex", None),
        ("SELECT COUNT(*) FROM made", None),
        (
            "CREATE SYNTHETIC TABLE x AS SELECT sex FROM people USING independent"
            " OPTIONS (epsilon = 0.1)",
            None,
        ),
    ],
)
def test_the_same_quote_and_nothing_is_charged(both, sql, parameters):
    local, remote = (connection.session for connection in both)
    before = local.budgets()
    quote = remote.quote(sql, parameters)
    assert quote == local.quote(sql, parameters)
    assert bool(quote.charges) is ("FROM people" in sql)
    assert local.budgets() == before
    with pytest.raises(sqlpriv.Refused):
        remote.quote("SELECT id FROM people")


def test_the_same_comments(both):
    local, remote = (connection.session for connection in both)
    assert remote.comments() == local.comments() != {}


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (f"{PRICED} secret FROM people", None),
        ("SELECT 1;\n\n  SELECT secret,\n    income FROM people", None),
        ("SELECT 'open", None),
        ("SELECT COUNT(*) FROM people", None),
        ("DROP TABLE people", None),
        ("SELECT ?, ?", [1]),
        ("SELECT $a", {"b": 1}),
        ("SELECT ?", [object()]),
        ("SELECT nothing FROM made", None),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 99) COUNT(*) FROM people", None),
        ("SELECT * FROM nowhere", None),
    ],
)
def test_the_same_errors(both, sql, parameters):
    found = []
    for connection in both:
        with pytest.raises(sqlpriv.Error) as told:
            connection.execute(sql, parameters)
        error = told.value
        place = [getattr(error, name, None) for name in ("line", "column", "hint")]
        found.append((type(error), str(error), place))
    (kind, words, _), there = found
    assert there[0] is kind
    if "a parameter is of" not in words:  # what Arrow cannot carry never gets there to be named
        assert there == found[0]


def test_the_same_connection_and_cursor(both):
    local, remote = both
    for connection in both:
        cursor = connection.execute("SET privacy_epsilon = 0.1")
        cursor.execute("SELECT sex, COUNT(*) AS n FROM people STRATIFY BY sex")
        assert cursor.df()["sex"].tolist()[:2] == [1, 2]
        assert len(cursor.result.half_widths["n"]) == 3
        assert cursor.description[1][:2] == ("n", "BIGINT")
        assert connection.session.settings == {"privacy_epsilon": 0.1}
    assert remote.session.budgets() == local.session.budgets()
    assert remote.session.catalog() == local.session.catalog()
    sql = "SELECT COUNT(*) AS n FROM people WHERE income > ?"
    assert remote.session.describe(sql, [3]) == local.session.describe(sql, [3])
    assert (remote.session.role, remote.session.principal) == ("analyst", "ada")
    remote.close()
    with pytest.raises(sqlpriv.InterfaceError, match="closed"):
        remote.execute("SELECT 1")


def test_many_rows_come_in_many_batches_with_their_half_widths(served):
    with served.connect("olga") as owner:
        levels = ", ".join(map(str, range(12_000)))
        owner.execute(f"ALTER TABLE people ALTER COLUMN id SET PRIVACY DOMAIN IN ({levels})")
    client, call = served.flight("bob")
    with served.connect("bob") as analyst:
        cursor = analyst.execute(f"{PRICED} id, COUNT(*) AS n FROM people GROUP BY id")
        assert cursor.result.table.num_rows == len(cursor.result.half_widths["n"]) == 12_000
        assert cursor.result.table["id"].to_pylist() == list(range(12_000))
        assert set(cursor.result.half_widths["n"]) == {cursor.result.half_widths["n"][0]}
    query = m.wrap(
        "CommandStatementQuery", query=f"{PRICED} id, COUNT(*) AS n FROM people GROUP BY id"
    )
    info = client.get_flight_info(flight.FlightDescriptor.for_command(query), call)
    sizes = [chunk.data.num_rows for chunk in client.do_get(info.endpoints[0].ticket, call)]
    assert sizes == [10_000, 2_000]


def test_a_result_is_the_same_after_its_way_through_a_stream():
    rows = pa.table({"a": range(25_000), "b": ["x"] * 25_000})
    sent = Result(rows, "said", {"a": [None, 2.5] * 12_500}, Epsilon(7), 7e-9, False, 3)
    sent = replace(sent, summed={"a": frozenset({0, 9_999, 10_000, 24_999})})
    back = results.result(results.schema(sent), results.batches(sent))
    assert back.table == rows
    for field in ("message", "half_widths", "price", "epsilon", "exact", "summed", "changed"):
        assert getattr(back, field) == getattr(sent, field), field


def test_each_statement_of_a_text_keeps_its_place_and_its_values():
    sql = "SELECT ?;\n  SELECT ?, ?; SELECT 1"
    shared = dialect.split_with_parameters(sql, ["a", "b", "c"])
    assert [values for _, values in shared] == [["a"], ["b", "c"], None]
    assert [part for part, _ in shared] == [
        "SELECT ?",
        "\n  SELECT ?, ?",
        "\n               SELECT 1",
    ]
    with pytest.raises(sqlpriv.ProgrammingError):
        dialect.split_with_parameters(sql, ["a"])


def test_what_is_for_a_server_is_refused_on_a_file(served):
    with pytest.raises(sqlpriv.InterfaceError, match="for a server"):
        sqlpriv.connect(served.vault, token="x")
    with pytest.raises(sqlpriv.InterfaceError, match="asks for a token"):
        sqlpriv.connect(served.url)


@pytest.mark.parametrize("which", ["file", "server"])
def test_another_thread_interrupts_a_statement(both, which):
    """As duckdb's connections do; the connection answers on."""
    connection = both[which == "server"]
    failures = []

    def ask():
        try:
            connection.execute(ENDLESS).fetchall()
        except sqlpriv.Error as error:
            failures.append(str(error))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    until = time.monotonic() + 60
    while asking.is_alive() and time.monotonic() < until:
        connection.interrupt()
        asking.join(0.1)
    assert not asking.is_alive()
    assert failures
    assert connection.execute("SELECT 1 AS a").fetchall() == [(1,)]
