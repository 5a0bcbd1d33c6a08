-- The ledger's schema in PostgreSQL, made whole in one transaction: what schema_1.sql to schema_4.sql make of a SQLite file.
CREATE TABLE declaration (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, principal TEXT NOT NULL, subject TEXT NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE budget (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, principal TEXT NOT NULL, unit_table TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')), nano BIGINT NOT NULL CHECK (nano BETWEEN 1 AND 1000000000000000000),
    delta DOUBLE PRECISION NOT NULL, holder TEXT NOT NULL DEFAULT '',
    yocto BIGINT NOT NULL DEFAULT 0 CHECK (yocto BETWEEN 0 AND 1000000000000000000),
    per TEXT NOT NULL DEFAULT '' CHECK (per IN ('', 'day', 'week', 'month', 'quarter', 'year')), until TEXT NOT NULL DEFAULT '',
    whole BIGINT NOT NULL DEFAULT 0 CHECK (whole BETWEEN 0 AND 1000000000000000000)
);
CREATE TABLE snapshot (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, fingerprint TEXT NOT NULL, hash_key BYTEA NOT NULL
);
CREATE TABLE fact (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, snapshot_id BIGINT NOT NULL REFERENCES snapshot,
    body TEXT NOT NULL
);
CREATE TABLE statement (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, principal TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE charge (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, statement_id BIGINT NOT NULL REFERENCES statement,
    unit_table TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),
    nano BIGINT NOT NULL CHECK (nano BETWEEN 1 AND 1000000000000000000),
    yocto BIGINT NOT NULL DEFAULT 0 CHECK (yocto BETWEEN 0 AND 1000000000000000000),
    snapshot_id BIGINT REFERENCES snapshot, strata TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE seal (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, charge_id BIGINT NOT NULL REFERENCES charge,
    statement_id BIGINT NOT NULL REFERENCES statement, snapshot_id BIGINT NOT NULL REFERENCES snapshot,
    query_hash TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),
    nano BIGINT NOT NULL CHECK (nano BETWEEN 1 AND 1000000000000000000),
    sigma DOUBLE PRECISION NOT NULL, payload BYTEA NOT NULL
);
CREATE TABLE replay (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, seal_id BIGINT NOT NULL REFERENCES seal,
    statement_id BIGINT NOT NULL REFERENCES statement
);
CREATE INDEX seal_query ON seal (snapshot_id, query_hash, kind, nano DESC);
CREATE INDEX replay_seal ON replay (seal_id);

-- Whoever writes holds the lock on its one row; `ledger` is the ledger's own name, which a copy of it keeps.
CREATE TABLE guard (one BOOLEAN PRIMARY KEY CHECK (one), ledger TEXT NOT NULL);
INSERT INTO guard VALUES (true, gen_random_uuid()::TEXT);

CREATE FUNCTION append_only() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'append-only'; END $$;
DO $$
DECLARE kept TEXT;
BEGIN
    FOREACH kept IN ARRAY ARRAY['declaration', 'budget', 'snapshot', 'fact', 'statement', 'charge', 'seal', 'replay', 'guard'] LOOP
        EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I EXECUTE FUNCTION append_only()', kept);
    END LOOP;
END $$;
