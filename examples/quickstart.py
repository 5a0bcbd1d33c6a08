"""From a plain table to noised answers and a synthetic table, in Python.

Run it anywhere: `python examples/quickstart.py`. It works in a temporary directory. The employees
are made up on the spot.
"""

import tempfile
from pathlib import Path

import sqlpriv

EMPLOYEES = """
CREATE TABLE employees (id BIGINT PRIMARY KEY, region VARCHAR, age INTEGER, salary INTEGER);
INSERT INTO employees
SELECT i AS id,
       CASE WHEN i % 10 < 6 THEN 'north' WHEN i % 10 < 9 THEN 'south' ELSE 'islands' END AS region,
       20 + (i * 7919) % 45 AS age,
       24000 + ((i * 104729) % 61) * 1000 - CASE WHEN i % 10 = 9 THEN 4000 ELSE 0 END AS salary
FROM range(20000) AS r(i)
"""

DECLARE = """
ALTER TABLE employees ADD PRIVACY_KEY (id);
ALTER TABLE employees SET PU;
ALTER TABLE employees ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'islands');
ALTER TABLE employees ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (18, 70);
ALTER TABLE employees ALTER COLUMN salary SET PRIVACY DOMAIN BETWEEN (0, 100000);
ALTER TABLE employees SET PRIVACY BUDGET (epsilon = 2, delta = 1e-9);
"""

QUESTION = """
SELECT region, COUNT(*) AS people, AVG(salary) AS salary
FROM employees
WHERE age >= ?
STRATIFY BY region
"""


def main(directory: Path) -> None:
    vault = directory / "work.duckdb"

    # The owner loads the data and says, once, whom it protects and what its columns may hold.
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(EMPLOYEES)
        owner.execute(DECLARE)

    # An analyst asks. The price is known beforehand and paid once, however often it is asked.
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 0.5")
        plan = analyst.execute(f"EXPLAIN PRIVACY {QUESTION}", [30]).df()
        columns = ["measurement", "mechanism", "sigma", "epsilon", "expected_error"]
        print(plan[columns].to_string(index=False), "\n")

        answer = analyst.execute(QUESTION, [30])
        print(answer.df())
        print("half-widths of the salaries:", answer.result.half_widths["salary"])
        print(f"it cost epsilon {answer.result.epsilon:.3f}")

        again = analyst.execute(QUESTION, [30])
        print(f"again: epsilon {again.result.epsilon:.3f}\n")

    # A synthetic table can be queried for ever, by any DuckDB, at no further cost.
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(
            "CREATE SYNTHETIC TABLE staff AS SELECT region, age, salary FROM employees"
            " STRATIFY BY region USING independent OPTIONS (epsilon = 1)"
        )
    with sqlpriv.connect(vault) as analyst:
        print(analyst.execute("SELECT region, count(*), avg(salary) FROM staff GROUP BY ALL").df())
        for table, left, total in analyst.session.budgets():
            print(f"{table}: epsilon {left:.2f} of {total:.2f} left")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
