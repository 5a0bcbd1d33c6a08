-- different values in each cell, by a statement of its own
SELECT WITH DIFFERENTIAL_PRIVACY sex, COUNT(DISTINCT hours) AS d FROM people GROUP BY sex;
-- plain
SELECT sex, COUNT(DISTINCT hours) AS d FROM people GROUP BY sex;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS k0, sqlpriv_clamp(CAST(sqlpriv_row."hours" AS INTEGER), (0), (80)) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, count(*) AS n, count(DISTINCT v0) AS a0 FROM kept GROUP BY k0),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], k0) - 1 AS UTINYINT), 2) AS k0, n, a0 FROM joint)
SELECT k0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS BIGINT) AS a0 FROM coded GROUP BY k0;
