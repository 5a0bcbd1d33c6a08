"""PEP 249, on a real vault."""

import datetime as dt
import pickle
import re
import threading
from decimal import Decimal

import pyarrow as pa
import pytest

import sqlpriv
from sqlpriv.interfaces.display.html import cursor_html
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.session.session import Result

BY_SEX = "SELECT SEX, COUNT(*) AS n, AVG(PINCP) AS income FROM people STRATIFY BY SEX"
PRICED = BY_SEX.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)", 1)


@pytest.fixture
def cursor(owner):
    """An owner's cursor on a table of two rows."""
    cursor = owner.execute("CREATE TABLE drinks (name VARCHAR, strength DECIMAL(4,2), since DATE)")
    cursor.executemany(
        "INSERT INTO drinks VALUES (?, ?, ?)",
        [("Cooper's", Decimal("4.50"), dt.date(1862, 5, 1)), ("Boag's", None, None)],
    )
    return cursor


def test_module_attributes():
    assert (sqlpriv.apilevel, sqlpriv.threadsafety, sqlpriv.paramstyle) == ("2.0", 1, "qmark")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sqlpriv.nonsense  # noqa: B018 (the name is looked up)


def test_errors_are_attributes_of_connections(owner):
    for name in (
        "Warning",
        "Error",
        "InterfaceError",
        "DatabaseError",
        "DataError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
    ):
        assert getattr(owner, name) is getattr(sqlpriv, name)
    assert issubclass(sqlpriv.Refused, sqlpriv.ProgrammingError)


def test_the_errors_are_the_tree_of_pep_249():
    assert issubclass(sqlpriv.Warning, Exception)
    assert issubclass(sqlpriv.InterfaceError, sqlpriv.Error)
    assert not issubclass(sqlpriv.InterfaceError, sqlpriv.DatabaseError)
    for name in (
        "DataError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
    ):
        assert issubclass(getattr(sqlpriv, name), sqlpriv.DatabaseError)


def test_an_error_survives_another_process(analyst):
    with pytest.raises(sqlpriv.Refused) as caught:
        analyst.execute("SELECT AGEP FROM people")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.hint, again.column) == (
        str(caught.value),
        caught.value.hint,
        caught.value.column,
    )


def test_type_objects():
    assert sqlpriv.STRING == "VARCHAR"
    assert sqlpriv.NUMBER == "DECIMAL(9,2)"
    assert sqlpriv.NUMBER != "DECIMAL(9,2)[]"
    assert sqlpriv.DATETIME == "TIMESTAMP WITH TIME ZONE"
    assert sqlpriv.BINARY == "BLOB"
    assert sqlpriv.ROWID == sqlpriv.ROWID
    kinds = (sqlpriv.STRING, sqlpriv.BINARY, sqlpriv.NUMBER, sqlpriv.DATETIME, sqlpriv.ROWID)
    assert len(set(kinds)) == 5
    for name in ("VARCHAR", "BLOB", "DOUBLE", "DATE"):
        assert sum(kind == name for kind in kinds) == 1


def test_constructors():
    noon = dt.datetime(2002, 12, 25, 12, 30, 15)
    ticks = noon.timestamp()
    assert sqlpriv.Date(2002, 12, 25) == sqlpriv.DateFromTicks(ticks) == noon.date()
    assert sqlpriv.Time(12, 30, 15) == sqlpriv.TimeFromTicks(ticks) == noon.time()
    assert sqlpriv.Timestamp(2002, 12, 25, 12, 30, 15) == sqlpriv.TimestampFromTicks(ticks) == noon
    assert sqlpriv.Binary(b"\x00\xff") == b"\x00\xff"


def test_an_unknown_role(tmp_path):
    with pytest.raises(sqlpriv.InterfaceError, match='"analyst" or "owner"'):
        sqlpriv.connect(tmp_path / "x.duckdb", role="root")
    assert list(tmp_path.iterdir()) == []


# --- Fetching ---


