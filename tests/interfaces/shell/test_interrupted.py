"""What the shell says of a statement that Ctrl-C ended: what is left, and of what."""

import io

import pytest

import sqlpriv
from sqlpriv.interfaces.shell.shell import Shell
from sqlpriv.session.session import Session

PAID = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM t;"


@pytest.mark.parametrize(
    ("statement", "loss"), [(PAID, "t has ε 2.94717 left, of 3 before."), ("SELECT 1;", "")]
)
def test_an_interrupted_statement_tells_what_it_cost(tmp_path, monkeypatch, statement, loss):
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner") as owner:
        owner.execute("CREATE TABLE t AS SELECT i AS id FROM range(100) r(i)")
        owner.execute(
            "ALTER TABLE t SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1),"
            " BUDGET (epsilon = 3, delta = 1e-9))"
        )
    execute = Session.execute

    def execute_and_interrupt(*args, **options):
        execute(*args, **options)
        raise KeyboardInterrupt

    err = io.StringIO()
    with Session(tmp_path / "v.duckdb", principal="ada") as session:
        shell = Shell(session, io.StringIO(), err)
        shell.prompt()
        monkeypatch.setattr(Session, "execute", execute_and_interrupt)
        shell.take(statement)
    said = err.getvalue()
    assert "a read that was cut off is charged again." in said
    assert ("left, of" in said) == bool(loss)
    assert loss in said
