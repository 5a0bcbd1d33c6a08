"""JupySQL's %sql, over the dialect and over a plain connection, in an IPython shell of its own."""

import atexit

import pytest

import sqlpriv

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("IPython")
pytest.importorskip("sql", reason="JupySQL is not installed")
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402 (after the checks)
from sqlalchemy.dialects import registry  # noqa: E402 (likewise)

registry.register("sqlpriv", "sqlpriv.interfaces.integrations.sqlalchemy", "SqlprivDialect")

ASKED = "SELECT region, COUNT(*) AS n FROM people STRATIFY BY region"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A shell that reports no usage to anybody and keeps no history."""
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "sql")
    made.run_line_magic("config", "SqlMagic.displaycon = False")
    made.run_line_magic("config", "SqlMagic.feedback = 0")
    yield made
    made.run_line_magic("reload_ext", "sql")
    made.atexit_operations()  # while its folder exists; pytest has removed that when Python ends
    atexit.unregister(made.atexit_operations)


def ask(shell, sql):
    return shell.run_cell_magic("sql", "", sql).DataFrame()


@pytest.mark.filterwarnings("ignore")  # JupySQL's own, of the libraries it stands on
def test_a_private_answer_and_a_released_table(shell, vault, spent):
    shell.run_line_magic("sql", f"sqlpriv:///{vault}?privacy_epsilon=0.5 --alias people")
    frame = ask(shell, ASKED)
    assert frame["region"].tolist()[:3] == ["north", "south", "isles"]
    assert frame["region"].isna().tolist() == [False, False, False, True]
    assert ask(shell, "SELECT count(*) AS n FROM staff")["n"].tolist() == [500]
    assert spent() == (1, pytest.approx(0.5, rel=0.01))
    shell.run_line_magic("sql", "--close people")


@pytest.mark.filterwarnings("ignore")
def test_a_plain_connection(shell, vault):
    connection = sqlpriv.connect(vault)
    connection.execute("SET privacy_epsilon = 0.5")
    shell.user_ns["connection"] = connection
    shell.run_line_magic("sql", "connection --alias plain")
    assert ask(shell, ASKED)["n"].notna().all()
    shell.run_line_magic("sql", "--close plain")
    with pytest.raises(sqlpriv.InterfaceError, match="closed"):
        connection.cursor()