def test_fetching(cursor):
    cursor.execute("SELECT * FROM drinks ORDER BY name DESC")
    assert (cursor.rowcount, cursor.rownumber, cursor.arraysize) == (2, 0, 1)
    assert cursor.fetchone() == ("Cooper's", Decimal("4.50"), dt.date(1862, 5, 1))
    assert cursor.fetchmany() == [("Boag's", None, None)]
    assert cursor.fetchmany(3) == []
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert cursor.rownumber == 2


def test_fetchmany_and_iteration_go_on_where_fetching_stopped(cursor):
    cursor.execute("SELECT * FROM range(25000)")
    assert cursor.fetchone() == (0,)
    cursor.arraysize = 4
    assert cursor.fetchmany() == [(1,), (2,), (3,), (4,)]
    seen = iter(cursor)
    assert [next(seen) for _ in range(2)] == [(5,), (6,)]
    assert cursor.fetchone() == (7,)
    assert len(cursor.fetchall()) == 25000 - 8


def test_a_cursor_is_an_iterator(cursor):
    cursor.execute("SELECT * FROM range(2)")
    assert (next(cursor), next(cursor)) == ((0,), (1,))
    with pytest.raises(StopIteration):
        next(cursor)


@pytest.mark.parametrize("count", [999, 1000, 1001, 2500])
def test_one_by_one_is_all(owner, count):
    """Rows become Python's a thousand at a time: none is lost or told twice at the seams."""
    cursor = owner.execute("SELECT * FROM range(?)", [count])
    assert [cursor.fetchone() for _ in range(count + 1)] == [*((n,) for n in range(count)), None]
    cursor.execute("SELECT * FROM range(?)", [count])
    mixed = [*cursor.fetchmany(3), cursor.fetchone(), *cursor.fetchmany(997), *cursor]
    assert mixed == [(n,) for n in range(count)]


def test_nextset_goes_through_the_statements_that_have_rows(cursor):
    cursor.execute(
        "SELECT count(*) FROM drinks; INSERT INTO drinks VALUES ('XXXX', 4, NULL);"
        "SELECT name FROM drinks ORDER BY name; SELECT 'last' AS word"
    )
    assert cursor.fetchone() == (2,)
    assert cursor.nextset() is True
    assert cursor.description[0][0] == "name"
    assert cursor.fetchone() == ("Boag's",)  # the other two are given up
    assert cursor.nextset() is True
    assert (cursor.rowcount, cursor.rownumber) == (1, 0)
    assert cursor.df()["word"].tolist() == ["last"]
    assert cursor.nextset() is None
    assert cursor.fetchall() == [("last",)]  # still where it was


def test_a_new_statement_forgets_the_sets_of_the_last(cursor):
    cursor.execute("SELECT 1; SELECT 2")
    cursor.execute("SELECT 3")
    assert cursor.nextset() is None
    cursor.execute("SELECT 1; SELECT 2")
    cursor.executemany("INSERT INTO drinks VALUES (?, 1, NULL)", [("a",), ("b",)])
    assert cursor.nextset() is None
    assert (cursor.rowcount, cursor.description) == (2, None)


def test_statements_without_rows_are_no_sets(cursor):
    cursor.execute("CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1), (2)")
    assert (cursor.rowcount, cursor.description, cursor.nextset()) == (2, None, None)
    cursor.execute("-- nothing")
    assert (cursor.rowcount, cursor.description, cursor.result) == (-1, None, None)


def test_each_set_carries_its_own_price(analyst):
    cursor = analyst.execute(
        f"SET privacy_epsilon = 0.1; SELECT COUNT(*) AS n FROM people; {PRICED}"
    )
    assert 0.09 < cursor.result.epsilon <= 0.1
    assert list(cursor.result.half_widths) == ["n"]
    cursor.nextset()
    assert 0.49 < cursor.result.epsilon <= 0.5


def test_values_that_python_lacks(owner):
    cursor = owner.execute("SELECT DATE '9999-12-31' AS fits, DATE '12000-01-01' AS beyond")
    for fetch in (cursor.fetchone, cursor.fetchall, lambda: next(cursor)):
        with pytest.raises(sqlpriv.DataError, match=r'"beyond".*CAST it to VARCHAR'):
            fetch()
    assert cursor.arrow().num_rows == 1
    assert cursor.execute("SELECT 2::HUGEINT ** 100 AS n").fetchone() == (2**100,)


