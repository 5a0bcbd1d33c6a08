-- every set of keys is a table of its own, all from one scan
SELECT WITH DIFFERENTIAL_PRIVACY sex, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, race);
-- plain
SELECT sex, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, race);
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(sqlpriv_row."sex" AS VARCHAR) AS k0, sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS k1 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT k0, k1, count(*) AS n FROM kept GROUP BY k0, k1),
coded AS (SELECT coalesce(CAST(list_position(['F', 'M'], k0) - 1 AS UTINYINT), 2) AS k0, coalesce(CAST(CASE WHEN k1 BETWEEN (1) AND (3) THEN k1 - (1) END AS UTINYINT), 3) AS k1, n FROM joint)
SELECT k0, k1, CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM coded GROUP BY k0, k1;
