-- What PostgreSQL's clients ask of tables, columns, keys and types; the tables of pgcat are filled before.
CREATE VIEW pgcat.pg_attribute AS SELECT attrelid, attname, atttypid, attnum, attnotnull,
    -1 AS atttypmod, -1 AS attlen, 0 AS attndims, false AS atthasdef, false AS attisdropped,
    false AS atthasmissing, true AS attislocal, 0 AS attinhcount, 0::BIGINT AS attcollation,
    '' AS attidentity, '' AS attgenerated, 'p' AS attstorage, '' AS attcompression,
    -1 AS attstattarget, NULL::VARCHAR[] AS attacl, NULL::VARCHAR[] AS attoptions,
    NULL::VARCHAR[] AS attfdwoptions
FROM pgcat.attributes;
CREATE VIEW pgcat.pg_class AS SELECT oid, relname, relnamespace, relkind, relnatts,
    0::BIGINT AS reltype, 0::BIGINT AS reloftype, 10::BIGINT AS relowner,
    CASE relkind WHEN 'r' THEN 2 ELSE 403 END::BIGINT AS relam, oid AS relfilenode,
    0::BIGINT AS reltablespace, 0 AS relpages, -1.0::FLOAT AS reltuples, 0::BIGINT AS reltoastrelid,
    EXISTS (SELECT 1 FROM pgcat.indexes i WHERE i.indrelid = c.oid) AS relhasindex,
    false AS relisshared, 'p' AS relpersistence, 0::SMALLINT AS relchecks, false AS relhasrules,
    false AS relhastriggers, false AS relhassubclass, false AS relrowsecurity,
    false AS relforcerowsecurity, true AS relispopulated, 'd' AS relreplident,
    false AS relispartition, NULL::VARCHAR AS relpartbound, NULL::VARCHAR[] AS relacl,
    NULL::VARCHAR[] AS reloptions, false AS relhasoids
FROM pgcat.classes c;
CREATE VIEW pgcat.pg_constraint AS SELECT *, 0::BIGINT AS contypid, 0::BIGINT AS conparentid,
    false AS condeferrable, false AS condeferred, true AS convalidated, 'a' AS confupdtype,
    'a' AS confdeltype, 's' AS confmatchtype, true AS conislocal, 0 AS coninhcount,
    true AS connoinherit
FROM pgcat.constraints;
CREATE VIEW pgcat.pg_index AS SELECT *, true AS indisunique, 1::SMALLINT AS indnatts,
    1::SMALLINT AS indnkeyatts, false AS indisexclusion, true AS indimmediate,
    false AS indisclustered, true AS indisvalid, true AS indisready, true AS indislive,
    false AS indisreplident, false AS indnullsnotdistinct, NULL::VARCHAR AS indexprs,
    NULL::VARCHAR AS indpred, '0' AS indoption, [0::BIGINT] AS indclass, [0::BIGINT] AS indcollation
FROM pgcat.indexes;
CREATE VIEW pgcat.pg_type AS SELECT oid, typname, sql_name, typelem, typlen, typcategory,
    11::BIGINT AS typnamespace, 10::BIGINT AS typowner, typlen > 0 AND typlen <= 8 AS typbyval,
    'b' AS typtype, false AS typispreferred, true AS typisdefined, ',' AS typdelim,
    0::BIGINT AS typrelid, 0::BIGINT AS typbasetype, -1 AS typtypmod, 0 AS typndims,
    false AS typnotnull, 0::BIGINT AS typcollation, NULL::VARCHAR AS typdefault,
    coalesce((SELECT min(a.oid) FROM pgcat.types a WHERE a.typelem = t.oid), 0) AS typarray,
    concat(stem, 'in') AS typinput, concat(stem, 'out') AS typoutput,
    concat(stem, 'recv') AS typreceive, concat(stem, 'send') AS typsend
FROM (SELECT *, CASE WHEN typelem <> 0 THEN 'array_' WHEN typname IN ('date', 'time', 'timestamp',
    'timestamptz', 'interval', 'uuid', 'numeric', 'json') THEN typname || '_' ELSE typname END
    AS stem FROM pgcat.types) t;
