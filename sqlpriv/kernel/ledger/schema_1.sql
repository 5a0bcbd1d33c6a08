-- The ledger's schema, to the letter: a file with any other is refused (ledger.py).
PRAGMA user_version = 1;

-- Every price is a whole number of nanos; every table is append-only: see the triggers.

-- What the owner said of a table; its latest declaration counts.
CREATE TABLE declaration (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,  -- UTC
    principal TEXT NOT NULL,
    subject TEXT NOT NULL,  -- a table's name, lower case
    kind TEXT NOT NULL,     -- 'contract': its meaning never changes; a new meaning takes a new kind
    body TEXT NOT NULL      -- JSON: see contract.py
);

-- What may ever be learned about the units of a table; the latest counts.
CREATE TABLE budget (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    principal TEXT NOT NULL,
    unit_table TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),
    nano INTEGER NOT NULL CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND 1000000000000000000),
    delta REAL NOT NULL
);

-- States of the vault; hash_key decides which rows of a unit are kept in it.
CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    hash_key BLOB NOT NULL
);

-- What was found true of a snapshot's rows; the latest counts.
CREATE TABLE fact (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    snapshot_id INTEGER NOT NULL REFERENCES snapshot,
    body TEXT NOT NULL
);

-- Who asked what.
CREATE TABLE statement (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    principal TEXT NOT NULL,
    text TEXT NOT NULL
);

-- What was paid: never refunded. What was spent is the sum of these.
CREATE TABLE charge (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    statement_id INTEGER NOT NULL REFERENCES statement,
    unit_table TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),
    nano INTEGER NOT NULL CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND 1000000000000000000)
);

-- Noised answers, each under the charge that paid for it.
CREATE TABLE seal (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    charge_id INTEGER NOT NULL REFERENCES charge,
    statement_id INTEGER NOT NULL REFERENCES statement,
    snapshot_id INTEGER NOT NULL REFERENCES snapshot,
    query_hash TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),
    nano INTEGER NOT NULL CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND 1000000000000000000),
    sigma REAL NOT NULL,
    payload BLOB NOT NULL
);

-- Which statements were answered from which seals, at no cost.
CREATE TABLE replay (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    seal_id INTEGER NOT NULL REFERENCES seal,
    statement_id INTEGER NOT NULL REFERENCES statement
);

CREATE INDEX seal_query ON seal (snapshot_id, query_hash);
CREATE INDEX replay_seal ON replay (seal_id);

-- The declarations in force: the latest of each table, whatever its kind.
CREATE VIEW declared AS
SELECT max(id) AS id, subject, kind, body FROM declaration GROUP BY subject, kind ORDER BY 1;

-- The latest budget of each unit's table, its charges, how many are not of its kind, and their sum.
CREATE VIEW account AS
SELECT budget.unit_table, budget.kind, budget.nano, budget.delta, count(charge.id) AS charges,
    count(charge.id) FILTER (WHERE charge.kind <> budget.kind) AS alien,
    coalesce(sum(charge.nano), 0) AS spent
FROM budget
LEFT JOIN charge ON charge.unit_table = budget.unit_table
WHERE budget.id = (SELECT max(id) FROM budget AS b WHERE b.unit_table = budget.unit_table)
GROUP BY budget.id;

-- The latest snapshot, with its latest facts.
CREATE VIEW state AS
SELECT id, fingerprint, hash_key,
    (SELECT body FROM fact WHERE snapshot_id = snapshot.id ORDER BY id DESC LIMIT 1) AS facts
FROM snapshot
ORDER BY id DESC
LIMIT 1;

-- Every answer that was given and what it cost: public, for display.
CREATE VIEW release AS
SELECT seal.id, seal.at, statement.principal, statement.text AS statement, charge.unit_table,
    seal.kind, seal.nano, (SELECT count(*) FROM replay WHERE replay.seal_id = seal.id) AS replays
FROM seal
JOIN statement ON statement.id = seal.statement_id
JOIN charge ON charge.id = seal.charge_id
ORDER BY seal.id;

-- Nothing is changed, taken back or replaced. In an INSERT, NEW.id is -1 where SQLite is to choose
-- it, so only a REPLACE names one that is there.

CREATE TRIGGER declaration_update BEFORE UPDATE ON declaration
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER declaration_delete BEFORE DELETE ON declaration
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER declaration_replace BEFORE INSERT ON declaration
WHEN EXISTS (SELECT 1 FROM declaration WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER budget_update BEFORE UPDATE ON budget
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER budget_delete BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER budget_replace BEFORE INSERT ON budget
WHEN EXISTS (SELECT 1 FROM budget WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER snapshot_update BEFORE UPDATE ON snapshot
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER snapshot_delete BEFORE DELETE ON snapshot
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER snapshot_replace BEFORE INSERT ON snapshot
WHEN EXISTS (SELECT 1 FROM snapshot WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER fact_update BEFORE UPDATE ON fact
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER fact_delete BEFORE DELETE ON fact
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER fact_replace BEFORE INSERT ON fact
WHEN EXISTS (SELECT 1 FROM fact WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER statement_update BEFORE UPDATE ON statement
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER statement_delete BEFORE DELETE ON statement
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER statement_replace BEFORE INSERT ON statement
WHEN EXISTS (SELECT 1 FROM statement WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER charge_update BEFORE UPDATE ON charge
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER charge_delete BEFORE DELETE ON charge
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER charge_replace BEFORE INSERT ON charge
WHEN EXISTS (SELECT 1 FROM charge WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER seal_update BEFORE UPDATE ON seal
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER seal_delete BEFORE DELETE ON seal
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER seal_replace BEFORE INSERT ON seal
WHEN EXISTS (SELECT 1 FROM seal WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;

CREATE TRIGGER replay_update BEFORE UPDATE ON replay
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER replay_delete BEFORE DELETE ON replay
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER replay_replace BEFORE INSERT ON replay
WHEN EXISTS (SELECT 1 FROM replay WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
