SELECT max(year, 2), min(age, 2), max(age, 5) FROM people;
SELECT sex, max(educ, 3), min(hours, 4) FROM people GROUP BY sex;
SELECT COUNT(*) FROM people, (SELECT 1);
SELECT COUNT(*) FROM people CROSS JOIN (SELECT 1 AS one, 20 AS least) WHERE age > least;
SELECT COUNT(*), SUM(age) FROM people, (VALUES (1)) WHERE age > 10;
SELECT ROUND(AVG(age), 1) AS a, ABS(SUM(factor)) AS b FROM people, (SELECT 2 AS factor);
SELECT COUNT(*) FROM people WHERE income > '-Infinity' AND income < 'inf' AND income <> 'nan';
SELECT COUNT(*) FROM people WHERE income BETWEEN '-inf' AND 'Infinity';
SELECT COUNT(*), SUM(score) FROM events WHERE score < 'inf' AND amount < 50;
SELECT p.cat, SUM(s.price) FROM sales s JOIN (SELECT pid, category AS cat FROM products) p
ON p.pid = s.pid GROUP BY p.cat;
WITH p AS (SELECT pid, category AS cat FROM products WHERE cost > 5)
SELECT p.cat, SUM(s.price) FROM sales s JOIN p USING (pid) GROUP BY p.cat;
SELECT x.c, SUM(s.price) FROM sales s
JOIN (SELECT pid, cat AS c FROM (SELECT pid, category AS cat FROM products) q) x USING (pid) GROUP BY 1;
SELECT i_category, SUM(s.price * s.qty) AS total
FROM (SELECT pid, category AS i_category FROM products) p, sales s WHERE p.pid = s.pid
GROUP BY i_category ORDER BY total DESC;
SELECT 1 / -0.0 AS x, 1 / -0e0 AS y, -0.0 / 1 AS z, COUNT(*) FROM people;
SELECT COUNT(*) FROM people WHERE 1 / -0.0 > 0;
SELECT sex, COUNT(1 / (year - 2018)) AS n, COUNT((year - 2018) / (year - 2018)) FILTER (age > 3) AS m
FROM people GROUP BY sex;
SELECT COUNT(amount / (change - 1)) AS n FROM events;
SELECT sex, educ, grouping_id() AS g, grouping() AS h, COUNT(*) FROM people GROUP BY CUBE (sex, educ);
SELECT SUM(MAP {'F': 1, 'M': 2}[sex]) AS s, COUNT(map(['F'], [3])[sex]) AS f FROM people;
SELECT MAP {'F': 'w', 'M': 'm'}[sex] AS k, COUNT(*) FROM people GROUP BY k HAVING COUNT(*) > 0;
-- trino
SELECT element_at(MAP(ARRAY['F', 'M'], ARRAY['women', 'men']), sex) AS s, count(*) AS n
FROM people GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT CASE sex WHEN 'F' THEN 'women' ELSE 'men' END AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- trino
SELECT sex, cardinality(array_agg(DISTINCT educ)) AS k, try(sum(hours) / count(*)) AS t
FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(DISTINCT educ) AS k, SUM(hours) // COUNT(*) FROM people GROUP BY sex;
-- trino
SELECT approx_distinct(educ, 0.023), approx_distinct(sex), kurtosis(age), skewness(income * income)
FROM people
-- plain
SELECT COUNT(DISTINCT educ), COUNT(DISTINCT sex), kurtosis(age),
skewness(income * income) * 1998 / sqrt(2000 * 1999) FROM people;
-- spark
SELECT sex, educ, grouping_id(), count(*) FROM people GROUP BY sex, educ WITH ROLLUP
-- plain
SELECT sex, educ, grouping_id(sex, educ), COUNT(*) FROM people GROUP BY ROLLUP (sex, educ);
-- tsql
SELECT sex, educ, GROUPING_ID(sex, educ) AS g, COUNT(*) AS n FROM people GROUP BY CUBE (sex, educ)
-- plain
SELECT sex, educ, grouping_id(sex, educ) AS g, COUNT(*) FROM people GROUP BY CUBE (sex, educ);
-- bigquery
SELECT sex, ARRAY_LENGTH(ARRAY_AGG(DISTINCT educ)) AS k FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(DISTINCT educ) AS k FROM people GROUP BY sex;
-- spark
SELECT sex, size(collect_set(educ)) AS k, try_sum(age), try_avg(age) FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(DISTINCT educ) AS k, SUM(age), AVG(age) FROM people GROUP BY sex;
-- snowflake
SELECT sex, ARRAY_SIZE(ARRAY_AGG(DISTINCT educ)) AS k FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(DISTINCT educ) AS k FROM people GROUP BY sex;
-- postgres
SELECT sex, cardinality(array_agg(DISTINCT educ)) AS k FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(DISTINCT educ) AS k FROM people GROUP BY sex;
-- oracle
SELECT STATS_MODE(region) FROM people
-- plain
SELECT MODE(region) FROM people;
-- redshift
SELECT APPROXIMATE COUNT(DISTINCT educ) AS n FROM people
-- plain
SELECT COUNT(DISTINCT educ) AS n FROM people;
-- snowflake
SELECT ARRAY_AGG(source) WITHIN GROUP (ORDER BY source DESC) AS l
FROM (SELECT source, COUNT(*) AS n FROM events GROUP BY ALL ORDER BY ALL)
-- plain
SELECT list(DISTINCT source ORDER BY source DESC) FILTER (WHERE source IS NOT NULL) FROM events;
-- snowflake
SELECT ARRAY_SIZE(ARRAY_AGG(DISTINCT source)) AS k FROM (SELECT DISTINCT source FROM events)
-- plain
SELECT COUNT(DISTINCT source) AS k FROM events;
-- spark
SELECT sort_array(collect_list(source)), size(collect_set(source) FILTER (WHERE n > 0)) AS k
FROM (SELECT source, count(*) AS n FROM events GROUP BY source)
-- plain
SELECT list(DISTINCT source ORDER BY source) FILTER (WHERE source IS NOT NULL),
    COUNT(DISTINCT source) FROM events;
