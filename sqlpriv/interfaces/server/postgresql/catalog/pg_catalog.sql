-- What PostgreSQL's clients ask of its catalog, beside the tables that are made from the vault's public catalog (pg_catalog.py).
-- Schema pgcat stands for pg_catalog, infoschema for information_schema: both names are rewritten to these.

CREATE TABLE pg_am (oid BIGINT, amname VARCHAR, amhandler BIGINT, amtype VARCHAR);
INSERT INTO pg_am VALUES (2, 'heap', 3, 't'), (403, 'btree', 330, 'i');
CREATE TABLE pg_roles (oid BIGINT, rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN,
    rolcreatedb BOOLEAN, rolcanlogin BOOLEAN, rolconnlimit INTEGER, rolvaliduntil TIMESTAMPTZ, rolreplication BOOLEAN,
    rolbypassrls BOOLEAN, rolconfig VARCHAR[], rolpassword VARCHAR);
INSERT INTO pg_roles VALUES (10, getvariable('principal'), false, true, false, false, true, -1, NULL, false, false, NULL, NULL);
CREATE VIEW pg_authid AS FROM pg_roles;
CREATE VIEW pg_user AS SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, false AS usesuper FROM pg_roles;
CREATE TABLE pg_auth_members (roleid BIGINT, member BIGINT, grantor BIGINT, admin_option BOOLEAN);
CREATE TABLE pg_database (oid BIGINT, datname VARCHAR, datdba BIGINT, encoding INTEGER, datlocprovider VARCHAR, datistemplate BOOLEAN,
    datallowconn BOOLEAN, datconnlimit INTEGER, dattablespace BIGINT, datcollate VARCHAR, datctype VARCHAR, daticulocale VARCHAR,
    daticurules VARCHAR, datacl VARCHAR[]);
INSERT INTO pg_database VALUES (1, getvariable('database'), 10, 6, 'c', false, true, -1, 1663, 'C', 'C', NULL, NULL, NULL);
CREATE TABLE pg_tablespace (oid BIGINT, spcname VARCHAR, spcowner BIGINT);
INSERT INTO pg_tablespace VALUES (1663, 'pg_default', 10);
CREATE TABLE pg_collation (oid BIGINT, collname VARCHAR, collnamespace BIGINT, collprovider VARCHAR, collencoding INTEGER,
    collcollate VARCHAR, collctype VARCHAR);
INSERT INTO pg_collation VALUES (100, 'default', 11, 'd', -1, NULL, NULL), (950, 'C', 11, 'c', -1, 'C', 'C');
CREATE TABLE pg_extension (oid BIGINT, extname VARCHAR, extowner BIGINT, extnamespace BIGINT, extversion VARCHAR);
CREATE TABLE pg_available_extensions (name VARCHAR, default_version VARCHAR, installed_version VARCHAR, comment VARCHAR);
CREATE TABLE pg_settings (name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, short_desc VARCHAR, context VARCHAR,
    vartype VARCHAR, source VARCHAR);
INSERT INTO pg_settings (name, setting) VALUES ('server_version', '15.0'), ('server_version_num', '150000'),
    ('standard_conforming_strings', 'on'), ('max_identifier_length', '63'), ('max_index_keys', '32'), ('TimeZone', 'UTC');

-- Kinds of objects that a vault does not have.
CREATE TABLE pg_attrdef (oid BIGINT, adrelid BIGINT, adnum SMALLINT, adbin VARCHAR);
CREATE TABLE pg_enum (oid BIGINT, enumtypid BIGINT, enumsortorder FLOAT, enumlabel VARCHAR);
CREATE TABLE pg_range (rngtypid BIGINT, rngsubtype BIGINT, rngmultitypid BIGINT, rngcollation BIGINT);
CREATE TABLE pg_inherits (inhrelid BIGINT, inhparent BIGINT, inhseqno INTEGER, inhdetachpending BOOLEAN);
CREATE TABLE pg_policy (oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN, polroles BIGINT[],
    polqual VARCHAR, polwithcheck VARCHAR);
CREATE TABLE pg_publication (oid BIGINT, pubname VARCHAR, puballtables BOOLEAN, pubviaroot BOOLEAN);
CREATE TABLE pg_publication_rel (oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR, prattrs SMALLINT[]);
CREATE TABLE pg_publication_namespace (oid BIGINT, pnpubid BIGINT, pnnspid BIGINT);
CREATE TABLE pg_statistic_ext (oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT, stxkind VARCHAR[],
    stxstattarget INTEGER, stxkeys SMALLINT[]);
