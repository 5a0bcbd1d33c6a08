-- a centred sum over the rows' count
SELECT sex, AVG(income) AS income FROM people STRATIFY BY sex;
-- plain
SELECT sex, AVG(income) AS income FROM people GROUP BY GROUPING SETS ((sex), ());
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS s0, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, count(*) AS n, sum(v0) AS a0 FROM kept GROUP BY s0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], s0) - 1 AS UTINYINT), 2) AS s0, n, a0 FROM joint)
SELECT s0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded GROUP BY s0;

-- where NULL is a level, over the count of values
SELECT WITH DIFFERENTIAL_PRIVACY AVG(hours) AS hours FROM people;
-- plain
SELECT AVG(hours) AS hours FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."hours" AS INTEGER) AS v0, sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS v1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, count(v0) AS a0, 2 * sum(v1) - (80) * CAST(count(v1) AS HUGEINT) AS a1 FROM kept),
coded AS (SELECT n, a0, a1 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1 FROM coded;

-- WHERE … IS NOT NULL takes NULL away
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n, AVG(hours) AS hours FROM people WHERE hours IS NOT NULL AND age < 50;
-- plain
SELECT COUNT(*) AS n, AVG(hours) AS hours FROM people WHERE hours IS NOT NULL AND age < 50;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND ((NOT (CAST(sqlpriv_row."hours" AS INTEGER) IS NULL)) AND (CAST(sqlpriv_row."age" AS INTEGER) < (50)))),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, 2 * sum(v0) - (80) * CAST(count(v0) AS HUGEINT) AS a0 FROM kept),
coded AS (SELECT n, a0 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded;

-- values that may be missing are counted on their own: NULL and NaN take no part
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n, COUNT(tips) AS c, AVG(tips) AS tips, SUM(tips) AS s FROM people;
-- plain
SELECT COUNT(*) AS n, COUNT(t) AS c, AVG(t) AS tips, SUM(t) AS s FROM (SELECT CASE WHEN NOT isnan(tips) THEN tips END AS t FROM people);
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_number(CAST(sqlpriv_row."tips" AS DOUBLE)) AS v0, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."tips" AS DOUBLE)), (0.0e0), (50.0e0)) - (25.0e0)) / (2.2737367544323206e-11)) AS BIGINT) AS v1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, count(v0) AS a0, sum(v1) AS a1 FROM kept),
coded AS (SELECT n, a0, a1 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0, CAST(coalesce(sum(a1), 0) AS HUGEINT) AS a1 FROM coded;
