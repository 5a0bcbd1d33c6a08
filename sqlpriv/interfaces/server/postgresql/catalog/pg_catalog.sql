-- The rows of PostgreSQL's catalog: of a vault, and what every server has. pg_columns.txt has the columns; those that are
-- not named here are NULL. Schema pgcat stands for pg_catalog, infoschema for information_schema.
-- classes, attributes, types, constraints, indexes and settings are filled before, from the vault's public catalog.

INSERT INTO attributes SELECT indexrelid, attname, atttypid, place, false, atttypmod FROM (SELECT indexrelid, indrelid,
    unnest(indkey) AS number, generate_subscripts(indkey, 1) AS place FROM indexes) i
    JOIN attributes a ON a.attrelid = indrelid AND a.attnum = number;
SET VARIABLE acl = [CASE WHEN regexp_full_match(getvariable('principal'), '\w+')
    THEN getvariable('principal') ELSE '"' || replace(getvariable('principal'), '"', '""') || '"' END || '=r/owner'];
INSERT INTO pg_attribute BY NAME SELECT attrelid, attname, atttypid, attnum, attnotnull, atttypmod,
    coalesce(typlen, -1) AS attlen, 0 AS attndims, -1 AS attcacheoff, coalesce(typlen BETWEEN 1 AND 8, false) AS attbyval,
    'i' AS attalign, false AS atthasdef, false AS attisdropped, false AS atthasmissing, true AS attislocal, 0 AS attinhcount,
    0 AS attcollation, '' AS attidentity, '' AS attgenerated, 'p' AS attstorage, '' AS attcompression, -1 AS attstattarget,
    getvariable('acl') AS attacl -- JDBC takes NULL for all rights of an owner
    FROM attributes LEFT JOIN types ON types.oid = atttypid ORDER BY attrelid, attnum;
INSERT INTO pg_class BY NAME SELECT oid, relname, relnamespace, relkind, relnatts,
    CASE relkind WHEN 'r' THEN oid + 50_000 ELSE 0 END AS reltype, 0 AS reloftype, 10 AS relowner,
    CASE relkind WHEN 'r' THEN 2 ELSE 403 END AS relam, oid AS relfilenode, 0 AS reltablespace, 0 AS relpages,
    -1.0 AS reltuples, 0 AS relallvisible, 0 AS reltoastrelid, oid IN (SELECT indrelid FROM indexes) AS relhasindex,
    false AS relisshared, 'p' AS relpersistence, 0 AS relchecks, false AS relhasrules,
    oid IN (SELECT unnest([conrelid, confrelid]) FROM constraints WHERE contype = 'f') AS relhastriggers,
    false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated,
    'd' AS relreplident, false AS relispartition, 0 AS relrewrite, false AS relhasoids,
    CASE relkind WHEN 'r' THEN getvariable('acl') END AS relacl FROM classes;
INSERT INTO pg_constraint BY NAME SELECT * EXCLUDE (condef), 0 AS contypid, 0 AS conparentid, false AS condeferrable,
    false AS condeferred, true AS convalidated, CASE contype WHEN 'f' THEN 'a' ELSE ' ' END AS confupdtype,
    CASE contype WHEN 'f' THEN 'a' ELSE ' ' END AS confdeltype, CASE contype WHEN 'f' THEN 's' ELSE ' ' END AS confmatchtype,
    true AS conislocal, 0 AS coninhcount, true AS connoinherit FROM constraints;
INSERT INTO pg_index BY NAME SELECT indexrelid, indrelid, indisprimary, indkey, true AS indisunique, len(indkey) AS indnatts,
    len(indkey) AS indnkeyatts, false AS indnullsnotdistinct, false AS indisexclusion, true AS indimmediate,
    false AS indisclustered, true AS indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive,
    false AS indisreplident, list_transform(indkey, lambda k: 0) AS indoption, list_transform(indkey, lambda k: 10_000) AS indclass,
    list_transform(indkey, lambda k: 0) AS indcollation FROM indexes;
-- A foreign key relies on an index, and an index on its key: DBD::Pg looks there.
INSERT INTO pg_depend BY NAME SELECT 2606 AS classid, oid AS objid, 0 AS objsubid, 1259 AS refclassid, conindid AS refobjid,
    0 AS refobjsubid, 'n' AS deptype FROM pg_constraint WHERE contype = 'f' AND conindid <> 0;
INSERT INTO pg_depend BY NAME SELECT 1259 AS classid, conindid AS objid, 0 AS objsubid, 2606 AS refclassid, oid AS refobjid,
    0 AS refobjsubid, 'i' AS deptype FROM pg_constraint WHERE contype IN ('p', 'u');