def test_description(cursor):
    cursor.execute("SELECT * FROM drinks")
    names, types = [d[0] for d in cursor.description], [d[1] for d in cursor.description]
    assert names == ["name", "strength", "since"]
    assert types == [sqlpriv.STRING, sqlpriv.NUMBER, sqlpriv.DATETIME]
    assert cursor.description[1][4:6] == (4, 2)


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("CREATE TABLE other (a INTEGER)", -1),
        ("INSERT INTO drinks VALUES ('XXXX', 1, NULL), ('Redback', 2, NULL)", 2),
        ("UPDATE drinks SET strength = 1", 2),
        ("DROP TABLE drinks", -1),
        ("ALTER TABLE people ALTER COLUMN SEX SET PRIVACY DOMAIN IN (1, 2)", -1),
    ],
)
def test_statements_without_rows(cursor, sql, count):
    cursor.execute(sql)
    assert cursor.description is None
    assert cursor.rowcount == count
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.df, cursor.arrow):
        with pytest.raises(sqlpriv.ProgrammingError, match="no rows to fetch"):
            fetch()
    with pytest.raises(sqlpriv.ProgrammingError, match="no rows to fetch"):
        next(iter(cursor))


def test_executemany_counts_and_keeps_no_rows(owner):
    cursor = owner.execute("CREATE TABLE t (a INTEGER)")
    assert cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)]).rowcount == 3
    assert cursor.executemany("INSERT INTO t VALUES (?)", iter([])).rowcount == 0
    assert owner.executemany("SELECT ?", [(1,), (2,)]).description is None
    assert owner.execute("SELECT sum(a) FROM t").fetchall() == [(6,)]


def test_a_failed_statement_leaves_no_rows_of_the_last_one(cursor):
    cursor.execute("SELECT 1")
    with pytest.raises(sqlpriv.ProgrammingError):
        cursor.execute("SELECT nonsense FROM drinks")
    with pytest.raises(sqlpriv.ProgrammingError, match="no rows"):
        cursor.fetchone()


@pytest.mark.parametrize(
    ("type_", "told", "kind"),
    [
        ("BOOLEAN", "BOOLEAN", "NUMBER"),
        ("TINYINT", "TINYINT", "NUMBER"),
        ("UBIGINT", "UBIGINT", "NUMBER"),
        ("HUGEINT", "HUGEINT", "NUMBER"),
        ("DOUBLE", "DOUBLE", "NUMBER"),
        ("DECIMAL(9,2)", "DECIMAL(9,2)", "NUMBER"),
        ("VARCHAR", "VARCHAR", "STRING"),
        ("ENUM ('a', 'b')", "VARCHAR", "STRING"),
        ("BLOB", "BLOB", "BINARY"),
        ("DATE", "DATE", "DATETIME"),
        ("TIME", "TIME", "DATETIME"),
        ("TIMESTAMP", "TIMESTAMP", "DATETIME"),
        ("TIMESTAMP_NS", "TIMESTAMP", "DATETIME"),
        ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "DATETIME"),
        ("INTERVAL", "INTERVAL", "DATETIME"),
        ("INTEGER[]", "INTEGER[]", None),
        ("DATE[2][]", "DATE[2][]", None),
        ("MAP(VARCHAR, DOUBLE)", "MAP(VARCHAR, DOUBLE)", None),
        ("STRUCT(a INTEGER, b VARCHAR[])", "STRUCT(a INTEGER, b VARCHAR[])", None),
        ("UNION(a INTEGER, b VARCHAR)", "UNION(a INTEGER, b VARCHAR)", None),
        ("BIGNUM", "BIGNUM", None),
    ],
)
def test_type_codes_are_duckdbs_names(owner, type_, told, kind):
    (found,) = owner.execute(f"SELECT NULL::{type_} AS x").description
    assert found[:2] == ("x", told)
    for group in ("STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"):
        assert (found[1] == getattr(sqlpriv, group)) is (group == kind)


# --- Parameters ---


def test_parameters_are_bound(cursor):
    nasty = "'; DROP TABLE drinks; -- $1 :name ?"
    cursor.execute("INSERT INTO drinks VALUES (?, 1, NULL)", [nasty])
    assert cursor.execute("SELECT name FROM drinks WHERE name = ?", (nasty,)).fetchall() == [
        (nasty,)
    ]


