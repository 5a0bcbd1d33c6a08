-- The columns of the tables of schema main, those whose rows lie in files (rows_in_files.py)
-- among them: names and types, never a row. Of an ENUM
-- nothing more is told: its labels are often made of the rows (SELECT DISTINCT), and not public.
SELECT table_name, column_name,
    regexp_replace(
        regexp_replace(data_type, '^ENUM\(''([^'']|'''')*''(, ''([^'']|'''')*'')*\)$', 'ENUM'),
        'ENUM\(''([^'']|'''')*''(, ''([^'']|'''')*'')*\)', 'VARCHAR', 'g'
    ) AS sql_type,
    NOT is_nullable AS required,
    EXISTS (
        FROM duckdb_constraints() AS k
        WHERE k.table_oid = c.table_oid AND k.database_oid = c.database_oid
            AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
            AND constraint_column_names = [column_name]
    ) AS alone_unique,
    EXISTS (FROM duckdb_tables() AS t
        WHERE t.table_oid = c.table_oid AND t.database_oid = c.database_oid
            AND contains(lower(t.sql), 'collate')) AS collated
FROM duckdb_columns() AS c
WHERE schema_name = 'main' AND database_name = current_database()
    AND (
        table_oid IN (SELECT table_oid FROM duckdb_tables() AS t
            WHERE t.database_oid = c.database_oid)
        OR table_oid IN (SELECT view_oid FROM duckdb_views() AS v
            WHERE v.database_oid = c.database_oid AND regexp_full_match(v.sql, $files))
    )
    AND NOT EXISTS (  -- a generated column is computed when read: it may fail, or be random
        FROM information_schema.columns AS g
        WHERE g.table_catalog = current_database() AND g.table_schema = 'main'
            AND g.table_name = c.table_name AND g.column_name = c.column_name
            AND is_generated = 'ALWAYS'
    )
ORDER BY table_name, column_index
