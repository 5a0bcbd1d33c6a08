-- Version 3, over ledger_2.sql: who may log in to a server. The kernel reads none of it: users.py.
PRAGMA user_version = 3;

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