@pytest.mark.parametrize(("mark", "parameters"), [("?", [17]), ("$1", [17]), (":age", {"age": 17})])
def test_parameters_of_a_private_query(analyst, mark, parameters):
    bound = f"EXPLAIN PRIVACY SELECT COUNT(*) AS n FROM people WHERE AGEP > {mark}"
    analyst.execute("SET privacy_epsilon = 0.1")
    literal = analyst.execute(bound.replace(mark, "17")).fetchall()
    assert analyst.execute(bound, parameters).fetchall() == literal


@pytest.mark.parametrize("parameters", [[], [1, 2], None])
def test_too_few_or_too_many_parameters(analyst, parameters):
    with pytest.raises(sqlpriv.Error):
        analyst.execute("EXPLAIN PRIVACY SELECT COUNT(*) FROM people WHERE AGEP > ?", parameters)


# --- Private answers ---


def test_a_private_answer_has_half_widths_and_a_price(analyst):
    cursor = analyst.execute(PRICED)
    assert [row[0] for row in cursor.fetchall()] == [1, 2, None]
    assert 0.49 < cursor.result.epsilon <= 0.5
    assert not cursor.result.exact
    assert all(width > 0 for width in cursor.result.half_widths["n"])
    page = cursor._repr_html_()
    assert "±" in page
    assert "ε 0.5 spent" in page


def test_an_answer_given_before_costs_nothing(analyst):
    first = analyst.execute(PRICED)
    second = analyst.execute(PRICED)
    assert second.fetchall() == first.fetchall()
    assert second.result.price.nano == 0


def test_charges_carry_the_principal(analyst):
    analyst.execute(PRICED)
    (row,) = analyst.execute("SHOW PRIVACY RELEASES").df().groupby("principal").size().items()
    assert row[0] == "ada"


def test_an_analyst_sees_no_row(analyst):
    for sql in ("SELECT * FROM people", "SELECT SEX FROM people", "INSERT INTO people VALUES (1)"):
        with pytest.raises(sqlpriv.ProgrammingError):
            analyst.execute(sql)


# --- Frames ---


def test_frames(cursor):
    cursor.execute("SELECT name, strength::DOUBLE AS strength FROM drinks ORDER BY name")
    cursor.fetchone()  # frames hold the whole result, wherever fetching has come to
    assert list(cursor.df()["name"]) == ["Boag's", "Cooper's"]
    assert cursor.arrow().column_names == ["name", "strength"]
    assert cursor.pl().shape == (2, 2)
    assert cursor.fetch_record_batch().read_all() == cursor.arrow()
    assert cursor.fetchall() == [("Cooper's", 4.5)]


def test_record_batches_are_of_the_size_asked_for(owner):
    cursor = owner.execute("SELECT * FROM range(10)")
    assert [batch.num_rows for batch in cursor.fetch_record_batch(4)] == [4, 4, 2]


def test_sums_are_integers_in_pandas(owner):
    frame = owner.execute("SELECT sum(range) AS fits, 2::HUGEINT ** 100 AS no FROM range(9)").df()
    assert frame["fits"].dtype == "int64"
    assert int(frame["no"][0]) == 2**100


def test_decimals_are_floats_in_pandas(owner):
    """As in DuckDB's own frames: an object of Python's decimals cannot be divided by a float."""
    cursor = owner.execute("SELECT 12.50::DECIMAL(10, 2) AS paid, NULL::DECIMAL(10, 2) AS none")
    frame = cursor.df()
    assert frame.dtypes.astype(str).tolist() == ["float64", "float64"]
    assert (frame["paid"] / 2.5).tolist() == [5.0]


def test_html_has_an_error_bar_for_each_noised_cell(analyst):
    page = analyst.execute(PRICED)._repr_html_()
    assert page.count("<circle") == 6  # two groups and everybody: n and income
    assert "<circle" not in analyst.execute("SHOW PRIVACY TABLES")._repr_html_()


