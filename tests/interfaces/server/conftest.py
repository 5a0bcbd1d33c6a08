"""A served vault with two analysts and an owner; stock clients and our own for it."""

import datetime as dt
import ipaddress
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.places import copy_vault

import sqlpriv

pytest.importorskip("google.protobuf")

from pyarrow import flight

from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.endpoints.listen import Limits, Server
from sqlpriv.interfaces.server.spending_rules import SpendingRules
from sqlpriv.kernel.ledger.records import Ledger

SETUP = """
CREATE TABLE people (id BIGINT UNIQUE, sex INTEGER, income DOUBLE, secret VARCHAR);
INSERT INTO people SELECT i, i % 2 + 1, i % 100, 'hidden-' || i FROM range(500) r(i);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 10);
"""
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"


@dataclass
class Served:
    """A server, the tokens of its users, and clients that are closed when the test is over."""

    server: Server
    vault: Path
    ca: Path
    tokens: dict[str, str]
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        return self.server.location

    def adbc(self, name="ada", **options):
        """Returns a connection of the stock ADBC driver."""
        adbc = pytest.importorskip("adbc_driver_flightsql.dbapi")
        known = {"adbc.flight.sql.client_option.tls_root_certs": self.ca.read_text()}
        if name is not None:
            header = f"Bearer {self.tokens.get(name, name)}"
            known["adbc.flight.sql.authorization_header"] = header
        found = adbc.connect(self.url, db_kwargs={**known, **options}, autocommit=True)
        return self.opened.enter_context(closing(found))

    def connect(self, name="ada"):
        """Returns a connection of our own."""
        found = sqlpriv.connect(self.url, token=self.tokens.get(name, name), ca=self.ca)
        return self.opened.enter_context(found)

    def flight(self, name="ada"):
        """Returns a bare Flight client and the options of its calls."""
        client = flight.connect(self.url, tls_root_certs=self.ca.read_bytes())
        header = (b"authorization", f"Bearer {self.tokens.get(name, name)}".encode())
        self.opened.enter_context(closing(client))
        return client, flight.FlightCallOptions(headers=[header])

    def postgresql(self, name="ada", **more):
        """Returns what psycopg and libpq connect with."""
        host, port = self.server.postgresql.address
        user = name if name in self.tokens else "ada"
        known = {"host": host, "port": port, "user": user, "dbname": "people"}
        known |= {"password": self.tokens.get(name, name), "sslmode": "verify-full"}
        return {**known, "sslrootcert": str(self.ca), "connect_timeout": 20, **more}

    def psycopg(self, name="ada", **more):
        """Returns a connection of psycopg 3 that commits by itself."""
        psycopg = pytest.importorskip("psycopg")
        found = psycopg.connect(**self.postgresql(name), autocommit=True, **more)
        return self.opened.enter_context(found)

    def add_user(self, name, **rules):
        """Lets somebody in who spends by rules."""
        rules = SpendingRules(**rules)
        secret = users.add_user(self.vault, name, "analyst", "test", rules=rules)
        self.tokens = {**self.tokens, name: f"{name}.{secret}"}

    def account(self):
        """Returns (number of charges, nanos spent) of the one budget."""
        with closing(Ledger(self.vault.with_suffix(".ledger"))) as ledger:
            account = ledger.account("people")
            return account.charges, account.spent.nano


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate of this machine that nobody else trusts: the paths of it and of its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - dt.timedelta(hours=1))
    made = made.not_valid_after(now + dt.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName(here), critical=False)
    directory = tmp_path_factory.mktemp("tls")
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    bare = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    (directory / "key.pem").write_bytes(bare)
    (directory / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    return directory / "cert.pem", directory / "key.pem"


@pytest.fixture(scope="session")
def declared(tmp_path_factory):
    """A directory with a vault, its ledger and a synthetic table; and its users' tokens."""
    vault = tmp_path_factory.mktemp("declared") / "people.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(SETUP)
        owner.execute(
            "CREATE SYNTHETIC TABLE made AS SELECT sex, income FROM people USING independent"
            " OPTIONS (epsilon = 1, rows = 500)"
        )
    tokens = {}
    for name, role in (("ada", "analyst"), ("bob", "analyst"), ("olga", "owner")):
        tokens[name] = f"{name}.{users.add_user(vault, name, role, 'test')}"
    return vault.parent, tokens


@pytest.fixture
def serve(declared, certificate, tmp_path):
    """Serves a copy of the vault, within the limits that are given.

    Answers leave when they are there, unless `exact_times=False` is given: see `test_running`.
    """
    directory, tokens = declared
    with ExitStack() as stack:

        def start(previews=None, **limits):
            copy_vault(directory, tmp_path)
            tls = tuple(path.read_bytes() for path in certificate)
            vault, listen = tmp_path / "people.duckdb", "grpc+tls://127.0.0.1:0"
            places = {"postgresql": "127.0.0.1:0", "previews": previews, "monitor": "127.0.0.1:0"}
            within = Limits(**{"exact_times": True, **limits})
            server = Server(vault, listen, tls, limits=within, **places)
            served = Served(stack.enter_context(server), vault, certificate[0], tokens)
            stack.enter_context(served.opened)
            return served

        yield start


@pytest.fixture
def served(serve):
    return serve()
