-- What the servers of one vault share beside its ledger, made whole in one transaction; see server_database.py.

-- One row: the version of this schema, and the key that signs what one server gives and another takes.
CREATE TABLE common (one BOOLEAN PRIMARY KEY DEFAULT true CHECK (one), version INTEGER NOT NULL, key BYTEA NOT NULL);

-- The columns of people.users: see users_file.py.
CREATE TABLE login (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT NOT NULL, principal TEXT NOT NULL, name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'owner', 'none')), salt BYTEA NOT NULL, hash BYTEA NOT NULL, expires TEXT,
    timeout DOUBLE PRECISION, concurrency INTEGER, scram TEXT, epsilon DOUBLE PRECISION, daily_epsilon DOUBLE PRECISION,
    only_asked_before BOOLEAN NOT NULL DEFAULT false, error_columns BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX login_name ON login (name, id DESC);
CREATE VIEW "user" AS
SELECT DISTINCT ON (name) id, name, role, salt, hash, expires, timeout, concurrency, scram, epsilon, daily_epsilon,
    only_asked_before, error_columns
FROM login ORDER BY name, id DESC;
CREATE TABLE day_price (day TEXT NOT NULL, name TEXT NOT NULL, unit_table TEXT NOT NULL, kind TEXT NOT NULL, nano BIGINT NOT NULL);
CREATE INDEX day_price_day ON day_price (day, name);
CREATE FUNCTION append_only() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'append-only'; END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON login EXECUTE FUNCTION append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON day_price EXECUTE FUNCTION append_only();

-- Sessions of Flight SQL: what was SET (JSON), and how often that changed.
CREATE TABLE session (
    user_id BIGINT NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL, version BIGINT NOT NULL DEFAULT 0,
    last_used TIMESTAMPTZ NOT NULL DEFAULT now(), PRIMARY KEY (user_id, name)
);
CREATE INDEX session_last_used ON session (last_used);

-- Prepared statements and unused tickets: text and parameter names (JSON), and values, once bound (a stream of Arrow).
CREATE TABLE handle (
    handle BYTEA PRIMARY KEY, number BIGINT GENERATED ALWAYS AS IDENTITY, user_id BIGINT NOT NULL, session TEXT NOT NULL,
    body BYTEA NOT NULL, parameters BYTEA, FOREIGN KEY (user_id, session) REFERENCES session ON DELETE CASCADE
);
CREATE INDEX handle_session ON handle (user_id, session, number);
