-- all rows, in every stratum of the declared domain and in the population
SELECT sex, COUNT(*) AS n FROM people STRATIFY BY sex;
-- plain
SELECT sex, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex), ());
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS s0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, count(*) AS n FROM kept GROUP BY s0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], s0) - 1 AS UTINYINT), 2) AS s0, n FROM joint)
SELECT s0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY s0;

-- a column whose domain says OR NULL is counted by itself
SELECT COUNT(hours) AS n FROM people WHERE age >= 18;
-- plain
SELECT COUNT(hours) AS n FROM people WHERE age >= 18;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."hours" AS INTEGER) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL AND (CAST(sqlpriv_row."age" AS INTEGER) >= (18))),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, count(v0) AS a0 FROM kept),
coded AS (SELECT n, a0 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0 FROM coded;

-- a column whose domain does not list NULL has as many values as there are rows
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(income) AS n FROM people;
-- plain
SELECT COUNT(*) AS n FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n FROM kept),
coded AS (SELECT n FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded;

-- FILTER makes what does not pass NULL
SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FILTER (WHERE employed) AS n, count_if(age > 60) AS old FROM people;
-- plain
SELECT COUNT(*) FILTER (WHERE employed) AS n, count_if(age > 60) AS old FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, (CASE WHEN sqlpriv_row."employed" THEN (1) ELSE CAST(NULL AS BIGINT) END) AS v0, (CASE WHEN (CAST(sqlpriv_row."age" AS INTEGER) > (60)) THEN (1) ELSE CAST(NULL AS BIGINT) END) AS v1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, count(v0) AS a0, count(v1) AS a1 FROM kept),
coded AS (SELECT n, a0, a1 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0, CAST(coalesce(sum(a1), 0) AS BIGINT) AS a1 FROM coded;
