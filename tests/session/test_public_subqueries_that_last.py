"""Public subqueries beside private rows: what may stand there, and of which type it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.refusals import check_refused_unpaid
from support.templates import vault_of

from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE t AS SELECT i AS id, (i % 3)::UTINYINT AS g, i % 100 AS x,
    TIMESTAMP '2023-01-01' + to_days((i % 30)::INT) AS s, DATE '2023-01-01' + (i % 30)::INT AS d
FROM range(300) AS r (i);
CREATE TABLE pub AS SELECT 250 AS a UNION ALL SELECT 3;
ALTER TABLE pub SET PUBLIC;
ALTER TABLE t ADD PRIMARY KEY (id);
ALTER TABLE t ADD PRIVACY_KEY (id);
ALTER TABLE t SET PU;
ALTER TABLE t ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN (0, 2);
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE t ALTER COLUMN s SET PRIVACY DOMAIN BETWEEN ('2023-01-01', '2023-01-31') NOT NULL;
ALTER TABLE t ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN ('2023-01-01', '2023-01-31') NOT NULL;
ALTER TABLE t SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(ROWS, tmp_path_factory.mktemp("public") / "v.duckdb")) as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


MOST = "(SELECT MAX(a) FROM pub)"
LATER = "write current_date or"


@pytest.mark.parametrize(
    ("statement", "answers", "type_"),
    [
        (
            f"SELECT RANK() OVER (ORDER BY z + 100) AS k, COUNT(*) AS n, z FROM "
            f"(SELECT g + {MOST} AS z FROM t) GROUP BY z ORDER BY z",
            [1, 2, 3],
            "int64",
        ),
        (
            f"SELECT z + 100 AS k, n FROM (SELECT z, COUNT(*) AS n FROM "
            f"(SELECT g + {MOST} AS z FROM t) GROUP BY z) ORDER BY z",
            [350, 351, 352],
            "int32",
        ),
        (
            f"SELECT g + {MOST.replace('MAX', 'SUM')} AS k, COUNT(*) AS n FROM t GROUP BY k "
            "ORDER BY k",
            [253, 254, 255],
            "decimal128(38, 0)",
        ),
        (
            "WITH p AS (SELECT 2 AS v) SELECT k + 254 AS k, n FROM "
            "(SELECT g + (SELECT v FROM p) AS k, COUNT(*) AS n FROM t GROUP BY k) ORDER BY k",
            [256, 257, 258],
            "int32",
        ),
        (
            "SELECT g + v AS k, COUNT(*) FROM t, (VALUES (2)) AS p (v) WHERE x >= v GROUP BY k "
            "ORDER BY k",
            [2, 3, 4],
            "int32",
        ),
        (
            "SELECT g + v AS k, COUNT(*) FROM t, (SELECT 2 AS v) AS p GROUP BY k ORDER BY k",
            [2, 3, 4],
            "int32",
        ),
        (
            "SELECT g + (SELECT 200) AS k, COUNT(*) FROM t GROUP BY ALL ORDER BY k",
            [200, 201, 202],
            "int32",
        ),
        (
            "SELECT g + v AS k, COUNT(*) FROM t, (SELECT -3000000000 AS v) AS p GROUP BY k "
            "ORDER BY k",
            [-3000000000, -2999999999, -2999999998],
            "int64",
        ),
    ],
)
def test_whole_numbers_are_of_their_own_type(
    session: Session, statement: str, answers: list[int], type_: str
) -> None:
    """A key was a UTINYINT as 250 would be beside one, and all beyond 255 was NULL."""
    table = session.execute(statement).table
    assert table is not None
    assert table.column("k").to_pylist() == answers
    assert str(table.schema.field("k").type) == type_


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("s < (SELECT now()::TIMESTAMP)", LATER),
        ("s < (SELECT current_timestamp::TIMESTAMP - INTERVAL 7 DAY)", LATER),
        ("s < (SELECT MAX(now())::TIMESTAMP FROM pub)", LATER),
        ("s > ALL (SELECT now()::TIMESTAMP FROM pub)", LATER),
        ("s IN (SELECT now()::TIMESTAMP FROM pub)", LATER),
        ("x < (SELECT MAX(a) * random() FROM pub)", "noise is added by the kernel"),
        ("x < (SELECT a * (random() + t.x * 0) FROM pub WHERE a = 3)", "."),
        ('x < (SELECT MAX(a * "random"()) FROM pub)', "noise is added by the kernel"),
        ("x < (SELECT MAX(a) + txid_current() FROM pub)", "noise is added by the kernel"),
        (
            "x IN (SELECT a FROM pub WHERE $$'$$ <> 'x' AND random() < 2 AND $$'$$ <> 'x')",
            "noise is added by the kernel",
        ),
        ("x < (SELECT extract('second' FROM now()))", LATER),
        ("x < (SELECT extract('year' FROM now()) - 2000)", LATER),
        ("s < (SELECT date_trunc('second', now())::TIMESTAMP)", LATER),
        ("s < (SELECT date_trunc('hour', MAX(current_timestamp))::TIMESTAMP FROM pub)", LATER),
        ("x < (SELECT MAX(a) FROM pub WHERE localtimestamp::TIME > TIME '00:00')", LATER),
        ("s < (SELECT MAX(d) FROM (SELECT ago(INTERVAL 1 DAY)::TIMESTAMP AS d FROM pub))", LATER),
        ("s < (SELECT make_date(2000, 1, 1 + (second(now()) // 9)::INT)::DATE)", LATER),
    ],
)
def test_a_question_that_is_new_each_time_is_not_paid(
    session: Session, condition: str, message: str
) -> None:
    check_refused_unpaid(session, f"SELECT COUNT(*) FROM t WHERE {condition}", message)


def test_settings_of_the_moment_are_refused(session: Session) -> None:
    statement = (
        "WITH p AS (SELECT now()::TIMESTAMP - INTERVAL 7 DAY AS v) "
        "SELECT COUNT(*) FROM t WHERE s < (SELECT v FROM p)"
    )
    check_refused_unpaid(session, statement, LATER)


@pytest.mark.parametrize(
    "condition",
    [
        "s < (SELECT current_date)",
        "s < (SELECT date_trunc('day', now())::TIMESTAMP)",
        "s < (SELECT MAX(date_trunc('day', now())::TIMESTAMP) FROM pub)",
        "s < (SELECT now()::DATE)",
        "s < (SELECT CAST(current_timestamp - INTERVAL 7 DAY AS DATE))",
        "s < (SELECT (now() - INTERVAL '7 days')::DATE)",
        "s < (SELECT now()::TIMESTAMP::DATE)",
        "s < (SELECT MAX((now() - INTERVAL '7 days')::TIMESTAMP::DATE) FROM pub)",
        "s < (SELECT date_trunc('month', now()::TIMESTAMP - INTERVAL 30 DAY)::TIMESTAMP)",
        "x < (SELECT MAX(a) FROM pub WHERE $$now()$$ <> 'it''s random()' /* now() */)",
        "x < (SELECT MAX(a) FROM pub WHERE 'now()' <> 'random()')",
        "x < (SELECT MAX(now.a) FROM pub AS now)",
    ],
)
def test_what_lasts_for_the_day_is_asked_once(session: Session, condition: str) -> None:
    statement = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
    paid = session.execute(statement).table
    before = session.budgets()
    assert session.execute(statement).table == paid
    assert session.budgets() == before


BEYOND = "the year 1|is not a (DATE|TIMESTAMP)|compared by = ANY"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("d > (SELECT DATE 'infinity')", BEYOND),
        ("d > (SELECT MAX('infinity'::DATE) FROM pub)", BEYOND),
        ("d < ALL (SELECT 'infinity'::DATE FROM pub)", BEYOND),
        ("d IN (SELECT 'infinity'::DATE FROM pub)", BEYOND),
        ("d = ANY (SELECT 'infinity'::DATE FROM pub)", BEYOND),
        ("d < (SELECT MAX(DATE '9999-12-30' + a::INT) FROM pub)", BEYOND),
        ("s < (SELECT TIMESTAMP '20000-01-01')", BEYOND),
        ("s < (SELECT TIMESTAMPTZ 'infinity')", BEYOND),
        ("list_contains((SELECT list(a) FROM pub), x)", "select numbers, texts or moments"),
        ("x IN (SELECT list(a) FROM pub)", "select numbers, texts or moments"),
        ("x < (SELECT MAX(a * INTERVAL 1 DAY) FROM pub)", "select numbers, texts or moments"),
        ("x < (SELECT 340282366920938463463374607431768211455::UHUGEINT)", "."),
        (
            "x < (SELECT MAX(340282366920938463463374607431768211455::UHUGEINT) FROM pub)",
            "above those of a HUGEINT",
        ),
    ],
)
def test_what_no_literal_says_is_refused_and_not_a_traceback(
    session: Session, condition: str, message: str
) -> None:
    statement = f"SELECT COUNT(*) FROM t WHERE {condition}"
    check_refused_unpaid(session, statement, message)
    check_refused_unpaid(session, f"EXPLAIN PRIVACY {statement}", message)


def test_a_join_with_rows_at_infinity_is_refused(session: Session) -> None:
    statement = (
        "SELECT v, COUNT(*) FROM t JOIN (SELECT a % 3 AS g, MAX('infinity'::DATE) AS v FROM pub "
        "GROUP BY 1) AS p USING (g) GROUP BY v"
    )
    check_refused_unpaid(session, statement, ".")
