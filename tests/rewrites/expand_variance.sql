-- two centred sums over one count; the population's by the law of total variance
SELECT sex, VARIANCE(income) AS v, VAR_POP(income) AS p, STDDEV(income) AS s FROM people STRATIFY BY sex;
-- plain
SELECT sex, VARIANCE(income) AS v, VAR_POP(income) AS p, STDDEV(income) AS s FROM people GROUP BY GROUPING SETS ((sex), ());
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS s0, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0, sqlpriv_quantise((CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) - CAST((500.0e0) AS DOUBLE)) AS DOUBLE) * CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) - CAST((500.0e0) AS DOUBLE)) AS DOUBLE)), (125000.0e0), (1.1368683772161603e-07), 1099511627776) AS v1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, count(*) AS n, sum(v0) AS a0, sum(v1) AS a1 FROM kept GROUP BY s0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], s0) - 1 AS UTINYINT), 2) AS s0, n, a0, a1 FROM joint)
SELECT s0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1 FROM coded GROUP BY s0;

-- integers are squared as reals
SELECT WITH DIFFERENTIAL_PRIVACY STDDEV_POP(age) AS s, VAR_SAMP(hours) AS v FROM people;
-- plain
SELECT STDDEV_POP(age) AS s, VAR_SAMP(hours) AS v FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS v0, sqlpriv_quantise((CAST((CAST(CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) AS DOUBLE) - CAST((49.5e0) AS DOUBLE)) AS DOUBLE) * CAST((CAST(CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) AS DOUBLE) - CAST((49.5e0) AS DOUBLE)) AS DOUBLE)), (1225.125e0), (1.1142446965095587e-09), 1099511627776) AS v1, CAST(sqlpriv_row."hours" AS INTEGER) AS v2, sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS v3, sqlpriv_quantise((CAST((CAST(CAST(sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS DOUBLE) AS DOUBLE) - CAST((40.0e0) AS DOUBLE)) AS DOUBLE) * CAST((CAST(CAST(sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS DOUBLE) AS DOUBLE) - CAST((40.0e0) AS DOUBLE)) AS DOUBLE)), (800.0e0), (7.275957614183426e-10), 1099511627776) AS v4 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, 2 * sum(v0) - (99) * CAST(count(v0) AS HUGEINT) AS a0, sum(v1) AS a1, count(v2) AS a2, 2 * sum(v3) - (80) * CAST(count(v3) AS HUGEINT) AS a3, sum(v4) AS a4 FROM kept),
coded AS (SELECT n, a0, a1, a2, a3, a4 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1, CAST(coalesce(sum(a2), 0) AS BIGINT) AS a2, CAST(coalesce(sum(a3), 0) AS HUGEINT) AS a3, CAST(coalesce(sum(a4), 0) AS HUGEINT) AS a4 FROM coded;
