-- the middle of the interval times the count is added back
SELECT race, SUM(income) AS s FROM people STRATIFY BY race;
-- plain
SELECT race, SUM(income) AS s FROM people GROUP BY GROUPING SETS ((race), ());
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_clamp(CAST(sqlpriv_row."race" AS INTEGER), (1), (3)) AS s0, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) - (500.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT s0, count(*) AS n, sum(v0) AS a0 FROM kept GROUP BY s0),
coded AS (SELECT coalesce(CAST(CASE WHEN s0 BETWEEN (1) AND (3) THEN s0 - (1) END AS UTINYINT), 3) AS s0, n, a0 FROM joint)
SELECT s0, CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded GROUP BY s0;

-- an interval around 0 needs no count
SELECT WITH DIFFERENTIAL_PRIVACY SUM(debt) AS s FROM people;
-- plain
SELECT SUM(debt) AS s FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, CAST(round((sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."debt" AS DOUBLE)), (-500.0e0), (500.0e0)) - (0.0e0)) / (4.547473508864641e-10)) AS BIGINT) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, sum(v0) AS a0 FROM kept),
coded AS (SELECT n, a0 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded;

-- bounds are propagated through row expressions
SELECT WITH DIFFERENTIAL_PRIVACY SUM(CASE WHEN age >= 65 THEN income * 2 ELSE 0 END) AS s FROM people;
-- plain
SELECT SUM(CASE WHEN age >= 65 THEN income * 2 ELSE 0 END) AS s FROM people;
-- kernel
WITH rows AS (SELECT sqlpriv_row."id" AS u, sqlpriv_quantise((CASE WHEN (CAST(sqlpriv_row."age" AS INTEGER) >= (65)) THEN (CAST(sqlpriv_clamp(sqlpriv_number(CAST(sqlpriv_row."income" AS DOUBLE)), (0.0e0), (1000.0e0)) AS DOUBLE) * CAST((2) AS DOUBLE)) ELSE (0.0e0) END), (1000.0e0), (9.094947017729282e-10), 1099511627776) AS v0 FROM main."people" AS sqlpriv_row WHERE sqlpriv_row."id" IS NOT NULL),
kept AS (SELECT * FROM rows),
joint AS (SELECT count(*) AS n, sum(v0) AS a0 FROM kept),
coded AS (SELECT n, a0 FROM joint)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n, CAST(coalesce(sum(a0), 0) AS HUGEINT) AS a0 FROM coded;
