"""Who may log in: what is stored of them, and what is not."""

import hashlib
import hmac
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from pyarrow import flight
from support.old_logins import with_logins

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.authentication import Door
from sqlpriv.interfaces.server.secret_hashes import normalize_password, parse_verifier
from sqlpriv.interfaces.server.users_file import users_path


@pytest.fixture
def vault(tmp_path):
    return tmp_path / "people.duckdb"


@pytest.fixture
def keeper(vault):
    with closing(users.Doorkeeper(vault)) as keeper:
        yield keeper


def test_a_secret_is_stored_as_its_scrypt_hash_alone(vault):
    first, second = (users.add_user(vault, name, "analyst", "o") for name in ("ada", "bob"))
    assert min(len(first), len(second)) >= 43  # 256 bits in base64
    assert first != second
    file = users_path(vault)
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute("SELECT name, salt, hash FROM login ORDER BY id").fetchall()
    for (_, salt, stored), secret in zip(rows, (first, second), strict=True):
        assert stored == hashlib.scrypt(secret.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
        assert secret.encode() not in file.read_bytes()
    assert rows[0][1] != rows[1][1]
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_verifier_of_scram_holds_no_secret_either(vault):
    """RFC 7677's own example gives the keys; a token is cheap to hash, a password is not."""
    token = users.add_user(vault, "ada", "analyst", "o")
    users.add_user(vault, "bob", "analyst", "o", secret="a password of bob's")
    with closing(sqlite3.connect(users_path(vault))) as db:
        texts = [text for (text,) in db.execute("SELECT scram FROM login ORDER BY id")]
    ada, bob = map(parse_verifier, texts)
    assert (ada.iterations, bob.iterations) == (4_096, 200_000)
    for verifier, password in ((ada, f"ada.{token}"), (bob, "a password of bob's")):
        salted = hashlib.pbkdf2_hmac(
            "sha256", password.encode(), verifier.salt, verifier.iterations
        )
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        assert verifier.stored_key == hashlib.sha256(client_key).digest()
        assert verifier.server_key == hmac.digest(salted, b"Server Key", "sha256")
        assert parse_verifier(str(verifier)) == verifier
    with pytest.raises(ValueError, match="no SCRAM"):
        parse_verifier("md5abc")


@pytest.mark.parametrize(
    ("written", "hashed"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", "\u0007"),
        ("\u0627\u0031", "\u0627\u0031"),
        ("a\u00a0b", "a b"),
    ],
)
def test_passwords_are_prepared_as_rfc_4013_shows(written, hashed):
    """Its section 3; what it forbids is taken as it is written, which PostgreSQL does, too."""
    assert normalize_password(written) == hashed.encode()


def test_logins_in_an_old_ledger_are_copied_once(vault):
    ledger = vault.with_suffix(".ledger")
    with sqlpriv.connect(vault, role="owner"):
        pass
    with_logins(ledger, gone="secret of gone's", ada="secret of ada's")
    with closing(sqlite3.connect(ledger, isolation_level=None)) as db:
        revoked = "'2026', 'o', 'gone', 'none', x'', x''"
        db.execute(f"INSERT INTO login (at, principal, name, role, salt, hash) VALUES ({revoked})")
    with closing(users.Doorkeeper(vault)) as keeper:
        assert keeper.user("ada", "secret of ada's").id == 2
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.user("gone", "secret of gone's")
        assert keeper.scram_verifier("ada")[0] is None, "nothing stored lets ada prove it by SCRAM"
        users.remove_user(vault, "ada", "o")
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.user("ada", "secret of ada's")
    assert users.list_users(vault) == [], "the ledger's logins are not copied a second time"
    assert users_path(vault).stat().st_mode & 0o777 == 0o600
    assert not list(vault.parent.glob(".people*"))
    with sqlpriv.connect(vault) as analyst:
        assert analyst.execute("SHOW PRIVACY BUDGET").fetchall() == []


def test_a_file_that_is_none_of_users_is_refused(vault):
    users_path(vault).write_bytes(b"people" * 999)
    with pytest.raises(sqlpriv.OperationalError, match=r"people\.users"):
        users.list_users(vault)
    users_path(vault).write_bytes(b"")
    with pytest.raises(sqlpriv.OperationalError, match="no file of users"):
        users.list_users(vault)


def test_two_names_that_differ_in_case_alone_would_share_a_ceiling(vault):
    users.add_user(vault, "ada", "analyst", "o")
    with pytest.raises(sqlpriv.InterfaceError, match='there is a user "ada"'):
        users.add_user(vault, "Ada", "analyst", "o")
    users.remove_user(vault, "ada", "o")
    users.add_user(vault, "Ada", "analyst", "o")


def test_the_latest_record_of_a_name_counts(vault, keeper):
    old = users.add_user(vault, "ada", "analyst", "o")
    assert keeper.user("ada", old).role == "analyst"
    new = users.add_user(vault, "ada", "owner", "o", timeout=5.0, concurrency=2)
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.user("ada", old)
    found = keeper.user("ada", new)
    assert (found.role, found.timeout, found.concurrency) == ("owner", 5.0, 2)
    assert users.list_users(vault) == [found]
    users.remove_user(vault, "ada", "o")
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.user("ada", new)
    assert users.list_users(vault) == []
    with pytest.raises(sqlpriv.InterfaceError, match="no user"):
        users.remove_user(vault, "ada", "o")


def test_a_secret_expires_also_where_it_was_right_before(vault, keeper, monkeypatch):
    until = datetime.now(UTC) + timedelta(hours=1)
    secret = users.add_user(vault, "ada", "analyst", "o", expires=until)
    user = keeper.user("ada", secret)
    token = keeper.pass_for(user, until + timedelta(hours=1))
    short = keeper.pass_for(user, datetime.now(UTC) - timedelta(seconds=2))
    assert keeper.bearer(token) == keeper.bearer(f"ada.{secret}") == user
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.bearer(short)

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(minutes=61)

    monkeypatch.setattr(users, "datetime", Later)
    for shown in (token, f"ada.{secret}"):
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.bearer(shown)


def test_a_pass_is_of_one_process_and_cannot_be_altered(vault, keeper):
    users.add_user(vault, "olga", "owner", "o")
    user = keeper.user("ada", users.add_user(vault, "ada", "analyst", "o"))
    until = datetime.now(UTC) + timedelta(hours=1)
    token = keeper.pass_for(user, until)
    name, number, when, signature = token.split(".")
    with closing(users.Doorkeeper(vault)) as another, pytest.raises(sqlpriv.PermissionDenied):
        another.bearer(token)
    for shown in (
        f"olga.{number}.{when}.{signature}",
        f"{name}.{number}.{int(when) + 1}.{signature}",
        f"{name}.1.{when}.{signature}",
        f"{name}.{number}.{when}.",
        f"{name}.x.{when}.{signature}",
    ):
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.bearer(shown)


@pytest.mark.parametrize("shown", ["wrong", "", "\u00e4", "x" * 10_000])
def test_in_vain_costs_the_same_work_and_says_the_same(vault, keeper, monkeypatch, shown):
    """One hash each, of a known and an unknown name: timing tells nobody which names there are."""
    users.add_user(vault, "ada", "analyst", "o")
    hashed, told = [], set()
    real = users.scrypt_hash
    monkeypatch.setattr(users, "scrypt_hash", lambda *args: hashed.append(1) or real(*args))
    for name in ("ada", "nobody", ""):
        with pytest.raises(sqlpriv.PermissionDenied) as refused:
            keeper.user(name, shown)
        told.add(str(refused.value))
    assert (len(hashed), told) == (3, {users.DENIED})


@pytest.mark.parametrize("error", [ValueError("memory limit exceeded"), MemoryError()])
def test_a_login_without_memory_is_not_denied(vault, keeper, monkeypatch, error):
    """OpenSSL's failure to allocate was taken for a wrong token, and the audit log said so."""
    secret = users.add_user(vault, "ada", "analyst", "o")

    def fail(*_args, **_more):
        raise error

    written = []
    door = Door(keeper, SimpleNamespace(write=lambda *event, **_: written.append(event)))
    call = SimpleNamespace(method=flight.FlightMethod.DO_GET)
    headers = {"authorization": [f"Bearer ada.{secret}"]}
    with monkeypatch.context() as without_memory:
        without_memory.setattr(hashlib, "scrypt", fail)
        with pytest.raises(flight.FlightServerError, match="memory is short"):
            door.start_call(call, headers)
    assert not written
    with pytest.raises(flight.FlightUnauthenticatedError):
        door.start_call(call, {"authorization": ["Bearer ada.wrong"]})
    assert written == [("denied",)]
    assert door.start_call(call, headers).user.name == "ada"


def test_the_hash_is_not_run_again_for_a_secret_that_was_right(vault, keeper, monkeypatch):
    secret = users.add_user(vault, "ada", "analyst", "o")
    keeper.user("ada", secret)
    monkeypatch.setattr(users, "scrypt_hash", None)
    assert keeper.user("ada", secret).name == "ada"


@pytest.mark.parametrize(
    ("name", "role", "more"),
    [
        ("a b", "analyst", {}),
        ("a.b", "analyst", {}),
        ("", "analyst", {}),
        ("1a", "analyst", {}),
        ("a" * 64, "analyst", {}),
        ("ada", "none", {}),
        ("ada", "analyst", {"secret": "short"}),
        ("ada", "analyst", {"timeout": 0.0}),
        ("ada", "analyst", {"concurrency": 0}),
    ],
)
def test_what_is_no_user_is_not_stored(vault, name, role, more):
    with pytest.raises(sqlpriv.Error):
        users.add_user(vault, name, role, "o", **more)
    assert users.list_users(vault) == []


def command(*words):
    """What `sqlpriv WORDS…` prints; the program's own process is what test_terminal.py starts."""
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.mark.whole
def test_the_command_line_lets_in_and_out(tmp_path):
    vault = tmp_path / "people.duckdb"
    assert "no vault" in command("user", "add", vault, "ada").stderr
    with sqlpriv.connect(vault, role="owner"):
        pass
    added = command("user", "add", vault, "ada", "--expires", "2h", "--timeout", 9)
    assert (added.exit_code, added.stdout.startswith("ada.")) == (0, True)
    assert "not shown again" in added.stderr
    shown = command("user", "list", vault).stdout
    assert shown.split()[:3] == ["ada", "analyst", "until"]
    assert "9 s a statement" in shown
    assert added.stdout.strip().partition(".")[2] not in shown
    assert command("user", "remove", vault, "ada").exit_code == 0
    assert command("user", "remove", vault, "ada").exit_code == 1
    assert command("user", "list", vault).stdout == ""
    for words, said in (
        (("--listen", "grpc+tls://127.0.0.1:0"), "openssl req"),
        (("--listen", "grpc://0.0.0.0:0"), "passwords in clear"),
        (("--listen", "http://127.0.0.1:0"), "grpc+tls://HOST:PORT"),
        (("--key", vault), "both --certificate and --key"),
    ):
        refused = command("serve", vault, *words)
        assert refused.exit_code in (1, 2)
        assert said in refused.stderr


def test_the_first_message_of_scram_costs_as_many_lookups_for_every_name(vault, keeper):
    """Over a network, a second lookup for a name that nobody has is seen by time."""
    users.add_user(vault, "ada", "analyst", "o")
    lookups, database = [], keeper._db
    keeper._db = SimpleNamespace(
        execute=lambda *args: lookups.append(args[0]) or database.execute(*args)
    )
    counts = []
    for name in ("ada", "nobody", ""):
        lookups.clear()
        keeper.scram_verifier(name)
        counts.append(len(lookups))
    keeper._db = database
    assert counts == [2, 2, 2]


def test_what_an_unknown_name_is_shown_outlives_the_server(vault):
    """A salt that a restart changes would be that of nobody."""
    users.add_user(vault, "ada", "analyst", "o")
    shown = []
    for _ in range(2):
        with closing(users.Doorkeeper(vault)) as keeper:
            verifiers = [keeper.scram_verifier(name)[1] for name in ("ada", "nobody", "somebody")]
        shown.append([(verifier.salt, verifier.iterations) for verifier in verifiers])
    assert shown[0] == shown[1]
    assert len({salt for salt, _ in shown[0]}) == 3
