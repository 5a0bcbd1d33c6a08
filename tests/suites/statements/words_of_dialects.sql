-- postgres
SELECT region::text AS r, sex::varchar || '-' || year::text AS k, COUNT(*) AS n FROM people GROUP BY 1, 2
-- plain
SELECT region AS r, sex || '-' || year::VARCHAR AS k, COUNT(*) AS n FROM people GROUP BY ALL;
-- postgres
SELECT extract(year from day)::text || '-' || lpad(extract(month from day)::text, 2, '0') AS ym, count(*) AS n FROM stays GROUP BY 1
-- plain
SELECT strftime(day, '%Y-%m') AS ym, count(*) AS n FROM stays GROUP BY 1;
-- postgres
SELECT COUNT(*) AS n FROM stays WHERE day::text LIKE '2023-02%'
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day::VARCHAR LIKE '2023-02%';
-- postgres
SELECT k::text AS k, n FROM (SELECT region AS k, COUNT(*) AS n FROM people GROUP BY 1) q
-- plain
SELECT region AS k, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT source::text AS s, fee::text AS f, since::text AS d FROM sources
-- plain
SELECT source, fee::VARCHAR, since::VARCHAR FROM sources;
-- postgres
SELECT COUNT(*)::text || ' people' AS n FROM people
-- plain
SELECT COUNT(*)::VARCHAR || ' people' AS n FROM people;
-- postgres
SELECT COUNT(*) AS n FROM people WHERE region = ANY('{north,west}'::text[]) AND year = ANY ('{2019, 2020}'::int[])
-- plain
SELECT COUNT(*) AS n FROM people WHERE region IN ('north', 'west') AND year IN (2019, 2020);
-- postgres
SELECT COUNT(*) AS n FROM people WHERE year <> ALL('{2019}'::int[])
-- plain
SELECT COUNT(*) AS n FROM people WHERE year <> 2019;
-- postgres
SELECT COUNT(*) AS n FROM stays WHERE day >= to_date('01.02.2023', 'DD.MM.YYYY') AND arrived >= to_timestamp(1675209600)
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day >= DATE '2023-02-01' AND arrived >= TIMESTAMP '2023-02-01';
-- bigquery
SELECT CAST(year AS STRING) AS y, LPAD(CAST(age AS STRING), 3, '0') AS w, COUNT(*) AS n FROM people WHERE age < 20 GROUP BY y, w HAVING n > 0
-- plain
SELECT year::VARCHAR AS y, lpad(age::VARCHAR, 3, '0') AS w, COUNT(*) AS n FROM people WHERE age < 20 GROUP BY y, w;
-- bigquery
SELECT TIMESTAMP_DIFF(TIMESTAMP '2023-04-05 00:00:00', arrived, DAY) AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING n > 0
-- plain
SELECT date_sub('day', arrived, TIMESTAMP '2023-04-05') AS d, COUNT(*) AS n FROM stays GROUP BY d;
-- bigquery
SELECT COUNT(*) AS n FROM stays WHERE DATETIME_DIFF(DATETIME '2023-02-01 00:00:00', arrived, HOUR) BETWEEN 0 AND 30 OR day < PARSE_DATE('%Y%m%d', '20230110') OR day = DATE(2023, 3, 1)
-- plain
SELECT COUNT(*) AS n FROM stays WHERE date_diff('hour', arrived, TIMESTAMP '2023-02-01') BETWEEN 0 AND 30 OR day < DATE '2023-01-10' OR day = DATE '2023-03-01';
-- bigquery
SELECT REGEXP_REPLACE(region, r'[ou]', '') AS r, REVERSE(sex) AS s, INSTR(region, 'o') AS i, LEFT(educ, 2) AS e, COUNT(*) AS n FROM people GROUP BY 1, 2, 3, 4 HAVING n > 0
-- plain
SELECT regexp_replace(region, '[ou]', '', 'g'), sex, strpos(region, 'o'), left(educ, 2), COUNT(*) FROM people GROUP BY ALL;
-- snowflake
SELECT region, RATIO_TO_REPORT(COUNT(*)) OVER () AS r FROM people GROUP BY region
-- plain
SELECT region, COUNT(*) / SUM(COUNT(*)) OVER () AS r FROM people GROUP BY region;
-- snowflake
SELECT region, sex, RATIO_TO_REPORT(SUM(hours)) OVER (PARTITION BY region) AS r FROM people GROUP BY region, sex
-- plain
SELECT region, sex, SUM(hours) / SUM(SUM(hours)) OVER (PARTITION BY region) AS r FROM people GROUP BY region, sex;
-- snowflake
SELECT YEAR(day) || '-' || LPAD(MONTH(day), 2, '0') AS ym, EQUAL_NULL(ward, 1) AS one, COUNT(*) AS n FROM stays GROUP BY 1, 2
-- plain
SELECT strftime(day, '%Y-%m') AS ym, ward IS NOT DISTINCT FROM 1 AS one, COUNT(*) AS n FROM stays GROUP BY ALL;
-- snowflake
SELECT COUNT(*) AS n FROM stays WHERE DATEDIFF(hour, arrived, '2023-02-01'::TIMESTAMP_NTZ) < 40 AND day > DATE_FROM_PARTS(2023, 1, 15) AND CHARINDEX('o', 'no') = LEN('no')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE date_diff('hour', arrived, TIMESTAMP '2023-02-01') < 40 AND day > DATE '2023-01-15';
-- mysql
SELECT region, sex, COUNT(*) AS n FROM people GROUP BY region, sex WITH ROLLUP
-- plain
SELECT region, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (region, sex);
-- mysql
SELECT SUM(sex = 'F') AS f, SUM(age > 50 AND hours < 20) AS o, AVG(region IN ('north', 'west')) AS a FROM people
-- plain
SELECT SUM((sex = 'F')::INT), SUM((age > 50 AND hours < 20)::INT), AVG((region IN ('north', 'west'))::INT) FROM people;
-- mysql
SELECT COUNT(*) AS n FROM stays WHERE day >= DATE_SUB('2023-03-31', INTERVAL 1 MONTH) AND day < STR_TO_DATE('15.03.2023', '%d.%m.%Y')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day >= DATE '2023-02-28' AND day < DATE '2023-03-15';
-- mysql
SELECT TIMESTAMPDIFF(HOUR, arrived, '2023-04-05') DIV 24 AS d, CAST(ward AS CHAR) AS w, COUNT(*) AS n FROM stays GROUP BY d, w HAVING n > 0
-- plain
SELECT date_sub('hour', arrived, TIMESTAMP '2023-04-05') // 24 AS d, ward::VARCHAR AS w, COUNT(*) AS n FROM stays GROUP BY d, w;
-- tsql
SELECT CONVERT(varchar(7), day, 120) AS ym, COUNT(*) AS n FROM stays GROUP BY CONVERT(varchar(7), day, 120)
-- plain
SELECT strftime(day, '%Y-%m') AS ym, COUNT(*) AS n FROM stays GROUP BY ALL;
-- tsql
SELECT CONVERT(date, arrived) AS d, CONVERT(char(8), arrived, 112) AS c, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-05' GROUP BY CONVERT(date, arrived), CONVERT(char(8), arrived, 112) HAVING COUNT(*) > 0
-- plain
SELECT arrived::DATE AS d, strftime(arrived, '%Y%m%d') AS c, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-05' GROUP BY ALL;
-- tsql
SELECT DATEADD(month, DATEDIFF(month, 0, day), 0) AS m, COUNT(*) AS n FROM stays GROUP BY DATEADD(month, DATEDIFF(month, 0, day), 0)
-- plain
SELECT date_trunc('month', day)::TIMESTAMP AS m, COUNT(*) AS n FROM stays GROUP BY ALL;
-- tsql
SELECT LEFT(region, 1) AS r, REVERSE(sex) AS s, COUNT(*) AS n FROM people WHERE CHARINDEX('o', region) > 0 GROUP BY LEFT(region, 1), REVERSE(sex) HAVING COUNT(*) > 0
-- plain
SELECT LEFT(region, 1) AS r, sex AS s, COUNT(*) AS n FROM people WHERE region LIKE '%o%' GROUP BY ALL;
-- spark
SELECT CAST(year AS STRING) AS y, COUNT(*) AS n FROM people WHERE instr(region, 'o') = 2 OR locate('w', region) = 1 GROUP BY y
-- plain
SELECT year::VARCHAR AS y, COUNT(*) AS n FROM people WHERE region[2] = 'o' OR region[1] = 'w' GROUP BY y;
SELECT left(source, 1) AS s, COUNT(*) AS n FROM events WHERE left(source, 2) <> 'we' GROUP BY 1 HAVING n > 0