INSERT INTO pg_type BY NAME SELECT oid, typname, typelem, typlen, typcategory, 11 AS typnamespace, 10 AS typowner,
    typlen > 0 AND typlen <= 8 AS typbyval, typtype, false AS typispreferred, true AS typisdefined, ',' AS typdelim,
    0 AS typrelid, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims, false AS typnotnull, 0 AS typcollation,
    coalesce((SELECT min(a.oid) FROM types a WHERE a.typelem = t.oid), 0) AS typarray, 'i' AS typalign, 'p' AS typstorage,
    concat(stem, 'in') AS typinput, concat(stem, 'out') AS typoutput,
    concat(stem, 'recv') AS typreceive, concat(stem, 'send') AS typsend, '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze
    FROM (SELECT *, CASE WHEN typelem <> 0 THEN 'array_' WHEN typname IN ('date', 'time', 'timestamp', 'timestamptz',
        'timetz', 'interval', 'uuid', 'numeric', 'json', 'jsonb', 'xml', 'inet', 'cidr', 'macaddr', 'bit', 'varbit', 'point',
        'record') THEN typname || '_' ELSE typname END AS stem FROM types) t;
INSERT INTO pg_type BY NAME SELECT reltype AS oid, relname AS typname, relnamespace AS typnamespace, 10 AS typowner,
    -1 AS typlen, false AS typbyval, 'c' AS typtype, 'C' AS typcategory, false AS typispreferred, true AS typisdefined,
    ',' AS typdelim, oid AS typrelid, 0 AS typelem, 0 AS typarray, 'record_in' AS typinput, 'record_out' AS typoutput,
    'record_recv' AS typreceive, 'record_send' AS typsend, '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze,
    'd' AS typalign, 'x' AS typstorage, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims,
    0 AS typcollation FROM pg_class WHERE relkind = 'r';
INSERT INTO pg_proc BY NAME SELECT 2_000 + row_number() OVER (ORDER BY name) AS oid, name AS proname, 11 AS pronamespace,
    10 AS proowner, 12 AS prolang, 'f' AS prokind, 'i' AS provolatile, false AS proretset, 1 AS pronargs
    FROM (SELECT DISTINCT unnest([typinput, typoutput, typreceive, typsend]) AS name FROM pg_type);

INSERT INTO pg_am VALUES (2, 'heap', 'heap_tableam_handler', 't'), (403, 'btree', 'bthandler', 'i');
INSERT INTO pg_opclass BY NAME SELECT 10_000 AS oid, 403 AS opcmethod, 'text_ops' AS opcname, 11 AS opcnamespace, 10 AS opcowner,
    true AS opcdefault;
INSERT INTO pg_roles BY NAME SELECT 10 AS oid, getvariable('principal') AS rolname, false AS rolsuper, true AS rolinherit,
    false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin, -1 AS rolconnlimit, false AS rolreplication,
    false AS rolbypassrls;
INSERT INTO pg_authid BY NAME SELECT * EXCLUDE (rolconfig) FROM pg_roles;
INSERT INTO pg_user BY NAME SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, false AS usesuper,
    false AS userepl, false AS usebypassrls FROM pg_roles;
INSERT INTO pg_database BY NAME SELECT 1 AS oid, getvariable('database') AS datname, 10 AS datdba, 6 AS encoding,
    'c' AS datlocprovider, false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace,
    'C' AS datcollate, 'C' AS datctype;
INSERT INTO pg_tablespace BY NAME SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner;
INSERT INTO pg_collation BY NAME SELECT 100 AS oid, 'default' AS collname, 11 AS collnamespace, 10 AS collowner,
    'd' AS collprovider, true AS collisdeterministic, -1 AS collencoding;
INSERT INTO pg_collation BY NAME SELECT 950 AS oid, 'C' AS collname, 11 AS collnamespace, 10 AS collowner,
    'c' AS collprovider, true AS collisdeterministic, -1 AS collencoding, 'C' AS collcollate, 'C' AS collctype;
INSERT INTO pg_settings BY NAME SELECT name, setting, setting AS boot_val, setting AS reset_val, 'string' AS vartype,
    'default' AS source, 'user' AS context, false AS pending_restart
    FROM settings;

INSERT INTO pg_tables BY NAME SELECT nspname AS schemaname, relname AS tablename, getvariable('principal') AS tableowner,
    relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
    FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r';
