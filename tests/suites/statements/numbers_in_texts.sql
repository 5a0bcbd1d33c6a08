-- mysql
SELECT CONCAT(FLOOR(age / 10) * 10, '-', FLOOR(age / 10) * 10 + 9) AS bucket, COUNT(*) AS n FROM
people GROUP BY bucket
-- plain
SELECT (age // 10 * 10) || '-' || (age // 10 * 10 + 9) AS bucket, COUNT(*) AS n FROM people GROUP
BY bucket;
-- bigquery
SELECT CONCAT(CAST(FLOOR(age / 10) * 10 AS STRING), 's') AS bucket, COUNT(*) AS n FROM people
GROUP BY bucket
-- plain
SELECT (age // 10 * 10) || 's' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket;
-- postgres
SELECT (floor(age / 10.0) * 10) || '-' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket
-- plain
SELECT (age // 10 * 10) || '-' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket;
-- postgres
SELECT concat(floor(age / 10.0) * 10, '-', 9) AS bucket, COUNT(*) AS n FROM people GROUP BY bucket
-- plain
SELECT (age // 10 * 10) || '-9' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket;
-- spark
SELECT concat(floor(age / 10) * 10, '-') AS bucket, COUNT(*) AS n FROM people GROUP BY bucket
-- plain
SELECT (age // 10 * 10) || '-' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket;
-- tsql
SELECT CONCAT(age / 10 * 10, '-', age / 10 * 10 + 9) AS bucket, COUNT(*) AS n FROM people GROUP BY
CONCAT(age / 10 * 10, '-', age / 10 * 10 + 9)
-- plain
SELECT (age // 10 * 10) || '-' || (age // 10 * 10 + 9) AS bucket, COUNT(*) AS n FROM people GROUP
BY bucket;
-- trino
SELECT CAST(age / 10 * 10 AS varchar) || '-' AS bucket, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT (age // 10 * 10) || '-' AS bucket, COUNT(*) AS n FROM people GROUP BY bucket;
-- mysql
SELECT CONCAT(year, '-', sex) AS k, COUNT(*) FROM people GROUP BY k
-- plain
SELECT year || '-' || sex AS k, COUNT(*) FROM people GROUP BY k;
-- mysql
SELECT CONCAT(COUNT(*), ' people') AS n, CONCAT(FLOOR(AVG(age)), ' years') AS a FROM people
-- plain
SELECT '2000 people', '49 years';
-- mysql
SELECT CAST(FLOOR(age / 10) AS CHAR) AS k, COUNT(*) FROM people GROUP BY k
-- plain
SELECT (age // 10)::VARCHAR AS k, COUNT(*) FROM people GROUP BY k;
-- snowflake
SELECT TO_VARCHAR(FLOOR(age / 10)) AS k, COUNT(*) FROM people GROUP BY k
-- plain
SELECT (age // 10)::VARCHAR AS k, COUNT(*) FROM people GROUP BY k;
-- mysql
SELECT CONCAT_WS('-', FLOOR(age / 10), 'x') AS k, COUNT(*) FROM people GROUP BY k
-- plain
SELECT (age // 10) || '-x' AS k, COUNT(*) FROM people GROUP BY k;
-- redshift
SELECT RATIO_TO_REPORT(COUNT(*)) OVER () AS r FROM stays GROUP BY ward
-- plain
SELECT COUNT(*) / SUM(COUNT(*)) OVER () FROM stays GROUP BY ward;
-- snowflake
SELECT FLOOR(age, -1) AS decade, COUNT(*) FROM people GROUP BY 1
-- plain
SELECT age // 10 * 10 AS decade, COUNT(*) FROM people GROUP BY 1;
-- bigquery
SELECT FORMAT('%d-%d', DIV(age, 10) * 10, DIV(age, 10) * 10 + 9) AS b, COUNT(*) FROM people GROUP BY b
-- plain
SELECT (age // 10 * 10) || '-' || (age // 10 * 10 + 9) AS b, COUNT(*) FROM people GROUP BY b;
-- trino
SELECT format('%d-%s', age / 10 * 10, sex) AS b, count(*) AS n FROM people GROUP BY 1
-- plain
SELECT (age // 10 * 10) || '-' || sex AS b, COUNT(*) AS n FROM people GROUP BY 1;
-- bigquery
SELECT FORMAT('%s: %d', sex, COUNT(*)) AS b FROM people GROUP BY sex
-- plain
SELECT sex || ': ' || COUNT(*) AS b FROM people GROUP BY sex;
-- trino
SELECT CAST(CAST(floor(age / 10) AS bigint) AS varchar) AS b, count(*) AS n FROM people GROUP BY 1
-- plain
SELECT (age // 10)::VARCHAR AS b, COUNT(*) AS n FROM people GROUP BY 1;