def test_error_bars_are_to_one_scale():
    """Four values on an axis of 0 to 100, pictures of 4 + 86 pixels."""
    values, widths = [25.0, 50.0, 75.0, None], [25.0, 10.0, 1000.0, None]
    result = Result(pa.table({"x": values}), half_widths={"x": widths}, price=Rho(1), epsilon=1.0)
    page = cursor_html(result)
    assert re.findall(r'cx="([\d.]+)"', page) == ["23.5", "45.0", "66.5"]
    assert re.findall(r'd="M([\d.]+) 6H([\d.]+)"', page) == [
        ("2.0", "45.0"),
        ("36.4", "53.6"),
        ("2.0", "88.0"),
    ]
    assert page.count("3v6") == 4  # the last whisker goes on beyond both ends: it has no end marks


def test_html_of_every_state(owner):
    cursor = owner.cursor()
    assert "nothing was executed" in cursor._repr_html_()
    cursor.execute("SELECT * FROM range(100)")
    assert "100 rows · the first 60 shown · exact: not protected" in cursor._repr_html_()


def test_a_terminal_shows_what_a_cursor_holds(analyst):
    cursor = analyst.cursor()
    assert repr(cursor) == "<Cursor: nothing was executed>"
    shown = repr(cursor.execute("SELECT unnest(range(100)) AS n")).splitlines()
    assert shown[0].strip() == "n"
    assert [line.strip() for line in shown[2:62]] == [str(i) for i in range(60)]
    assert "100 rows · the first 60 shown" in shown[-1]
    assert "±" in repr(analyst.execute(PRICED))
    cursor.close()
    assert "0x" not in repr(cursor)


# --- Closing ---


def test_a_closed_connection(vault):
    connection = sqlpriv.connect(vault)
    cursor = connection.cursor()
    connection.close()
    for use in (
        connection.cursor,
        connection.commit,
        connection.rollback,
        connection.close,
        lambda: cursor.execute("SELECT 1"),
        lambda: connection.execute("SELECT 1"),
    ):
        with pytest.raises(sqlpriv.InterfaceError, match="closed"):
            use()


def test_a_closed_cursor(owner):
    with owner.cursor() as cursor:
        cursor.execute("SELECT 1")
    for use in (
        cursor.fetchone,
        cursor.fetchall,
        lambda: cursor.execute("SELECT 1"),
        lambda: cursor.executemany("SELECT 1", []),
        lambda: cursor.setinputsizes([1]),
        lambda: cursor.setoutputsize(1),
        lambda: next(cursor),
        cursor.fetchmany,
        cursor.fetch_record_batch,
        cursor.nextset,
    ):
        with pytest.raises(sqlpriv.InterfaceError, match="closed"):
            use()
    cursor.close()  # closing again does no harm
    assert owner.execute("SELECT 1").fetchall() == [(1,)]


def test_a_connection_may_be_closed_inside_its_block(vault):
    with sqlpriv.connect(vault) as connection:
        connection.close()


def test_two_connections_in_two_threads(vault):
    """threadsafety 1: the module is shared, each thread has a connection of its own."""
    counts = []

    def ask():
        with sqlpriv.connect(vault) as connection:
            counts.append(connection.execute("SHOW PRIVACY TABLES").rowcount)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1, 1, 1, 1]


# --- Transactions ---


def test_commit_and_rollback_without_a_transaction(owner):
    owner.execute("CREATE TABLE t (a INTEGER)")
    owner.rollback()
    owner.commit()
    assert owner.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_an_owners_transaction_is_ended_by_commit_and_rollback(owner):
    owner.execute("CREATE TABLE t (a INTEGER)")
    for end, kept in ((owner.rollback, 0), (owner.commit, 1)):
        owner.execute("BEGIN")
        owner.execute("INSERT INTO t VALUES (1)")
        end()
        assert owner.execute("SELECT count(*) FROM t").fetchone() == (kept,)


def test_setting_sizes_does_nothing(cursor):
    cursor.setinputsizes((25,))
    cursor.setoutputsize(1000)
    cursor.setoutputsize(2000, 0)
    assert cursor.execute("SELECT 1").fetchone() == (1,)
    assert cursor.lastrowid is None
    assert cursor.connection.cursor().connection is cursor.connection
