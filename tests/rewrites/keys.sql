-- a marginal inside each stratum, and the population's
SELECT sex, region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY region STRATIFY BY sex;
-- plain
SELECT sex, region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY GROUPING SETS ((sex, region), (region));
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS s0, CAST(sqlpriv_row."region" AS VARCHAR) AS k0, sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, k0, count(*) AS n, 2 * sum(v0) - (99) * CAST(count(v0) AS HUGEINT) AS a0 FROM kept GROUP BY s0, k0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], s0) - 1 AS UTINYINT), 2) AS s0, coalesce(CAST(CASE WHEN k0 IS NULL THEN 2 ELSE list_position(['N', 'S', NULL], k0) - 1 END AS UTINYINT), 3) AS k0, n, a0 FROM joint)
SELECT s0, k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded GROUP BY s0, k0;

-- a derived key with a finite public range, by ordinal
SELECT WITH DIFFERENTIAL_PRIVACY age // 10 AS decade, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY decade DESC LIMIT 3;
-- plain
SELECT age // 10 AS decade, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY decade DESC LIMIT 3;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, trunc(CAST(sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS DOUBLE) / CASE WHEN CAST((10) AS DOUBLE) <> 0 THEN CAST((10) AS DOUBLE) END) AS k0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(CASE WHEN TRY_CAST(k0 AS BIGINT) BETWEEN (0) AND (9) AND TRY_CAST(k0 AS BIGINT) = k0 THEN TRY_CAST(k0 AS BIGINT) - (0) END AS UTINYINT), 10) AS k0, n FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY k0;

-- CASE with literal branches, by alias
SELECT WITH DIFFERENTIAL_PRIVACY CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, SUM(income) / COUNT(*) AS a FROM people GROUP BY band;
-- plain
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, SUM(income) / COUNT(*) AS a FROM people GROUP BY band;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, (CASE WHEN (CAST(sqlpriv_row."age" AS INTEGER) < (18)) THEN 'child' WHEN (CAST(sqlpriv_row."age" AS INTEGER) < (65)) THEN 'adult' ELSE 'old' END) AS k0, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n, sum(v0) AS a0 FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(list_position(['child', 'adult', 'old'], k0) - 1 AS UTINYINT), 3) AS k0, n, a0 FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded GROUP BY k0;

-- GROUP BY ALL, parts of dates, bins of a real
SELECT WITH DIFFERENTIAL_PRIVACY month(born) AS m, CAST(floor(income / 500) AS INTEGER) AS bin, COUNT(*) AS n FROM people WHERE income < 900 GROUP BY ALL HAVING n > 0;
-- plain
SELECT month(born) AS m, CAST(floor(income / 500) AS INTEGER) AS bin, COUNT(*) AS n FROM people WHERE income < 900 GROUP BY ALL;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(CASE WHEN TRY_CAST(date_part('month', sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31')) AS BIGINT) BETWEEN (1) AND (12) AND TRY_CAST(date_part('month', sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31')) AS BIGINT) = date_part('month', sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31')) THEN TRY_CAST(date_part('month', sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31')) AS BIGINT) - (1) END AS UTINYINT) AS k0, CAST(CASE WHEN TRY_CAST(round_even(CAST(floor(CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) / CASE WHEN CAST((500) AS DOUBLE) <> 0 THEN CAST((500) AS DOUBLE) END) AS DOUBLE)) AS DOUBLE), 0) AS BIGINT) BETWEEN (0) AND (1) AND TRY_CAST(round_even(CAST(floor(CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) / CASE WHEN CAST((500) AS DOUBLE) <> 0 THEN CAST((500) AS DOUBLE) END) AS DOUBLE)) AS DOUBLE), 0) AS BIGINT) = round_even(CAST(floor(CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) / CASE WHEN CAST((500) AS DOUBLE) <> 0 THEN CAST((500) AS DOUBLE) END) AS DOUBLE)) AS DOUBLE), 0) THEN TRY_CAST(round_even(CAST(floor(CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) / CASE WHEN CAST((500) AS DOUBLE) <> 0 THEN CAST((500) AS DOUBLE) END) AS DOUBLE)) AS DOUBLE), 0) AS BIGINT) - (0) END AS UTINYINT) AS k1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND (CAST(sqlpriv_row."income" AS DOUBLE) < (900.0e0))),
kept AS (SELECT * FROM rows),
joint AS (SELECT min(k0) AS k0, min(k1) AS k1, count(*) AS n FROM kept GROUP BY CAST(coalesce(k0, 12) * 3 + coalesce(k1, 2) * 1 AS UTINYINT)),
coded AS (SELECT coalesce(k0, 12) AS k0, coalesce(k1, 2) AS k1, n FROM joint)
SELECT k0, k1, CAST(coalesce(n, 0) AS BIGINT) AS n FROM coded;

-- GROUPING tells a stratum's row from the population's
SELECT race, GROUPING(race) AS g, COUNT(*) AS n FROM people STRATIFY BY race ORDER BY g, race;
-- plain
SELECT race, GROUPING(race) AS g, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((race), ()) ORDER BY g, race;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS s0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, count(*) AS n FROM kept GROUP BY s0),
coded AS (SELECT coalesce(CAST(CASE WHEN s0 BETWEEN (1) AND (3) THEN s0 - (1) END AS UTINYINT), 3) AS s0, n FROM joint)
SELECT s0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY s0;

-- the days of a date whose interval WHERE makes short; rows of other days fall in no cell
SELECT born, COUNT(*) AS n FROM people WHERE born BETWEEN DATE '1970-02-27' AND DATE '1970-03-02' GROUP BY born;
-- plain
SELECT d AS born, count(born) AS n FROM (SELECT unnest(generate_series(DATE '1970-02-27', DATE '1970-03-02', INTERVAL 1 DAY))::DATE AS d) LEFT JOIN people ON born = d GROUP BY d;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(list_position([DATE '1970-02-27', DATE '1970-02-28', DATE '1970-03-01', DATE '1970-03-02'], sqlpriv_clamp(sqlpriv_row."born", DATE '1920-01-01', DATE '2019-12-31')) - 1 AS UTINYINT) AS k0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND ((sqlpriv_row."born" >= DATE '1970-02-27') AND (sqlpriv_row."born" <= DATE '1970-03-02'))),
kept AS (SELECT * FROM rows),
joint AS (SELECT min(k0) AS k0, count(*) AS n FROM kept GROUP BY CAST(coalesce(k0, 4) * 1 AS UTINYINT)),
coded AS (SELECT coalesce(k0, 4) AS k0, n FROM joint)
SELECT k0, CAST(coalesce(n, 0) AS BIGINT) AS n FROM coded;
