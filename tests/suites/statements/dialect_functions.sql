-- postgres
SELECT to_char(day, 'YYYY-MM') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- postgres
SELECT to_char(arrived, 'FMDay') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(arrived, '%A') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- postgres
SELECT to_char(arrived, 'YYYY-MM-DD HH24') AS m, COUNT(*) FROM stays WHERE arrived < '2023-01-04' GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT strftime(arrived, '%Y-%m-%d %H') AS m, COUNT(*) FROM stays WHERE arrived < '2023-01-04' GROUP BY 1;
-- bigquery
SELECT FORMAT_DATE('%Y-%m', day) AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- bigquery
SELECT FORMAT_TIMESTAMP('%A', arrived) AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(arrived, '%A') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- snowflake
SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- snowflake
SELECT TO_VARCHAR(day, 'MON') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%b') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- spark
SELECT date_format(day, 'yyyy-MM') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- spark
SELECT date_format(arrived, 'EEEE') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(arrived, '%A') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- mysql
SELECT DATE_FORMAT(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- mysql
SELECT DATE_FORMAT(day, '%M') AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%B') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- tsql
SELECT FORMAT(day, 'yyyy-MM') AS m, COUNT(*) FROM stays GROUP BY FORMAT(day, 'yyyy-MM')
-- plain
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM stays GROUP BY ALL;
-- postgres
SELECT date_trunc('month', arrived) AS m, COUNT(*) FROM stays GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('month', arrived) AS m, COUNT(*) FROM stays GROUP BY 1;
-- postgres
SELECT EXTRACT(dow FROM day)::int AS m, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT dayofweek(day) AS m, COUNT(*) FROM stays GROUP BY 1;
-- postgres
SELECT COUNT(*) FROM stays WHERE day >= DATE '2023-02-01' AND day < DATE '2023-02-01' + INTERVAL '1 month'
-- plain
SELECT COUNT(*) FROM stays WHERE month(day) = 2;
-- postgres
SELECT educ, COUNT(*)::numeric / NULLIF(SUM(COUNT(*)) OVER (), 0) AS share FROM people GROUP BY educ
-- plain
SELECT educ, COUNT(*) / SUM(COUNT(*)) OVER () FROM people GROUP BY educ;
-- postgres
SELECT COUNT(*) FROM events WHERE source ~ '^w'
-- plain
SELECT COUNT(*) FROM events WHERE source LIKE 'w%';
-- postgres
SELECT COUNT(*) FROM people WHERE educ = ANY(ARRAY['none','college'])
-- plain
SELECT COUNT(*) FROM people WHERE educ IN ('none','college');
-- postgres
SELECT width_bucket(age, 0, 100, 5) AS b, COUNT(*) FROM people GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT age // 20 + 1 AS b, COUNT(*) FROM people GROUP BY 1;
-- bigquery
SELECT COUNTIF(age > 50) AS n, SAFE_DIVIDE(SUM(hours), COUNT(*)) AS h FROM people
-- plain
SELECT count_if(age > 50), SUM(hours) / COUNT(*) FROM people;
-- bigquery
SELECT EXTRACT(DAYOFWEEK FROM day) AS d, COUNT(*) FROM stays GROUP BY d
-- plain
SELECT dayofweek(day) + 1 AS d, COUNT(*) FROM stays GROUP BY d;
-- bigquery
SELECT DATE_TRUNC(day, MONTH) AS d, COUNT(*) FROM `stays` GROUP BY d
-- plain
SELECT date_trunc('month', day) AS d, COUNT(*) FROM stays GROUP BY d;
-- bigquery
SELECT TIMESTAMP_TRUNC(arrived, MONTH) AS d, COUNT(*) FROM stays GROUP BY d HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('month', arrived) AS d, COUNT(*) FROM stays GROUP BY d;
-- bigquery
SELECT APPROX_COUNT_DISTINCT(educ), COUNT(DISTINCT educ), LOGICAL_AND(age > 0), LOGICAL_OR(age > 98) FROM people
-- plain
SELECT 4, 4, bool_and(age > 0), bool_or(age > 98) FROM people;
-- bigquery
SELECT IFNULL(source, '?') AS s, COUNT(*) AS n FROM events GROUP BY s
-- plain
SELECT COALESCE(source, '?') AS s, COUNT(*) AS n FROM events GROUP BY s;
-- bigquery
SELECT CASE WHEN REGEXP_CONTAINS(educ, r'^(col|mas)') THEN 'high' ELSE 'low' END AS e, COUNT(*) FROM people GROUP BY e
-- plain
SELECT CASE WHEN educ IN ('college', 'master') THEN 'high' ELSE 'low' END AS e, COUNT(*) FROM people GROUP BY e;
-- bigquery
SELECT * FROM (SELECT educ, sex, income FROM people) PIVOT(AVG(income) FOR sex IN ('F', 'M'))
-- plain
SELECT educ, AVG(income) FILTER (WHERE sex = 'F'), AVG(income) FILTER (WHERE sex = 'M') FROM people GROUP BY educ;
-- bigquery
SELECT COUNT(*) FROM people WHERE age BETWEEN 10 AND 20 AND educ NOT IN ('none') AND income IS NOT NULL
-- plain
SELECT COUNT(*) FROM people WHERE age BETWEEN 10 AND 20 AND educ <> 'none';
-- snowflake
SELECT DAYNAME(day) AS d, COUNT(*) FROM stays GROUP BY d
-- plain
SELECT left(dayname(day), 3) AS d, COUNT(*) FROM stays GROUP BY d;
-- snowflake
SELECT ZEROIFNULL(SUM(hours)) AS s, NVL2(MAX(age), 1, 0) AS o FROM people
-- plain
SELECT SUM(hours), 1 FROM people;
-- snowflake
SELECT ward, COUNT(*) FROM stays GROUP BY ward QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2
-- plain
SELECT ward, COUNT(*) FROM stays GROUP BY ward QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2;
-- snowflake
SELECT YEAR(day) AS y, WEEKISO(day) AS w, COUNT(*) FROM stays GROUP BY 1, 2
-- plain
SELECT YEAR(day) AS y, week(day) AS w, COUNT(*) FROM stays GROUP BY 1, 2;
-- snowflake
SELECT LAST_DAY(day) AS m, COUNT(*) FROM stays GROUP BY m
-- plain
SELECT LAST_DAY(day) AS m, COUNT(*) FROM stays GROUP BY m;
-- spark
SELECT dayofweek(day) AS d, weekofyear(day) AS w, COUNT(*) FROM stays GROUP BY 1, 2 HAVING COUNT(*) > 0
-- plain
SELECT dayofweek(day) + 1 AS d, weekofyear(day) AS w, COUNT(*) FROM stays GROUP BY 1, 2;
-- spark
SELECT trunc(day, 'MM') AS d, COUNT(*) FROM stays GROUP BY 1
-- plain
SELECT date_trunc('month', day), COUNT(*) FROM stays GROUP BY 1;
-- spark
SELECT CASE WHEN educ RLIKE '^c' THEN 1 ELSE 0 END AS c, COUNT(*) FROM people GROUP BY 1
-- plain
SELECT CASE WHEN educ LIKE 'c%' THEN 1 ELSE 0 END AS c, COUNT(*) FROM people GROUP BY 1;
-- mysql
SELECT DAYNAME(day) AS d, WEEKDAY(day) AS w, COUNT(*) FROM stays GROUP BY d, w
-- plain
SELECT dayname(day) AS d, isodow(day) - 1 AS w, COUNT(*) FROM stays GROUP BY d, w;
-- mysql
SELECT CONCAT_WS('-', sex, educ) AS k, COUNT(*) FROM people GROUP BY k
-- plain
SELECT CONCAT_WS('-', sex, educ) AS k, COUNT(*) FROM people GROUP BY k;
-- tsql
SELECT TOP 2 educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC
-- plain
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC LIMIT 2;
-- tsql
SELECT IIF(age > 50, 'old', 'young') AS a, COUNT_BIG(*) AS n, STDEV(age) FROM people GROUP BY IIF(age > 50, 'old', 'young')
-- plain
SELECT IF(age > 50, 'old', 'young') AS a, COUNT(*) AS n, STDDEV(age) FROM people GROUP BY a;
-- tsql
SELECT EOMONTH(day) AS m, COUNT(*) FROM stays GROUP BY EOMONTH(day)
-- plain
SELECT LAST_DAY(day) AS m, COUNT(*) FROM stays GROUP BY m;
-- tsql
SELECT DATENAME(month, day) AS m, COUNT(*) FROM stays GROUP BY DATENAME(month, day)
-- plain
SELECT monthname(day) AS m, COUNT(*) FROM stays GROUP BY m;
-- snowflake
SELECT DECODE(sex, 'F', 'women', 'men') AS s, COUNT(*) FROM people GROUP BY 1
-- plain
SELECT CASE sex WHEN 'F' THEN 'women' ELSE 'men' END, COUNT(*) FROM people GROUP BY 1;
-- snowflake
SELECT DIV0NULL(SUM(hours), COUNT(*)) AS h, BOOLAND_AGG(age >= 0) AS b FROM people
-- plain
SELECT SUM(hours) / COUNT(*), TRUE FROM people;
-- postgres
SELECT date_part('year', day) AS y, to_char(day, 'Mon') AS m, COUNT(*) FROM stays GROUP BY 1, 2
-- plain
SELECT year(day), strftime(day, '%b'), COUNT(*) FROM stays GROUP BY ALL;
-- postgres
SELECT educ, COUNT(*) AS n, ROUND(AVG(income)::numeric, 2) AS a FROM people GROUP BY educ ORDER BY n DESC
-- plain
SELECT educ, COUNT(*), ROUND(AVG(income), 2) FROM people GROUP BY educ;
-- postgres
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 EXCEPT SELECT person FROM stays WHERE ward = 2) AS q
-- plain
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 EXCEPT SELECT person FROM stays WHERE ward = 2);
-- postgres
SELECT ward, COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM stays ORDER BY person, day, id) AS f GROUP BY ward
-- plain
SELECT ward, COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM stays ORDER BY person, day, id) GROUP BY ward;
-- snowflake
SELECT ward, COUNT(*) FROM (SELECT ward FROM stays QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC, id) = 1) GROUP BY ward
-- plain
SELECT ward, COUNT(*) FROM (SELECT ward FROM stays QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC, id) = 1) GROUP BY ward;
-- snowflake
SELECT COUNT(*) FROM (SELECT ward, LAG(ward) OVER (PARTITION BY person ORDER BY day, id) AS p FROM stays) WHERE ward = p
-- plain
SELECT COUNT(*) FROM (SELECT ward, LAG(ward) OVER (PARTITION BY person ORDER BY day, id) AS p FROM stays) WHERE ward = p;
-- spark
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 MINUS SELECT person FROM stays WHERE ward = 2)
-- plain
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 EXCEPT SELECT person FROM stays WHERE ward = 2);
-- spark
SELECT * FROM (SELECT educ, sex, income FROM people) PIVOT (AVG(income) FOR sex IN ('F', 'M'))
-- plain
SELECT educ, AVG(income) FILTER (WHERE sex = 'F'), AVG(income) FILTER (WHERE sex = 'M') FROM people GROUP BY educ;
-- bigquery
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 INTERSECT DISTINCT SELECT person FROM stays WHERE ward = 2)
-- plain
SELECT COUNT(*) FROM (SELECT person FROM stays WHERE ward = 1 INTERSECT SELECT person FROM stays WHERE ward = 2);
-- bigquery
SELECT EXTRACT(ISOWEEK FROM day) AS w, COUNT(*) FROM stays GROUP BY w
-- plain
SELECT week(day), COUNT(*) FROM stays GROUP BY 1;
-- bigquery
SELECT r.region, COUNT(*) FROM people AS p CROSS JOIN regions AS r GROUP BY r.region
-- plain
SELECT region, 2000 FROM regions;
-- mysql
SELECT DATE_FORMAT(arrived, '%H') AS h, COUNT(*) FROM stays GROUP BY h
-- plain
SELECT strftime(arrived, '%H') AS h, COUNT(*) FROM stays GROUP BY h;
-- tsql
SELECT FORMAT(day, 'MMMM') AS m, COUNT(*) FROM stays GROUP BY FORMAT(day, 'MMMM')
-- plain
SELECT strftime(day, '%B') AS m, COUNT(*) FROM stays GROUP BY 1;

