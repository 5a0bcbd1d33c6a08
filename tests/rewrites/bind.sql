-- sugar is taken away, literals become what they stand beside
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM people WHERE age BETWEEN 18 AND 64 AND born >= '1950-06-01' AND sex NOT IN ('F') AND race <> 2.0;
-- plain
SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 18 AND 64 AND born >= '1950-06-01' AND sex NOT IN ('F') AND race <> 2.0;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND ((CAST(sqlpriv_row."age" AS INTEGER) >= (18)) AND (CAST(sqlpriv_row."age" AS INTEGER) <= (64)) AND (sqlpriv_row."born" >= DATE '1950-06-01') AND (NOT (CAST(sqlpriv_row."sex" AS VARCHAR) IN ('F'))) AND (CAST(sqlpriv_row."race" AS INTEGER) <> (2)))),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n FROM kept),
coded AS (SELECT n FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded;

-- functions of numbers
SELECT WITH DIFFERENTIAL_PRIVACY SUM(abs(debt)) AS a, SUM(greatest(least(income, 700), 100)) AS c, AVG(coalesce(hours, 0)) AS h, SUM(round(income)) AS r FROM people;
-- plain
SELECT SUM(abs(debt)) AS a, SUM(greatest(least(income, 700), 100)) AS c, AVG(coalesce(hours, 0)) AS h, SUM(round(income)) AS r FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_quantise(abs(CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."debt" AS DOUBLE)), (-500.0e0), (500.0e0)) AS DOUBLE)), (250.0e0), (2.2737367544323206e-10), 1099511627776) AS v0, sqlpriv_quantise(greatest(least(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)), (700.0e0)), (100.0e0)), (400.0e0), (2.7284841053187847e-10), 1099511627776) AS v1, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number(coalesce(sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)), (0))), (0), (80)) AS BIGINT), (0), (80)) AS v2, sqlpriv_quantise(round(CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE)), (500.0e0), (4.547473508864641e-10), 1099511627776) AS v3 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, sum(v0) AS a0, sum(v1) AS a1, 2 * sum(v2) - (80) * CAST(count(v2) AS HUGEINT) AS a2, sum(v3) AS a3 FROM kept),
coded AS (SELECT n, a0, a1, a2, a3 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1, CAST(coalesce(sum(a2), 0) AS HUGEINT) AS a2, CAST(coalesce(sum(a3), 0) AS HUGEINT) AS a3 FROM coded;

-- CASE with an operand, IF, NULLIF, three-valued logic
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(nullif(race, 2)) AS a, SUM(CASE race WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE 0 END) AS b, SUM(if(employed, 1, 0)) AS c, COUNT(*) FILTER (WHERE NOT (hours > 40 OR region = 'N')) AS d FROM people;
-- plain
SELECT COUNT(nullif(race, 2)) AS a, SUM(CASE race WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE 0 END) AS b, SUM(if(employed, 1, 0)) AS c, COUNT(*) FILTER (WHERE NOT (hours > 40 OR region = 'N')) AS d FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, (CASE WHEN (CAST(sqlpriv_row."race" AS INTEGER) = (2)) THEN CAST(NULL AS BIGINT) ELSE sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) END) AS v0, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((CASE WHEN (CAST(sqlpriv_row."race" AS INTEGER) = (1)) THEN (10) WHEN (CAST(sqlpriv_row."race" AS INTEGER) = (2)) THEN (20) ELSE (0) END)), (0), (20)) AS BIGINT), (0), (20)) AS v1, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((CASE WHEN sqlpriv_row."employed" THEN (1) ELSE (0) END)), (0), (1)) AS BIGINT), (0), (1)) AS v2, (CASE WHEN (NOT ((CAST(sqlpriv_row."hours" AS INTEGER) > (40)) OR (CAST(sqlpriv_row."region" AS VARCHAR) = 'N'))) THEN (1) ELSE CAST(NULL AS BIGINT) END) AS v3 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, count(v0) AS a0, 2 * sum(v1) - (20) * CAST(count(v1) AS HUGEINT) AS a1, 2 * sum(v2) - (1) * CAST(count(v2) AS HUGEINT) AS a2, count(v3) AS a3 FROM kept),
coded AS (SELECT n, a0, a1, a2, a3 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1, CAST(coalesce(sum(a2), 0) AS HUGEINT) AS a2, CAST(coalesce(sum(a3), 0) AS BIGINT) AS a3 FROM coded;

-- arithmetic; a division by zero is NULL, and counted
SELECT WITH DIFFERENTIAL_PRIVACY AVG(income / (age + 1)) AS q, SUM(age * race - 7) AS p, AVG(age % 10) AS m, COUNT(1 / age) AS n, SUM(-age) AS minus FROM people;
-- plain
SELECT AVG(income / (age + 1)) AS q, SUM(age * race - 7) AS p, AVG(age % 10) AS m, COUNT(1 / age) AS n, SUM(-age) AS minus FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_quantise((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) / CASE WHEN CAST((CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) + CAST((1) AS DOUBLE)) AS DOUBLE) <> 0 THEN CAST((CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) + CAST((1) AS DOUBLE)) AS DOUBLE) END), (500.0e0), (4.547473508864641e-10), 1099511627776) AS v0, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((CAST((CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) * CAST(sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS DOUBLE)) AS DOUBLE) - CAST((7) AS DOUBLE))), (-7), (290)) AS BIGINT), (-7), (290)) AS v1, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) % CASE WHEN CAST((10) AS DOUBLE) <> 0 THEN CAST((10) AS DOUBLE) END)), (0), (9)) AS BIGINT), (0), (9)) AS v2, (CASE WHEN (NOT ((CASE WHEN ((CAST(sqlpriv_row."age" AS INTEGER) = (0)) AND ((1) < (0))) THEN (-CAST(exp(CAST((1000.0e0) AS DOUBLE)) AS DOUBLE)) WHEN ((CAST(sqlpriv_row."age" AS INTEGER) = (0)) AND ((1) > (0))) THEN exp(CAST((1000.0e0) AS DOUBLE)) WHEN ((CAST(sqlpriv_row."age" AS INTEGER) = (0)) AND ((1) = (0))) THEN (CAST(exp(CAST((1000.0e0) AS DOUBLE)) AS DOUBLE) - CAST(exp(CAST((1000.0e0) AS DOUBLE)) AS DOUBLE)) ELSE (CAST((1) AS DOUBLE) / CASE WHEN CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) <> 0 THEN CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) END) END) IS NULL)) THEN (1) ELSE CAST(NULL AS BIGINT) END) AS v3, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((-CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE))), (-99), (0)) AS BIGINT), (-99), (0)) AS v4 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, sum(v0) AS a0, 2 * sum(v1) - (283) * CAST(count(v1) AS HUGEINT) AS a1, 2 * sum(v2) - (9) * CAST(count(v2) AS HUGEINT) AS a2, count(v3) AS a3, 2 * sum(v4) - (-99) * CAST(count(v4) AS HUGEINT) AS a4 FROM kept),
coded AS (SELECT n, a0, a1, a2, a3, a4 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1, CAST(coalesce(sum(a2), 0) AS HUGEINT) AS a2, CAST(coalesce(sum(a3), 0) AS BIGINT) AS a3, CAST(coalesce(sum(a4), 0) AS HUGEINT) AS a4 FROM coded;

-- years as a key, and a difference of dates in days
SELECT WITH DIFFERENTIAL_PRIVACY date_trunc('year', born) AS y, AVG(DATE '2020-01-01' - born USING gaussian) AS days FROM people WHERE born >= DATE '2014-01-05' GROUP BY y;
-- plain
SELECT date_trunc('year', born) AS y, AVG(DATE '2020-01-01' - born) AS days FROM people WHERE born >= DATE '2014-01-05' GROUP BY y;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(list_position([TIMESTAMP '2014-01-01 00:00:00', TIMESTAMP '2015-01-01 00:00:00', TIMESTAMP '2016-01-01 00:00:00', TIMESTAMP '2017-01-01 00:00:00', TIMESTAMP '2018-01-01 00:00:00', TIMESTAMP '2019-01-01 00:00:00'], date_trunc('year', CASE WHEN sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31') BETWEEN DATE '100000-01-01 (BC)' AND DATE '200000-01-01' THEN sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31') END)) - 1 AS UTINYINT) AS k0, sqlpriv_clamp(CAST(sqlpriv_clamp(sqlpriv_number((CAST(date_diff('day', DATE '1970-01-01', CASE WHEN DATE '2020-01-01' BETWEEN DATE '100000-01-01 (BC)' AND DATE '200000-01-01' THEN DATE '2020-01-01' END) AS DOUBLE) - CAST(date_diff('day', DATE '1970-01-01', CASE WHEN sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31') BETWEEN DATE '100000-01-01 (BC)' AND DATE '200000-01-01' THEN sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31') END) AS DOUBLE))), (1), (2187)) AS BIGINT), (1), (2187)) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND (sqlpriv_row."born" >= DATE '2014-01-05')),
kept AS (SELECT * FROM rows),
joint AS (SELECT min(k0) AS k0, count(*) AS n, 2 * sum(v0) - (2188) * CAST(count(v0) AS HUGEINT) AS a0 FROM kept GROUP BY CAST(coalesce(k0, 6) * 1 AS UTINYINT)),
coded AS (SELECT coalesce(k0, 6) AS k0, n, a0 FROM joint)
SELECT k0, CAST(coalesce(n, 0) AS BIGINT) AS n, CAST(coalesce(a0, 0) AS HUGEINT) AS a0 FROM coded;
