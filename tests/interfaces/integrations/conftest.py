"""A vault as the tools that people have meet it: one private table, one public, one released."""

import pytest
from support.places import copy_vault

import sqlpriv
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.plan.pricing.display import epsilon_shown

VAULT = """
CREATE TABLE people AS
SELECT i AS id, ['north', 'south', 'isles'][1 + i % 3] AS region, 20 + (i * 7919) % 45 AS age,
       24000 + ((i * 104729) % 61) * 1000.0 AS income
FROM range(3000) AS r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'isles');
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (18, 70) NOT NULL;
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 100000);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 10, delta = 1e-9);
CREATE TABLE regions (region VARCHAR, weight DOUBLE);
INSERT INTO regions VALUES ('north', 0.5), ('south', 0.3), ('isles', 0.2);
ALTER TABLE regions SET PUBLIC;
CREATE SYNTHETIC TABLE staff AS SELECT region, age, income FROM people
    USING independent OPTIONS (epsilon = 4, rows = 500);
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The directory of the vault; tests get copies."""
    directory = tmp_path_factory.mktemp("made")
    with sqlpriv.connect(directory / "people.duckdb", role="owner") as owner:
        owner.execute(VAULT)
    return directory


@pytest.fixture
def vault(made, tmp_path):
    copy_vault(made, tmp_path)
    return tmp_path / "people.duckdb"


@pytest.fixture
def spent(vault):
    """Tells the epsilon that has been spent since the test began, and in how many charges."""

    def account():
        with sqlpriv.connect(vault) as connection:
            (row,) = connection.execute("SHOW PRIVACY BUDGET").arrow().to_pylist()
        return row["charges"], row["rho_spent"]

    charges, rho = account()

    def since():
        now = account()
        return now[0] - charges, epsilon_shown(Rho.at_most(now[1] - rho), 1e-9)

    return since
