"""A question in another dialect is the same question: its answer is the one that was sealed."""

from __future__ import annotations

import pytest
from suites.vault import make_vault

import sqlpriv
from sqlpriv.errors import InterfaceError, Refused
from sqlpriv.session.session import Session

SAME = [
    (
        "SELECT region, quantile_cont(age, 0.5) AS p FROM people GROUP BY region",
        {
            "duckdb": "SELECT DISTINCT region, quantile_cont(age, 0.5) OVER (PARTITION BY region)"
            " AS p FROM people",
            "bigquery": "SELECT DISTINCT region, PERCENTILE_CONT(age, 0.5) OVER (PARTITION BY"
            " region) AS p FROM people",
            "tsql": "SELECT DISTINCT region, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)"
            " OVER (PARTITION BY region) AS p FROM people",
        },
    ),
    (
        "SELECT quantile_cont(age, 0.25) AS p FROM people LIMIT 1",
        {"bigquery": "SELECT PERCENTILE_CONT(age, 0.25) OVER () AS p FROM people LIMIT 1"},
    ),
    (
        "SELECT educ, COUNT(*) AS n, AVG(income) AS mean FROM people GROUP BY educ ORDER BY educ",
        {
            "postgres": "SELECT educ, count(*) AS n, avg(income) AS mean FROM public.people"
            " GROUP BY educ ORDER BY educ",
            "bigquery": "SELECT `educ`, COUNT(*) AS n, AVG(income) AS mean FROM `people`"
            " GROUP BY educ ORDER BY educ NULLS LAST",
            "snowflake": 'SELECT "educ", COUNT(*) AS n, AVG(income) AS mean FROM PUBLIC.people'
            " GROUP BY educ ORDER BY educ",
            "spark": "SELECT `educ`, COUNT(*) AS n, MEAN(income) AS mean FROM people"
            " GROUP BY educ ORDER BY educ NULLS LAST",
        },
    ),
    (
        "SELECT SUM(CASE WHEN age >= 65 AND sex = 'F' THEN income ELSE 0 END) AS s FROM people",
        {
            "bigquery": 'SELECT SUM(IF(age >= 65 AND sex = "F", income, 0)) AS s FROM people',
            "mysql": 'SELECT SUM(IF(age >= 65 && sex = "F", income, 0)) AS s FROM people',
            "tsql": "SELECT SUM(IIF([age] >= 65 AND sex = N'F', income, 0)) AS s FROM dbo.people",
            "snowflake": "SELECT SUM(IFF(age >= 65 AND sex = 'F', income, 0)) AS s FROM people",
        },
    ),
    (
        "SELECT SUM(income) / NULLIF(COUNT(*), 0) AS mean FROM people WHERE region <> 'west'",
        {
            "mysql": "SELECT SUM(income) / COUNT(*) AS mean FROM people WHERE region != 'west'",
            "bigquery": "SELECT SAFE_DIVIDE(SUM(income), COUNT(*)) AS mean FROM people"
            " WHERE region <> 'west'",
            "spark": "SELECT SUM(income) / COUNT(*) AS mean FROM people WHERE region != 'west'",
        },
    ),
    (
        "SELECT sex, AVG(hours) AS h FROM people STRATIFY BY sex",
        {
            "postgres": "SELECT sex, avg(hours) AS h FROM people STRATIFY BY sex",
            "mysql": "SELECT `sex`, AVG(hours) AS h FROM people STRATIFY BY `sex`",
        },
    ),
    (
        "SELECT age // 10 AS decade, COUNT(*) AS n FROM people GROUP BY decade ORDER BY n LIMIT 3",
        {
            "postgres": "SELECT div(age, 10) AS decade, count(*) AS n FROM people GROUP BY decade"
            " ORDER BY n FETCH FIRST 3 ROWS ONLY",
            "spark": "SELECT age DIV 10 AS decade, COUNT(*) AS n FROM people GROUP BY decade"
            " ORDER BY n NULLS LAST LIMIT 3",
        },
    ),
    (
        "SELECT educ, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM people"
        " GROUP BY educ QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2",
        {
            "snowflake": "SELECT educ, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER "
            "() AS share"
            " FROM people GROUP BY educ"
            " QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC NULLS LAST) <= 2",
            "bigquery": "SELECT educ, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () "
            "AS share"
            " FROM people GROUP BY educ"
            " QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2",
        },
    ),
    (
        "SELECT COUNT(*) AS n FROM regions WHERE inhabitants > 500",
        {
            "postgres": "SELECT count(*) AS n FROM regions WHERE inhabitants > 500",
            "tsql": "SELECT n = COUNT(*) FROM [regions] WHERE inhabitants > 500",
        },
    ),
]
CASES = [
    pytest.param(plain, name, text, id=f"{i} {name}")
    for i, (plain, others) in enumerate(SAME)
    for name, text in others.items()
]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return make_vault(tmp_path_factory.mktemp("dialects") / "people.duckdb")


