"""Ask a vault over the network: with sqlpriv's own client, and with a stock one (ADBC).

Run it anywhere: `python examples/flight_client.py`. It makes a vault in a temporary directory,
lets ada in, and serves it to this machine for as long as it runs. On a real server the vault's
owner runs `sqlpriv user add` and `sqlpriv serve`, over TLS; analysts have an address and a token.
"""

import tempfile
from pathlib import Path

import sqlpriv
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.endpoints.listen import Server

VAULT = """
CREATE TABLE visits (patient BIGINT PRIMARY KEY, ward VARCHAR, cost DOUBLE);
INSERT INTO visits
SELECT i, CASE WHEN i % 3 = 0 THEN 'north' ELSE 'south' END, 100 + (i * 7919) % 900
FROM range(5000) AS r(i);
ALTER TABLE visits ADD PRIVACY_KEY (patient);
ALTER TABLE visits SET PU;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('north', 'south');
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 1000) NOT NULL;
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 2);
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 1) FOR 'ada';
"""
QUESTION = """
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)
       ward, COUNT(*) AS visits, AVG(cost) AS cost
FROM visits WHERE cost >= ? STRATIFY BY ward
"""


def with_our_client(address: str, token: str) -> None:
    """A connection like that to a file: half-widths and price come along."""
    with sqlpriv.connect(address, token=token) as con:
        cur = con.execute(QUESTION, [200])
        for ward, visits, cost in cur:
            print(f"{ward or 'everybody'}: {visits} visits of {cost:.0f}")
        print("±", [round(x) for x in cur.result.half_widths["visits"]], "ε", cur.result.epsilon)
        try:
            con.execute("SET privacy_epsilon = 0.1; SELECT patient FROM visits")
        except sqlpriv.Refused as refused:
            print(refused)


def with_a_stock_client(address: str, token: str) -> None:
    """ADBC's Flight SQL driver, as any tool may use it: the same question again is free."""
    try:
        import adbc_driver_flightsql.dbapi as adbc
    except ImportError:
        print("pip install adbc-driver-flightsql shows the same with a stock client")
        return
    header = {"adbc.flight.sql.authorization_header": f"Bearer {token}"}
    with adbc.connect(address, db_kwargs=header, autocommit=True) as con, con.cursor() as cur:
        cur.execute(QUESTION, (200,))
        print(cur.fetch_arrow_table().to_pylist())
        cur.execute("SHOW PRIVACY BUDGET")
        print(cur.fetch_arrow_table().select(["principal", "epsilon_left"]).to_pylist())


with tempfile.TemporaryDirectory() as folder:
    vault = Path(folder) / "visits.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(VAULT)
    secret = users.add_user(vault, "ada", "analyst", by="owner")
    with Server(vault, "grpc://127.0.0.1:0") as server:
        with_our_client(server.location, f"ada.{secret}")
        with_a_stock_client(server.location, f"ada.{secret}")
