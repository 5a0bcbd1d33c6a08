-- PostgreSQL's functions over its catalog, as far as clients call them; arguments that change nothing here are taken and ignored.

CREATE MACRO version() AS 'PostgreSQL 15.0 (sqlpriv)';
CREATE MACRO current_database() AS getvariable('database');
CREATE MACRO current_schema() AS 'public';
CREATE MACRO current_schemas(implicit) AS CASE WHEN implicit THEN ['pg_catalog', 'public'] ELSE ['public'] END;
CREATE MACRO pg_backend_pid() AS 1;
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_postmaster_start_time() AS TIMESTAMPTZ '2000-01-01 00:00:00+00';
CREATE MACRO pg_my_temp_schema() AS 0;
CREATE MACRO pg_is_other_temp_schema(of) AS false;
CREATE MACRO pg_encoding_to_char(encoding) AS 'UTF8';
CREATE MACRO pg_char_to_encoding(encoding) AS 6;
CREATE MACRO pg_get_keywords() AS TABLE SELECT keyword_name AS word, keyword_category[1] AS catcode FROM duckdb_keywords();
CREATE MACRO pg_get_userbyid(id) AS getvariable('principal');
CREATE MACRO pg_table_is_visible(id) AS id < 2_000_000;
CREATE MACRO pg_type_is_visible(id) AS true;
CREATE MACRO pg_function_is_visible(id) AS true;
CREATE MACRO pg_collation_is_visible(id) AS true;
CREATE MACRO pg_opclass_is_visible(id) AS true;
CREATE MACRO pg_operator_is_visible(id) AS true;
CREATE MACRO pg_relation_is_publishable(id) AS false;
CREATE MACRO pg_get_function_identity_arguments(id) AS '';
CREATE MACRO pg_get_function_result(id) AS '';
CREATE MACRO pg_get_function_arguments(id) AS '';
CREATE MACRO pg_get_function_sqlbody(id) AS NULL::VARCHAR;
CREATE MACRO pg_get_function_arg_default(id, number) AS NULL::VARCHAR;
CREATE MACRO pg_get_statisticsobjdef(id) AS NULL::VARCHAR;
CREATE MACRO pg_get_functiondef(id) AS '';
CREATE MACRO pg_get_expr(expression, relation) AS NULL::VARCHAR,
    (expression, relation, pretty) AS NULL::VARCHAR;