INSERT INTO pg_stat_user_tables BY NAME SELECT c.oid AS relid, nspname AS schemaname, relname, 0 AS seq_scan,
    0 AS n_live_tup, 0 AS n_dead_tup FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r';
INSERT INTO pg_stat_all_tables FROM pg_stat_user_tables;
INSERT INTO pg_statio_all_tables BY NAME SELECT relid, schemaname, relname FROM pg_stat_user_tables;
INSERT INTO pg_statio_user_tables FROM pg_statio_all_tables;
INSERT INTO pg_stat_database BY NAME SELECT oid AS datid, datname, 1 AS numbackends FROM pg_database;
INSERT INTO pg_stat_gssapi BY NAME SELECT 1 AS pid, false AS gss_authenticated, false AS encrypted;
INSERT INTO pg_indexes BY NAME SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname,
    inddef AS indexdef FROM indexes i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace;

INSERT INTO infoschema.information_schema_catalog_name SELECT getvariable('database');
INSERT INTO infoschema.schemata BY NAME SELECT getvariable('database') AS catalog_name, nspname AS schema_name,
    getvariable('principal') AS schema_owner FROM pg_namespace;
INSERT INTO infoschema.tables BY NAME SELECT getvariable('database') AS table_catalog, 'public' AS table_schema,
    relname AS table_name, 'BASE TABLE' AS table_type, 'NO' AS is_insertable_into, 'NO' AS is_typed
    FROM pg_class WHERE relkind = 'r';
INSERT INTO infoschema.columns BY NAME SELECT getvariable('database') AS table_catalog, 'public' AS table_schema,
    relname AS table_name, attname AS column_name, attnum::INTEGER AS ordinal_position,
    CASE WHEN attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
    CASE WHEN t.typelem <> 0 THEN 'ARRAY' ELSE sql_name END AS data_type,
    CASE atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
        WHEN 1700 THEN CASE WHEN atttypmod >= 4 THEN (atttypmod - 4) >> 16 END END AS numeric_precision,
    CASE WHEN atttypid IN (21, 23, 20, 700, 701) THEN 2 WHEN atttypid = 1700 THEN 10 END AS numeric_precision_radix,
    CASE WHEN atttypid IN (21, 23, 20) THEN 0
        WHEN atttypid = 1700 AND atttypmod >= 4 THEN (atttypmod - 4) & 65535 END AS numeric_scale,
    CASE WHEN atttypid IN (1083, 1114, 1184) THEN 6 WHEN atttypid = 1082 THEN 0 END AS datetime_precision,
    getvariable('database') AS udt_catalog, 'pg_catalog' AS udt_schema, typname AS udt_name,
    attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity, 'NO' AS identity_cycle,
    'NEVER' AS is_generated, 'NO' AS is_updatable
    FROM attributes JOIN pg_class c ON c.oid = attrelid JOIN types t ON t.oid = atttypid WHERE relkind = 'r'
    ORDER BY attrelid, attnum;
INSERT INTO infoschema.table_constraints BY NAME SELECT getvariable('database') AS constraint_catalog,
    'public' AS constraint_schema, conname AS constraint_name, getvariable('database') AS table_catalog,
    'public' AS table_schema, relname AS table_name,
    CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'UNIQUE' END AS constraint_type,
    'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid;
INSERT INTO infoschema.key_column_usage BY NAME SELECT getvariable('database') AS constraint_catalog,
    'public' AS constraint_schema, conname AS constraint_name, getvariable('database') AS table_catalog,
    'public' AS table_schema, relname AS table_name, attname AS column_name, place AS ordinal_position,
    CASE contype WHEN 'f' THEN place END AS position_in_unique_constraint
    FROM (SELECT *, unnest(conkey) AS number, generate_subscripts(conkey, 1) AS place FROM pg_constraint) k
    JOIN pg_class c ON c.oid = conrelid JOIN pg_attribute a ON a.attrelid = conrelid AND attnum = number;
INSERT INTO infoschema.constraint_column_usage BY NAME SELECT getvariable('database') AS table_catalog,
    'public' AS table_schema, relname AS table_name, attname AS column_name, getvariable('database') AS constraint_catalog,
    'public' AS constraint_schema, conname AS constraint_name
    FROM (SELECT *, unnest(coalesce(confkey, conkey)) AS number,
        CASE contype WHEN 'f' THEN confrelid ELSE conrelid END AS of FROM pg_constraint) k
    JOIN pg_class c ON c.oid = of JOIN pg_attribute a ON a.attrelid = of AND attnum = number;
