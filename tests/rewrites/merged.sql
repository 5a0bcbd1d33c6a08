-- COUNT(*), AVG and SUM of one column: two measurements
SELECT sex, race, COUNT(*) AS n, AVG(income) AS a, SUM(income) AS s FROM people STRATIFY BY sex, race;
-- plain
SELECT sex, race, COUNT(*) AS n, AVG(income) AS a, SUM(income) AS s FROM people GROUP BY GROUPING SETS ((sex, race), ());
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS s0, sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS s1, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, s1, count(*) AS n, sum(v0) AS a0 FROM kept GROUP BY s0, s1),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], s0) - 1 AS UTINYINT), 2) AS s0, coalesce(CAST(CASE WHEN s1 BETWEEN (1) AND (3) THEN s1 - (1) END AS UTINYINT), 3) AS s1, n, a0 FROM joint)
SELECT s0, s1, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded GROUP BY s0, s1;

-- spelling does not matter
SELECT WITH DIFFERENTIAL_PRIVACY AVG(p.INCOME) AS a, mean("Income") AS b FROM people AS p HAVING count(*) > 0 AND avg(income) > 0;
-- plain
SELECT AVG(income) AS a, AVG(income) AS b FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, sum(v0) AS a0 FROM kept),
coded AS (SELECT n, a0 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded;