CREATE MACRO pg_get_viewdef(id) AS NULL::VARCHAR, (id, pretty) AS NULL::VARCHAR;
CREATE MACRO pg_get_partkeydef(id) AS NULL::VARCHAR;
CREATE MACRO pg_get_ruledef(id) AS NULL::VARCHAR;
CREATE MACRO pg_get_serial_sequence(of, attribute) AS NULL::VARCHAR;
CREATE MACRO pg_get_statisticsobjdef_columns(id) AS NULL::VARCHAR;
CREATE MACRO pg_statistics_obj_is_visible(id) AS true;
CREATE MACRO pg_conversion_is_visible(id) AS true;
CREATE MACRO pg_ts_config_is_visible(id) AS true;
CREATE MACRO pg_partition_ancestors(id) AS id::BIGINT;
CREATE MACRO pg_get_triggerdef(id) AS NULL::VARCHAR, (id, pretty) AS NULL::VARCHAR;
CREATE MACRO pg_cancel_backend(pid) AS false;
CREATE MACRO pg_terminate_backend(pid) AS false;
CREATE MACRO pg_tablespace_location(id) AS '';
CREATE MACRO pg_relation_size(id) AS 0::BIGINT;
CREATE MACRO pg_table_size(id) AS 0::BIGINT;
CREATE MACRO pg_indexes_size(id) AS 0::BIGINT;
CREATE MACRO pg_total_relation_size(id) AS 0::BIGINT;
CREATE MACRO pg_database_size(id) AS 0::BIGINT;
CREATE MACRO pg_tablespace_size(id) AS 0::BIGINT;
CREATE MACRO pg_relation_filenode(id) AS id;
CREATE MACRO pg_relation_is_updatable(id, triggers) AS 0;
CREATE MACRO pg_column_is_updatable(id, number, triggers) AS false;
CREATE MACRO pg_sequence_last_value(id) AS NULL::BIGINT;
CREATE MACRO row_security_active(id) AS false;
CREATE MACRO acldefault(kind, owner) AS NULL::VARCHAR[];
CREATE MACRO pg_size_pretty(size) AS size::VARCHAR || ' bytes';
CREATE MACRO pg_stat_get_numscans(id) AS 0::BIGINT;
CREATE MACRO has_table_privilege(a, b) AS lower(b) = 'select', (a, b, c) AS lower(c) = 'select';
CREATE MACRO has_any_column_privilege(a, b) AS lower(b) = 'select', (a, b, c) AS lower(c) = 'select';
CREATE MACRO has_column_privilege(a, b, c) AS lower(c) = 'select', (a, b, c, d) AS lower(d) = 'select';
CREATE MACRO has_sequence_privilege(a, b) AS false, (a, b, c) AS false;
CREATE MACRO has_function_privilege(a, b) AS lower(b) = 'execute', (a, b, c) AS lower(c) = 'execute';
CREATE MACRO has_type_privilege(a, b) AS lower(b) = 'usage', (a, b, c) AS lower(c) = 'usage';
CREATE MACRO has_language_privilege(a, b) AS false, (a, b, c) AS false;
CREATE MACRO has_tablespace_privilege(a, b) AS false, (a, b, c) AS false;
CREATE MACRO has_server_privilege(a, b) AS false, (a, b, c) AS false;
CREATE MACRO has_foreign_data_wrapper_privilege(a, b) AS false, (a, b, c) AS false;
CREATE MACRO pg_has_role(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_schema_privilege(a, b) AS lower(b) = 'usage', (a, b, c) AS lower(c) = 'usage';
CREATE MACRO has_database_privilege(a, b) AS lower(b) = 'connect', (a, b, c) AS lower(c) = 'connect';
-- An argument is written where the parameter stands: a column of its name in here would take its place. So what is looked up
-- here has names that nobody writes.
CREATE TABLE "~comments" AS SELECT objoid AS "~of", objsubid AS "~at", description AS "~text" FROM pg_description;
CREATE TABLE "~tables" AS SELECT relname AS "~name", oid AS "~oid" FROM classes UNION ALL VALUES ('pg_class', 1259),
    ('pg_attribute', 1249), ('pg_type', 1247), ('pg_proc', 1255), ('pg_constraint', 2606), ('pg_namespace', 2615),
    ('pg_database', 1262);
CREATE TABLE "~types" AS SELECT oid AS "~oid", typname AS "~name", sql_name AS "~text" FROM types
    UNION ALL VALUES (23, 'int', 'integer'), (1700, 'decimal', 'numeric'), (701, 'float', 'double precision');
SET VARIABLE settings = (SELECT map(list(lower(name)), list(setting)) FROM settings);
CREATE TABLE "~constraints" AS SELECT oid AS "~oid", condef AS "~text" FROM constraints;
CREATE TABLE "~indexes" AS SELECT indexrelid AS "~oid", inddef AS "~text", indcolumns AS "~columns" FROM indexes;
CREATE MACRO obj_description(id) AS (SELECT "~text" FROM "~comments" WHERE "~of" = id AND "~at" = 0 LIMIT 1),
    (id, catalog) AS (SELECT "~text" FROM "~comments" WHERE "~of" = id AND "~at" = 0 LIMIT 1);
CREATE MACRO col_description(id, number) AS (SELECT "~text" FROM "~comments" WHERE "~of" = id AND "~at" = number LIMIT 1);
CREATE MACRO shobj_description(id, catalog) AS NULL::VARCHAR;
CREATE MACRO to_regclass(of) AS coalesce(TRY_CAST(of AS BIGINT), (SELECT "~oid" FROM "~tables"
    WHERE "~name" = regexp_replace(replace(of::VARCHAR, '"', ''), '^.*\.', '') LIMIT 1));
CREATE MACRO to_regtype(of) AS coalesce(TRY_CAST(of AS BIGINT), (SELECT "~oid" FROM "~types"
    WHERE regexp_replace(replace(of::VARCHAR, '"', ''), '^.*\.', '') IN ("~name", "~text") LIMIT 1));
CREATE MACRO to_regproc(of) AS coalesce(TRY_CAST(of AS BIGINT), error(concat('function "', of, CASE WHEN EXISTS
    (FROM duckdb_functions() WHERE function_name = regexp_replace(of, '^pg_catalog\.|\(.*$', '', 'g'))
    THEN '" has no source text here' ELSE '" does not exist' END)));
CREATE MACRO regclass_text(of) AS (SELECT "~name" FROM "~tables" WHERE "~oid" = to_regclass(of) LIMIT 1);
CREATE MACRO regtype_text(of) AS (SELECT "~text" FROM "~types" WHERE "~oid" = to_regtype(of) LIMIT 1);
CREATE MACRO format_type(id, modifier) AS (SELECT CASE WHEN id = 1700 AND modifier >= 4
    THEN concat('numeric(', (modifier - 4) >> 16, ',', (modifier - 4) & 65535, ')') ELSE "~text" END
    FROM "~types" WHERE "~oid" = id LIMIT 1);
CREATE MACRO pg_get_constraintdef(id) AS (SELECT "~text" FROM "~constraints" WHERE "~oid" = id LIMIT 1),
    (id, pretty) AS (SELECT "~text" FROM "~constraints" WHERE "~oid" = id LIMIT 1);
CREATE MACRO pg_get_indexdef(id) AS (SELECT "~text" FROM "~indexes" WHERE "~oid" = id LIMIT 1),
    (id, number, pretty) AS (SELECT CASE WHEN number = 0 THEN "~text" ELSE "~columns"[number] END
        FROM "~indexes" WHERE "~oid" = id LIMIT 1);
CREATE MACRO regexp_matches(of, pattern) AS TABLE SELECT regexp_extract_all(of, pattern, 1) AS regexp_matches
    WHERE regexp_matches(of, pattern);
CREATE MACRO quote_ident(of) AS CASE WHEN regexp_full_match(of, '[a-z_][a-z0-9_]*') THEN of ELSE '"' || replace(of, '"', '""') || '"' END;
CREATE MACRO quote_literal(of) AS '''' || replace(of::VARCHAR, '''', '''''') || '''';
CREATE MACRO quote_nullable(of) AS coalesce(quote_literal(of), 'NULL');
CREATE MACRO parse_ident(of) AS list_transform(regexp_extract_all(of, '"(?:[^"]|"")+"|[^."]+'),
    lambda part: CASE WHEN part[1] = '"' THEN replace(part[2:-2], '""', '"') ELSE lower(part) END);
CREATE MACRO current_setting(of) AS getvariable('settings')[lower(of)], (of, missing) AS getvariable('settings')[lower(of)];
CREATE MACRO set_config(of, value, local) AS value;
CREATE MACRO pg_advisory_unlock_all() AS NULL;
CREATE MACRO inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO inet_server_port() AS 5432;
CREATE MACRO txid_current() AS 1::BIGINT;
CREATE MACRO array_remove(of, value) AS list_filter(of, lambda each: each IS DISTINCT FROM value);
CREATE MACRO infoschema._pg_expandarray(of) AS unnest(list_transform(range(1, len(of) + 1), lambda "~k": {'x': of["~k"], 'n': "~k"}));
CREATE MACRO array_lower(of, dimension) AS 1;
CREATE MACRO array_upper(of, dimension) AS len(of);
CREATE MACRO format_part(of, number, value) AS CASE regexp_extract_all(of, '%[sIL]')[number]
    WHEN '%I' THEN quote_ident(value::VARCHAR) WHEN '%L' THEN coalesce(concat('''', replace(value::VARCHAR, '''', ''''''), ''''), 'NULL')
    ELSE value::VARCHAR END || coalesce(string_split_regex(of, '%[sIL]')[number + 1], '');
CREATE MACRO format_head(of) AS string_split_regex(of, '%[sIL]')[1];
CREATE MACRO format(of) AS of, (of, a) AS concat(format_head(of), format_part(of, 1, a)),
    (of, a, b) AS concat(format_head(of), format_part(of, 1, a), format_part(of, 2, b)),
    (of, a, b, c) AS concat(format_head(of), format_part(of, 1, a), format_part(of, 2, b), format_part(of, 3, c));
CREATE MACRO pg_show_all_settings() AS TABLE SELECT * FROM pg_settings;
CREATE MACRO pg_indexam_has_property(id, property) AS true;
CREATE MACRO pg_index_has_property(id, property) AS property <> 'clusterable';
CREATE MACRO pg_index_column_has_property(id, number, property) AS property IN ('asc', 'nulls_last', 'orderable', 'returnable');
CREATE MACRO pg_try_advisory_lock(a) AS true, (a, b) AS true;
CREATE MACRO pg_advisory_unlock(a) AS true, (a, b) AS true;
CREATE MACRO pg_advisory_lock(a) AS NULL, (a, b) AS NULL;