CREATE TABLE pg_trigger (oid BIGINT, tgrelid BIGINT, tgparentid BIGINT, tgname VARCHAR, tgfoid BIGINT, tgtype SMALLINT,
    tgenabled VARCHAR, tgisinternal BOOLEAN, tgconstraint BIGINT, tgdeferrable BOOLEAN, tginitdeferred BOOLEAN);
CREATE TABLE pg_rewrite (oid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, ev_enabled VARCHAR, is_instead BOOLEAN);
CREATE TABLE pg_foreign_table (ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]);
CREATE TABLE pg_foreign_server (oid BIGINT, srvname VARCHAR, srvowner BIGINT, srvfdw BIGINT);
CREATE TABLE pg_foreign_data_wrapper (oid BIGINT, fdwname VARCHAR);
CREATE TABLE pg_partitioned_table (partrelid BIGINT, partstrat VARCHAR, partnatts SMALLINT, partattrs VARCHAR);
CREATE TABLE pg_sequence (seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT, seqmax BIGINT, seqmin BIGINT,
    seqcache BIGINT, seqcycle BOOLEAN);
CREATE TABLE pg_sequences (schemaname VARCHAR, sequencename VARCHAR, sequenceowner VARCHAR);
CREATE TABLE pg_depend (classid BIGINT, objid BIGINT, objsubid INTEGER, refclassid BIGINT, refobjid BIGINT, refobjsubid INTEGER,
    deptype VARCHAR);
CREATE TABLE pg_shdescription (objoid BIGINT, classoid BIGINT, description VARCHAR);
CREATE TABLE pg_language (oid BIGINT, lanname VARCHAR);
CREATE TABLE pg_proc (oid BIGINT, proname VARCHAR, pronamespace BIGINT, proowner BIGINT, prolang BIGINT, prokind VARCHAR,
    prorettype BIGINT, proargtypes BIGINT[], proargnames VARCHAR[], proretset BOOLEAN, prosrc VARCHAR, proisagg BOOLEAN,
    provolatile VARCHAR, proparallel VARCHAR, prosecdef BOOLEAN, proacl VARCHAR[], pronargs SMALLINT, provariadic BIGINT,
    proallargtypes BIGINT[], proargmodes VARCHAR[]);
CREATE TABLE pg_aggregate (aggfnoid BIGINT, aggkind VARCHAR);
CREATE TABLE pg_operator (oid BIGINT, oprname VARCHAR, oprnamespace BIGINT, oprleft BIGINT, oprright BIGINT, oprresult BIGINT);
CREATE TABLE pg_opclass (oid BIGINT, opcmethod BIGINT, opcname VARCHAR, opcnamespace BIGINT, opcowner BIGINT, opcfamily BIGINT,
    opcintype BIGINT, opcdefault BOOLEAN, opckeytype BIGINT);
CREATE TABLE pg_cast (oid BIGINT, castsource BIGINT, casttarget BIGINT);
CREATE TABLE pg_event_trigger (oid BIGINT, evtname VARCHAR);
CREATE TABLE pg_matviews (schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, definition VARCHAR);
CREATE TABLE pg_views (schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR);
CREATE TABLE pg_stats (schemaname VARCHAR, tablename VARCHAR, attname VARCHAR, null_frac FLOAT, avg_width INTEGER, n_distinct FLOAT);
CREATE TABLE pg_locks (locktype VARCHAR, database BIGINT, relation BIGINT, pid INTEGER, mode VARCHAR, granted BOOLEAN);
CREATE TABLE pg_stat_activity (datid BIGINT, datname VARCHAR, pid INTEGER, usename VARCHAR, application_name VARCHAR,
    state VARCHAR, query VARCHAR, backend_type VARCHAR, query_start TIMESTAMPTZ);
CREATE TABLE pg_timezone_names (name VARCHAR, abbrev VARCHAR, utc_offset INTERVAL, is_dst BOOLEAN);
CREATE TABLE pg_prepared_xacts (gid VARCHAR);

CREATE VIEW pg_tables AS SELECT nspname AS schemaname, relname AS tablename, getvariable('principal') AS tableowner,
    NULL::VARCHAR AS tablespace, relhasindex AS hasindexes, false AS hasrules, false AS hastriggers, false AS rowsecurity
    FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r';
CREATE VIEW pg_stat_user_tables AS SELECT c.oid AS relid, nspname AS schemaname, relname, 0::BIGINT AS seq_scan,
    0::BIGINT AS n_live_tup, 0::BIGINT AS n_dead_tup FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r';
