-- The columns of the tables of schema main, those whose rows lie in files (rows_in_files.py)
-- among them: names and types, never a row. Of an ENUM
-- nothing more is told: its labels are often made of the rows (SELECT DISTINCT), and not public.
-- A generated column is left out: it is computed when it is read, and may fail, or be random.
-- No subquery refers to a row outside of it: to plan an EXISTS that did took 1.6 of 6 ms.
SELECT c.table_name, column_name,
    regexp_replace(
        regexp_replace(data_type, '^ENUM\(''([^'']|'''')*''(, ''([^'']|'''')*'')*\)$', 'ENUM'),
        'ENUM\(''([^'']|'''')*''(, ''([^'']|'''')*'')*\)', 'VARCHAR', 'g'
    ) AS sql_type,
    NOT is_nullable AS required,
    (c.table_oid, column_name) IN (SELECT (k.table_oid, k.constraint_column_names[1])
        FROM duckdb_constraints() AS k
        WHERE k.database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
        AND len(k.constraint_column_names) = 1
    ) AS alone_unique,
    coalesce(contains(lower(t.sql), 'collate'), false) AS collated
FROM duckdb_columns() AS c
LEFT JOIN duckdb_tables() AS t
    ON t.table_oid = c.table_oid AND t.database_oid = c.database_oid
WHERE c.schema_name = 'main' AND c.database_name = current_database() AND NOT is_generated
    AND (
        t.table_oid IS NOT NULL
        OR c.table_oid IN (SELECT view_oid FROM duckdb_views() AS v
            WHERE v.database_name = current_database() AND regexp_full_match(v.sql, $files))
    )
ORDER BY c.table_name, column_index
