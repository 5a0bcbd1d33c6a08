-- Version 5, over schema_4.sql: answers are found by price as well. Without it each look-up read every earlier answer to a query,
-- 12 ms a statement after a thousand at rising prices. No record changes.
PRAGMA user_version = 5;

DROP INDEX seal_query;
CREATE INDEX seal_query ON seal (snapshot_id, query_hash, kind, nano DESC);
