"""What the engine's settings tell of the server's machine is kept from analysts."""

import pytest

import sqlpriv
from sqlpriv.session.engine_settings import PUBLIC


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("settings") / "v.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(
            "CREATE TABLE t (id BIGINT PRIMARY KEY); INSERT INTO t VALUES (1), (2);"
            "ALTER TABLE t ADD PRIVACY_KEY (id); ALTER TABLE t SET PU;"
            "ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9);"
            "CREATE TABLE p AS SELECT 1 AS k; ALTER TABLE p SET PUBLIC"
        )
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT current_setting('secret_directory')",
        "SELECT Current_Setting ( 'home_directory' )",
        "SELECT current_setting('temp_directory')",
        "SELECT current_setting('extension_directory')",
        "SELECT current_setting('allowed_directories')",
        "SELECT current_setting('sec' || 'ret_directory')",
        "SELECT system.main.\"current_setting\"('secret_directory')",
        "SELECT current_setting(/* */ 'secret_directory')",
        "SELECT k, current_setting('secret_directory') FROM p",
        "SELECT COUNT(*) || current_setting('secret_directory') FROM t",
        "SELECT n, current_setting('secret_directory') FROM (SELECT COUNT(*) AS n FROM t) AS q",
        "SELECT current_setting('secret_directory') FROM information_schema.tables",
        "EXPLAIN SELECT current_setting('secret_directory')",
    ],
)
def test_no_analyst_learns_of_the_servers_folders(vault, sql):
    with sqlpriv.connect(vault) as analyst:
        before = analyst.session.budgets()
        for run in (analyst.execute, analyst.session.describe, analyst.session.quote):
            with pytest.raises(sqlpriv.Refused, match="not told") as told:
                run("SET privacy_epsilon = 0.1; " + sql)
            assert "TimeZone" in told.value.hint
        assert analyst.session.budgets() == before


def test_the_name_of_a_setting_is_no_parameter(vault):
    with (
        sqlpriv.connect(vault) as analyst,
        pytest.raises(sqlpriv.Refused, match="line 2, column 8"),
    ):
        analyst.execute("SELECT 1,\n       current_setting(?)", ["secret_directory"])


def test_the_table_of_settings_is_out_of_reach(vault):
    with sqlpriv.connect(vault) as analyst, pytest.raises(sqlpriv.Refused, match="out of reach"):
        analyst.execute("SELECT value FROM duckdb_settings()")


def test_settings_that_say_what_sql_means_are_told(vault):
    asked = ", ".join(f"current_setting('{name}')" for name in PUBLIC)
    with sqlpriv.connect(vault) as analyst:
        (row,) = analyst.execute(f"SELECT {asked}").fetchall()
        assert row[0] == "UTC"
        assert not any("/" in str(value) for value in row)


def test_an_owner_may_ask_for_every_setting(vault):
    with sqlpriv.connect(vault, role="owner") as owner:
        ((folder,),) = owner.execute("SELECT current_setting('secret_directory')").fetchall()
    assert folder