-- postgres
SELECT every(age >= 0) AS e, bool_or(age > 98) AS b FROM people
-- plain
SELECT bool_and(age >= 0) AS e, bool_or(age > 98) AS b FROM people;
-- snowflake
SELECT sex, SQUARE(AVG(age)) AS s FROM people GROUP BY sex
-- plain
SELECT sex, AVG(age) * AVG(age) AS s FROM people GROUP BY sex;
-- spark
SELECT sex, try_divide(SUM(hours), COUNT(*)) AS h FROM people GROUP BY sex
-- plain
SELECT sex, SUM(hours) / COUNT(*) AS h FROM people GROUP BY sex;
-- snowflake
SELECT TO_CHAR(day, 'YYYY-MM') AS m, DAYNAME(day) AS d, COUNT(*) AS n FROM stays GROUP BY m, d HAVING COUNT(*) > 0
-- plain
SELECT strftime(day, '%Y-%m') AS m, strftime(day, '%a') AS d, COUNT(*) AS n FROM stays GROUP BY ALL;
-- mysql
SELECT DATEDIFF('2023-04-05', day) AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING COUNT(*) > 0
-- plain
SELECT date_diff('day', day, DATE '2023-04-05') AS d, COUNT(*) AS n FROM stays GROUP BY d;