INSERT INTO infoschema.constraint_table_usage BY NAME SELECT DISTINCT table_catalog, table_schema, table_name,
    constraint_catalog, constraint_schema, constraint_name FROM infoschema.constraint_column_usage;
INSERT INTO infoschema.referential_constraints BY NAME SELECT constraint_catalog, constraint_schema, constraint_name,
    constraint_catalog AS unique_constraint_catalog, constraint_schema AS unique_constraint_schema,
    (SELECT p.conname FROM pg_constraint f JOIN pg_constraint p ON p.conrelid = f.confrelid AND p.conkey = f.confkey
        WHERE f.conname = constraint_name AND f.contype = 'f' LIMIT 1) AS unique_constraint_name,
    'NONE' AS match_option, 'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
    FROM infoschema.table_constraints WHERE constraint_type = 'FOREIGN KEY';
INSERT INTO infoschema.table_privileges BY NAME SELECT 'owner' AS grantor, getvariable('principal') AS grantee, table_catalog,
    table_schema, table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable, 'NO' AS with_hierarchy FROM infoschema.tables;
INSERT INTO infoschema.role_table_grants FROM infoschema.table_privileges;
INSERT INTO infoschema.column_privileges BY NAME SELECT 'owner' AS grantor, getvariable('principal') AS grantee, table_catalog,
    table_schema, table_name, column_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM infoschema.columns;
INSERT INTO infoschema.enabled_roles SELECT getvariable('principal');
INSERT INTO infoschema.applicable_roles VALUES (getvariable('principal'), getvariable('principal'), 'NO');

-- The relations of the catalog themselves: psql's \d pg_class. They come last, so that nothing above lists them as tables.
-- Those of information_schema have numbers from 2,000,000 on: no search path has them (pg_table_is_visible).
CREATE TABLE "~relations" AS SELECT coalesce((SELECT "~oid" FROM "~tables" WHERE "~name" = table_name),
    if(schema_name = 'pgcat', 1_000_000, 2_000_000) + row_number() OVER (ORDER BY schema_name, table_name)) AS oid, table_name AS relname,
    schema_name, if(schema_name = 'pgcat', 11, 13_000) AS relnamespace, column_count::SMALLINT AS relnatts
    FROM duckdb_tables() WHERE table_name[1] <> '~' AND (schema_name = 'infoschema'
        OR schema_name = 'pgcat' AND table_name[:3] = 'pg_');
INSERT INTO pg_class BY NAME SELECT oid, relname, relnamespace, 'v' AS relkind, relnatts, 0 AS reltype, 0 AS reloftype,
    10 AS relowner, 0 AS relam, 0 AS relfilenode, 0 AS reltablespace, 0 AS relpages, -1.0 AS reltuples, 0 AS relallvisible,
    0 AS reltoastrelid, false AS relhasindex, false AS relisshared, 'p' AS relpersistence, 0 AS relchecks, true AS relhasrules,
    false AS relhastriggers, false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity,
    true AS relispopulated, 'n' AS relreplident, false AS relispartition, 0 AS relrewrite, false AS relhasoids
    FROM "~relations";
INSERT INTO pg_attribute BY NAME SELECT r.oid AS attrelid, column_name AS attname, coalesce(t.oid, 25) AS atttypid,
    column_index::SMALLINT AS attnum, false AS attnotnull, -1 AS atttypmod, coalesce(t.typlen, -1) AS attlen, 0 AS attndims,
    -1 AS attcacheoff, coalesce(t.typlen BETWEEN 1 AND 8, false) AS attbyval, 'i' AS attalign, false AS atthasdef,
    false AS attisdropped, false AS atthasmissing, true AS attislocal, 0 AS attinhcount, 0 AS attcollation,
    '' AS attidentity, '' AS attgenerated, 'p' AS attstorage, '' AS attcompression, -1 AS attstattarget
    FROM "~relations" r JOIN duckdb_columns() c ON c.table_name = relname AND c.schema_name = r.schema_name
    LEFT JOIN types t ON t.sql_name = CASE data_type WHEN 'VARCHAR' THEN 'text' WHEN 'VARCHAR[]' THEN 'text[]'
        WHEN 'DOUBLE' THEN 'double precision' WHEN 'FLOAT' THEN 'real'
        WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'timestamp with time zone' ELSE lower(data_type) END
    ORDER BY attrelid, attnum;

CREATE TABLE "~procedures" AS SELECT oid AS "~oid", proname AS "~name" FROM pg_proc;
CREATE MACRO regproc_oid(of) AS (SELECT "~oid" FROM "~procedures" WHERE "~name" = of LIMIT 1);