def spent(session):
    return {table: left for table, left, _ in session.budgets()}


@pytest.mark.parametrize(("plain", "name", "text"), CASES)
def test_an_answer_equals_that_of_the_duckdb_spelling_and_is_a_replay(people, plain, name, text):
    with Session(people) as session:
        session.execute("SET privacy_epsilon = 1")
        expected = session.execute(plain).table
        left = spent(session)
        session.execute(f"SET privacy_dialect = '{name}'")
        assert session.execute(text).table.to_pylist() == expected.to_pylist()
        assert spent(session) == left


def test_the_question_differs_where_the_meaning_does(people):
    """The twin: a wrong reading of `||` would count other rows, and be charged."""
    with Session(people, dialect="mysql") as session:
        session.execute("SET privacy_epsilon = 1")
        session.execute("SELECT COUNT(*) FROM people WHERE age > 50 && sex = 'F'")
        left = spent(session)
        session.execute("SELECT COUNT(*) FROM people WHERE age > 50 || sex = 'F'")
        assert spent(session) != left


def test_a_connection_has_a_dialect_and_a_setting_changes_it(people):
    with sqlpriv.connect(people, dialect="mysql") as connection:
        connection.execute("SET privacy_epsilon = 1")
        first = connection.execute("SELECT COUNT(*) FROM `people`").fetchall()
        connection.execute("SET privacy_dialect = 'postgres'")
        assert connection.execute('SELECT count(*) FROM "people"').fetchall() == first
        connection.execute("RESET privacy_dialect")
        assert connection.session.dialect == "duckdb"
    with pytest.raises(InterfaceError, match="the dialect is one of duckdb, postgres"):
        sqlpriv.connect(people, dialect="cobol")


def test_a_dialect_that_there_is_not_is_refused(people):
    with Session(people) as session, pytest.raises(Refused, match="there is no dialect cobol"):
        session.execute("SET privacy_dialect = 'cobol'")


def test_a_refusal_of_the_planner_points_into_the_users_own_text(people):
    text = "SELECT COUNT(*),\n       SUM(IF(`age` > 1, `nothing`, 0))\nFROM `people`"
    with Session(people, dialect="mysql") as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Refused) as caught:
            session.execute(text)
    assert (caught.value.line, caught.value.column) == (2, 26)


def test_describe_and_quote_read_the_dialect_and_change_nothing(people):
    with Session(people, dialect="mysql") as session:
        text = "SET privacy_epsilon = 1; SELECT `sex`, COUNT(*) AS n FROM people GROUP BY `sex`"
        assert session.describe(text).names == ["sex", "n"]
        assert session.quote(text).charges
        session.describe("SET privacy_dialect = 'duckdb'; SELECT \"sex\" FROM people GROUP BY 1")
        assert session.dialect == "mysql"


