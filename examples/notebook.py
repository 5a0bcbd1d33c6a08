"""A marimo notebook: ask under the budget, see the error bars, chart a synthetic table.

Edit it with `marimo edit examples/notebook.py`, or run it as a page with `marimo run`. It works on
a vault of made-up people in a temporary directory.
"""

import marimo

app = marimo.App(width="medium", app_title="sqlpriv")


@app.cell
def imports():
    import tempfile

    import marimo as mo

    import sqlpriv

    return mo, sqlpriv, tempfile


@app.cell
def the_owner_declares(sqlpriv, tempfile):
    vault = f"{tempfile.mkdtemp()}/work.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute("""
            CREATE TABLE employees AS
            SELECT i AS id,
                   ['north', 'south', 'islands'][1 + (i % 10) // 6 + i % 10 // 9] AS region,
                   24000 + ((i * 104729) % 61) * 1000 AS salary
            FROM range(20000) AS r(i);
            ALTER TABLE employees ADD PRIMARY KEY (id);
            ALTER TABLE employees ADD PRIVACY_KEY (id);
            ALTER TABLE employees SET PU;
            ALTER TABLE employees ALTER COLUMN region
                SET PRIVACY DOMAIN IN ('north', 'south', 'islands') NOT NULL;
            ALTER TABLE employees ALTER COLUMN salary
                SET PRIVACY DOMAIN BETWEEN (0, 100000) NOT NULL;
            ALTER TABLE employees SET PRIVACY BUDGET (epsilon = 2, delta = 1e-9);
            CREATE SYNTHETIC TABLE staff AS SELECT region, salary FROM employees
                STRATIFY BY region USING independent OPTIONS (epsilon = 1);
        """)
    return (vault,)


@app.cell
def the_analyst_connects(sqlpriv, vault):
    connection = sqlpriv.connect(vault)
    connection.execute("SET privacy_epsilon = 0.2")
    return (connection,)


@app.cell
def a_private_answer(connection):
    # The cursor itself is what a notebook shows: values, their 95 % intervals, and the price.
    answer = connection.execute("""
        SELECT region, COUNT(*) AS people, AVG(salary) AS salary
        FROM employees STRATIFY BY region
    """)
    answer
    return (answer,)


@app.cell
def a_sql_cell(connection, mo):
    # A synthetic table can be asked for ever. SQL cells take the connection as their engine.
    by_region = mo.sql(
        """
        SELECT region, count(*) AS people, avg(salary) AS salary
        FROM staff GROUP BY region ORDER BY people DESC
        """,
        engine=connection,
    )
    return (by_region,)


@app.cell
def what_is_left(connection, mo):
    ((_table, left, total),) = connection.session.budgets()
    mo.md(f"**ε {left:.2f} of {total:.2f}** is left.")
    return left, total


if __name__ == "__main__":
    app.run()
