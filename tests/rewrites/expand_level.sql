-- a median among listed values
SELECT WITH DIFFERENTIAL_PRIVACY MEDIAN(age) AS m FROM people;
-- plain
SELECT quantile_disc(age, 0.5)::DOUBLE AS m FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."age" AS INTEGER), (0), (99)) AS k0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(CASE WHEN k0 BETWEEN (0) AND (99) THEN k0 - (0) END AS UTINYINT), 100) AS k0, n FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY k0;

-- MIN is the 1 % quantile; NULL is in no level
SELECT WITH DIFFERENTIAL_PRIVACY MIN(hours) AS m FROM people GROUP BY race;
-- plain
SELECT quantile_disc(hours, 0.01)::DOUBLE AS m FROM people GROUP BY race;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS k0, sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS k1, CAST(sqlpriv_row."hours" AS INTEGER) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, k1, count(*) AS n, count(v0) AS a0 FROM kept GROUP BY k0, k1),
coded AS (SELECT coalesce(CAST(CASE WHEN k0 BETWEEN (1) AND (3) THEN k0 - (1) END AS UTINYINT), 3) AS k0, coalesce(CAST(CASE WHEN k1 BETWEEN (0) AND (80) THEN k1 - (0) END AS UTINYINT), 81) AS k1, n, a0 FROM joint)
SELECT k0, k1, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0 FROM coded GROUP BY k0, k1;

-- a wide interval is cut into equal cells
SELECT WITH DIFFERENTIAL_PRIVACY abs(PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) - 895) < 10 AS m FROM people;
-- plain
SELECT abs(quantile_disc(income, 0.9) - 895) < 10 AS m FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, floor(CAST((CAST((CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) - CAST((0.0e0) AS DOUBLE)) AS DOUBLE) / CASE WHEN CAST((0.48828125e0) AS DOUBLE) <> 0 THEN CAST((0.48828125e0) AS DOUBLE) END) AS DOUBLE)) AS k0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(CASE WHEN TRY_CAST(k0 AS BIGINT) BETWEEN (0) AND (2048) AND TRY_CAST(k0 AS BIGINT) = k0 THEN TRY_CAST(k0 AS BIGINT) - (0) END AS USMALLINT), 2049) AS k0, n FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY k0;

-- the most frequent value
SELECT WITH DIFFERENTIAL_PRIVACY MODE(sex) AS m FROM people;
-- plain
SELECT mode(sex) AS m FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS k0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], k0) - 1 AS UTINYINT), 2) AS k0, n FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY k0;
