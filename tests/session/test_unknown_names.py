"""A name that no answer has is refused with its place, before anything is charged."""

import pytest

import sqlpriv

N = "(SELECT sex, COUNT(*) AS total FROM people GROUP BY sex) AS q"


@pytest.fixture(scope="module")
def analyst(tmp_path_factory):
    path = tmp_path_factory.mktemp("unknown") / "v.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(
            "CREATE TABLE people AS SELECT i AS id, i % 2 AS sex FROM range(100) AS r(i);"
            "ALTER TABLE people ADD PRIMARY KEY (id);"
            "ALTER TABLE people ADD PRIVACY_KEY (id); ALTER TABLE people SET PU;"
            "ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9);"
            "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);"
            "CREATE TABLE labels AS SELECT 0 AS code, 'f' AS label;"
            "ALTER TABLE labels SET PUBLIC"
        )
    with sqlpriv.connect(path) as connection:
        connection.execute("SET privacy_epsilon = 0.1")
        yield connection


@pytest.mark.parametrize(
    ("sql", "name", "column", "hint"),
    [
        (f"SELECT totl FROM {N}", "totl", 8, "did you mean total? FROM has sex, total"),
        (f"SELECT q.totl + 1 FROM {N}", "totl", 10, "did you mean total? FROM has sex, total"),
        (f"SELECT sex FROM {N} ORDER BY nope", "nope", 88, "FROM has sex, total"),
        (f"SELECT id FROM {N}", "id", 8, "FROM has sex, total"),
        (
            f"WITH q AS {N[:-5]} SELECT sex, income FROM q WHERE total > 5",
            "income",
            80,
            "FROM has sex, total",
        ),
        (
            f"SELECT total, lable FROM {N} JOIN labels ON sex = code",
            "lable",
            15,
            "did you mean label? FROM has sex, total, code, label",
        ),
    ],
)
def test_an_unknown_column_is_refused_with_its_place(analyst, sql, name, column, hint):
    before = analyst.session.budgets()
    for run in (analyst.execute, analyst.session.describe, analyst.session.quote):
        with pytest.raises(sqlpriv.Refused) as told:
            run(sql)
        assert told.value.message == f'there is no column "{name}" in FROM'
        assert (told.value.line, told.value.column) == (1, column)
        assert told.value.hint.startswith(hint)
    assert analyst.session.budgets() == before


@pytest.mark.parametrize(
    ("sql", "column", "message", "hint"),
    [
        (f"SELECT sex, z.total FROM {N}", 13, 'there is no table "z" in FROM', "the alias"),
        (f"SELECT sex, foo(total) FROM {N}", 13, "there is no function foo", "did you mean floor"),
        (
            "SELECT sex, jaro(COUNT(*)) FROM people GROUP BY sex",
            13,
            "there is no function jaro",
            "",
        ),
        (f"SELECT sex, foo(total) OVER () FROM {N}", 13, "there is no function foo", "did you"),
    ],
)
def test_an_unknown_table_or_function_is_refused_with_its_place(
    analyst, sql, column, message, hint
):
    before = analyst.session.budgets()
    with pytest.raises(sqlpriv.Refused) as told:
        analyst.execute(sql)
    assert (told.value.message, told.value.line) == (message, 1)
    assert told.value.column == column
    assert hint in (told.value.hint or "")
    assert analyst.session.budgets() == before


def test_columns_that_are_there_are_answered(analyst):
    assert len(analyst.execute(f"SELECT q.total, sex FROM {N}").fetchall()) == 2