CREATE VIEW pg_stat_all_tables AS FROM pg_stat_user_tables;
CREATE VIEW pg_statio_all_tables AS SELECT relid, schemaname, relname FROM pg_stat_user_tables;
CREATE VIEW pg_indexes AS SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname,
    NULL::VARCHAR AS tablespace, NULL::VARCHAR AS indexdef FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace;

CREATE VIEW infoschema.schemata AS SELECT getvariable('database') AS catalog_name, nspname AS schema_name,
    getvariable('principal') AS schema_owner, NULL::VARCHAR AS default_character_set_catalog FROM pg_namespace;
CREATE VIEW infoschema.tables AS SELECT getvariable('database') AS table_catalog, 'public' AS table_schema, relname AS table_name,
    'BASE TABLE' AS table_type, NULL::VARCHAR AS self_referencing_column_name, 'NO' AS is_insertable_into, 'NO' AS is_typed
    FROM pg_class WHERE relkind = 'r';
CREATE VIEW infoschema.views AS SELECT table_catalog, table_schema, table_name, NULL::VARCHAR AS view_definition
    FROM infoschema.tables WHERE false;
CREATE VIEW infoschema.columns AS SELECT getvariable('database') AS table_catalog, 'public' AS table_schema,
    relname AS table_name, attname AS column_name, attnum::INTEGER AS ordinal_position, NULL::VARCHAR AS column_default,
    CASE WHEN attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
    CASE WHEN t.typelem <> 0 THEN 'ARRAY' ELSE format_type(atttypid, NULL) END AS data_type,
    NULL::INTEGER AS character_maximum_length, NULL::INTEGER AS character_octet_length,
    CASE atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 END AS numeric_precision,
    CASE WHEN atttypid IN (21, 23, 20) THEN 0 END AS numeric_scale,
    CASE WHEN atttypid IN (1083, 1114, 1184) THEN 6 WHEN atttypid = 1082 THEN 0 END AS datetime_precision,
    NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_name, getvariable('database') AS udt_catalog,
    'pg_catalog' AS udt_schema, typname AS udt_name, 'NO' AS is_identity, NULL::VARCHAR AS identity_generation,
    'NEVER' AS is_generated, NULL::VARCHAR AS generation_expression, 'NO' AS is_updatable
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_type t ON t.oid = atttypid WHERE relkind = 'r';
CREATE VIEW infoschema.table_constraints AS SELECT getvariable('database') AS constraint_catalog, 'public' AS constraint_schema,
    conname AS constraint_name, getvariable('database') AS table_catalog, 'public' AS table_schema, relname AS table_name,
    CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'UNIQUE' END AS constraint_type,
    'NO' AS is_deferrable, 'NO' AS initially_deferred FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid;
CREATE VIEW infoschema.key_column_usage AS SELECT getvariable('database') AS constraint_catalog, 'public' AS constraint_schema,
    conname AS constraint_name, getvariable('database') AS table_catalog, 'public' AS table_schema, relname AS table_name,
    attname AS column_name, 1 AS ordinal_position, CASE contype WHEN 'f' THEN 1 END AS position_in_unique_constraint
    FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid JOIN pg_attribute a ON a.attrelid = conrelid AND attnum = conkey[1];
CREATE VIEW infoschema.constraint_column_usage AS SELECT table_catalog, table_schema, table_name, column_name,
    constraint_catalog, constraint_schema, constraint_name FROM infoschema.key_column_usage;
CREATE VIEW infoschema.referential_constraints AS SELECT constraint_catalog, constraint_schema, constraint_name,
    constraint_catalog AS unique_constraint_catalog, constraint_schema AS unique_constraint_schema,
    NULL::VARCHAR AS unique_constraint_name, 'NONE' AS match_option, 'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
    FROM infoschema.table_constraints WHERE constraint_type = 'FOREIGN KEY';
CREATE VIEW infoschema.routines AS SELECT NULL::VARCHAR AS specific_schema, NULL::VARCHAR AS specific_name,
    NULL::VARCHAR AS routine_schema, NULL::VARCHAR AS routine_name, NULL::VARCHAR AS routine_type WHERE false;
CREATE VIEW infoschema.sequences AS SELECT NULL::VARCHAR AS sequence_schema, NULL::VARCHAR AS sequence_name WHERE false;
CREATE VIEW infoschema.triggers AS SELECT NULL::VARCHAR AS trigger_schema, NULL::VARCHAR AS trigger_name WHERE false;
CREATE VIEW infoschema.table_privileges AS SELECT 'owner' AS grantor, getvariable('principal') AS grantee, table_catalog,
    table_schema, table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM infoschema.tables;
CREATE VIEW infoschema.role_table_grants AS FROM infoschema.table_privileges;
