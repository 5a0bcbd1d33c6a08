"""A ledger as programs before 0.1 made it: with the logins of a server in it."""

import hashlib
import sqlite3
from contextlib import closing

OLD_LOGINS = """
-- Names and hashed secrets; the latest record of a name counts, and the role 'none' revokes.
CREATE TABLE login (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    principal TEXT NOT NULL,  -- who said so
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'owner', 'none')),
    salt BLOB NOT NULL,
    hash BLOB NOT NULL,       -- scrypt
    expires TEXT,             -- UTC; NULL: never
    timeout REAL,             -- seconds a statement may take; NULL: the server's limit
    concurrency INTEGER       -- statements at once; NULL: the server's limit
);

CREATE INDEX login_name ON login (name);

-- The records in force.
CREATE VIEW user AS
SELECT max(id) AS id, name, role, salt, hash, expires, timeout, concurrency
FROM login
GROUP BY name;

CREATE TRIGGER login_update BEFORE UPDATE ON login
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER login_delete BEFORE DELETE ON login
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER login_replace BEFORE INSERT ON login
WHEN EXISTS (SELECT 1 FROM login WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


def with_logins(ledger, **secrets):
    """Adds the old table of logins to a ledger, and an analyst for each name and secret.

    Args:
        ledger: The file's path.
        secrets: The secret of each name; None for somebody who was removed.
    """
    with closing(sqlite3.connect(ledger, isolation_level=None)) as db:
        db.executescript(OLD_LOGINS)
        for name, secret in (secrets or {"ann": "a secret of ann's"}).items():
            salt = name.encode() * 4
            hashed = secret and hashlib.scrypt(
                secret.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32
            )
            role = "analyst" if secret else "none"
            row = ("2026-01-01T00:00:00+00:00", "o", name, role, salt, hashed or b"")
            sql = "INSERT INTO login (at, principal, name, role, salt, hash)"
            db.execute(f"{sql} VALUES (?, ?, ?, ?, ?, ?)", row)