def test_a_whole_division_of_a_real_column_is_no_other_number(people):
    """DuckDB's // of reals keeps the fraction; DIV of other dialects does not."""
    with Session(people, dialect="mysql") as session:
        session.execute("SET privacy_epsilon = 100")
        with pytest.raises(Refused):
            session.execute("SELECT income DIV 300 AS x, COUNT(*) FROM people GROUP BY x")


@pytest.mark.parametrize(
    "output",
    [
        "COUNT(*) / SUM(COUNT(*)) OVER ()",
        "100 * COUNT(*) / SUM(COUNT(*)) OVER ()",
        "SUM(COUNT(*)) OVER () / COUNT(*)",
        "SUM(age) / SUM(SUM(age)) OVER ()",
    ],
)
@pytest.mark.parametrize("dialect", ["postgres", "redshift"])
def test_a_sum_of_bigints_is_numeric_and_its_quotient_has_digits(people, dialect, output):
    """Shares of groups were cut to 0: COUNT is a BIGINT there, and SUM of it a NUMERIC."""
    statement = f"SELECT sex, {output} AS share FROM people GROUP BY sex ORDER BY sex"
    with Session(people) as session:
        session.execute("SET privacy_epsilon = 1")
        expected = session.execute(statement).table
        session.execute(f"SET privacy_dialect = '{dialect}'")
        assert session.execute(statement).table.equals(expected)


def test_rounding_to_a_whole_number_is_refused_with_what_to_write(people):
    """It named no way but to leave the dialect."""
    with Session(people, dialect="postgres") as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Refused, match="round of a half") as refused:
            session.execute("SELECT ROUND(AVG(age)) AS r FROM people")
        assert refused.value.hint == "write round(x::numeric, 0)"
        written = session.execute("SELECT ROUND(AVG(age)::numeric, 0) AS r FROM people").table
        assert all(float(value).is_integer() for value in written["r"].to_pylist())


def test_twin_a_sum_of_counts_is_whole_in_other_dialects(people):
    statement = "SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY sex"
    with Session(people, dialect="trino") as session:
        session.execute("SET privacy_epsilon = 1")
        assert set(session.execute(statement).table["share"].to_pylist()) <= {0, 1}


@pytest.mark.parametrize(
    ("dialect", "outputs", "names"),
    [
        ("postgres", "COUNT(*) / 7, AVG(age) / 2", ["(count_star() / 7)", "(avg(age) / 2)"]),
        ("postgres", "COUNT(*) / 7, SUM(COUNT(*)) OVER ()", ["(count_star() / 7)", None]),
        ("mysql", "IFNULL(COUNT(*), 7)", ["COALESCE(count_star(), 7)"]),
        ("bigquery", "SAFE_DIVIDE(COUNT(*), 7) AS q", ["q"]),
        ("bigquery", "COUNTIF(age > 5)", ["countif((age > 5))"]),
    ],
)
def test_an_output_is_called_as_duckdb_would_call_what_was_written(people, dialect, outputs, names):
    """It was called by what it had become: `trunc((count_star() / nullif(7, 0)))`."""
    with Session(people, dialect=dialect) as session:
        session.execute("SET privacy_epsilon = 1")
        shown = session.execute(f"SELECT {outputs} FROM people").table.column_names
        assert all(name in (None, one) for name, one in zip(names, shown, strict=True))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT SUM(age) / COUNT(*) FROM people",
        "SELECT sex, SUM(age) / COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM people GROUP BY sex",
        "SELECT AVG(m) FROM (SELECT cid, SUM(qty) / COUNT(*) AS m FROM sales GROUP BY cid) t",
    ],
)
def test_quotients_of_whole_sums_are_refused_before_they_are_paid(people, statement):
    """PostgreSQL's SUM of an INTEGER is a BIGINT, which divides to a whole number; of a BIGINT it
    is numeric, which does not."""
    with Session(people) as session:
        session.execute("SET privacy_epsilon = 1; SET privacy_dialect = 'postgres'")
        before = spent(session)
        with pytest.raises(Refused, match="whole numbers divide to a whole number in postgres"):
            session.execute(statement)
        assert spent(session) == before
