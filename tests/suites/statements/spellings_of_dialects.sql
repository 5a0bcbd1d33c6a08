-- bigquery
SELECT REPEAT(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- bigquery
SELECT TRIM(region) AS r, LTRIM(region, 'n') AS l, RTRIM(region, 'h') AS q, COUNT(*) AS n FROM people GROUP BY 1,2,3;
-- bigquery
SELECT SUBSTR(region, 2) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT SPLIT(region, 'o')[OFFSET(0)] AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT split_part(region, 'o', 1) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT SPLIT(region, 'o')[SAFE_OFFSET(1)] AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT string_split(region, 'o')[2] AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT STRPOS(region, 'o') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT REGEXP_EXTRACT(region, r'^(.)') AS r, COUNT(*) AS n FROM people GROUP BY r HAVING COUNT(*) > 0
-- plain
SELECT region[1] AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT STRING_AGG(DISTINCT region, ',' ORDER BY region) AS r FROM people
-- plain
SELECT string_agg(DISTINCT region, ',' ORDER BY region) FROM people;
-- bigquery
SELECT ARRAY_AGG(DISTINCT region ORDER BY region) AS r FROM people;
-- bigquery
SELECT ANY_VALUE(region) AS r FROM people WHERE region = 'north';
-- bigquery
SELECT ROUND(AVG(age), 1) AS x, TRUNC(AVG(age)) AS y, CEIL(AVG(age)) AS z FROM people;
-- bigquery
SELECT COUNT(*) AS n FROM stays WHERE arrived >= TIMESTAMP('2023-01-10')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE arrived >= '2023-01-10';
-- bigquery
SELECT DATE_DIFF(DATE '2023-04-01', day, WEEK(MONDAY)) AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0
-- plain
SELECT date_diff('day', date_trunc('week', day), DATE '2023-03-27') // 7 AS m, COUNT(*) FROM stays GROUP BY m;
-- bigquery
SELECT COUNT(*) AS n FROM people WHERE REGEXP_CONTAINS(region, r'^n') OR ENDS_WITH(region, 't')
-- plain
SELECT COUNT(*) FROM people WHERE region LIKE 'n%' OR region LIKE '%t';
-- bigquery
SELECT COUNT(*) AS n FROM people WHERE region LIKE ANY ('n%', 'w%')
-- plain
SELECT COUNT(*) FROM people WHERE region LIKE 'n%' OR region LIKE 'w%';
-- bigquery
SELECT CAST(age AS INT64) AS s, COUNT(*) AS n FROM people WHERE age < 5 GROUP BY s HAVING n > 0
-- plain
SELECT age AS s, COUNT(*) AS n FROM people WHERE age < 5 GROUP BY s;
-- bigquery
SELECT CAST(AVG(age) AS INT64) AS s FROM people;
-- bigquery
SELECT UNIX_DATE(day) AS w, COUNT(*) AS n FROM stays GROUP BY w HAVING n > 0
-- plain
SELECT day - DATE '1970-01-01' AS w, COUNT(*) AS n FROM stays GROUP BY w;
-- bigquery
SELECT LENGTH(region) AS l, CHAR_LENGTH(sex) AS c, BYTE_LENGTH(region) AS b, COUNT(*) AS n FROM people GROUP BY 1,2,3
-- plain
SELECT length(region), 1, length(region), COUNT(*) FROM people GROUP BY ALL;
-- bigquery
SELECT POW(AVG(age), 2) AS l, SQRT(AVG(age)) AS s, LN(AVG(age)) AS n, LOG(AVG(age), 2) AS m, LOG10(AVG(age)) AS o, EXP(1) AS e FROM people
-- plain
SELECT AVG(age)**2, SQRT(AVG(age)), LN(AVG(age)), log2(AVG(age)), LOG10(AVG(age)), EXP(1) FROM people;
-- bigquery
SELECT TRANSLATE(region, 'on', '01') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT ASCII(region) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT CAST(employed AS INT64) AS r, COUNT(*) AS n FROM people GROUP BY r HAVING COUNT(*) > 0
-- plain
SELECT employed::INT AS r, COUNT(*) AS n FROM people GROUP BY r;
-- bigquery
SELECT DATETIME(arrived) >= '2023-02-01' AS r, COUNT(*) AS n FROM stays GROUP BY r
-- plain
SELECT arrived >= '2023-02-01' AS r, COUNT(*) AS n FROM stays GROUP BY r;
-- bigquery
SELECT CAST(age AS INT64) AS s, COUNT(*) AS n FROM people GROUP BY s
-- plain
SELECT age, COUNT(*) FROM people GROUP BY 1;
-- bigquery
SELECT CAST(amount AS INT64) AS a, SUM(CAST(amount AS INT64)) AS s, COUNT(*) AS n FROM events WHERE amount > 200 GROUP BY 1 HAVING n > 0
-- plain
SELECT round(amount)::INT, SUM(round(amount)::INT), COUNT(*) FROM events WHERE amount > 200 GROUP BY 1;
-- bigquery
SELECT CAST(mobile AS INT64) AS a, SUM(CAST(mobile AS INT64)) AS s, COUNT(*) AS n FROM events GROUP BY 1
-- plain
SELECT mobile::INT, SUM(mobile::INT), COUNT(*) FROM events GROUP BY 1;
-- mysql
SELECT REPEAT(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- mysql
SELECT TRIM(region) AS r, LTRIM(region) AS l, RTRIM(region) AS q, COUNT(*) AS n FROM people GROUP BY 1,2,3;
-- mysql
SELECT TRIM(BOTH 'n' FROM region) AS r, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT trim(region, 'n') AS p, COUNT(*) FROM people GROUP BY 1;
-- mysql
SELECT SUBSTRING(region, 2) AS r, SUBSTR(region, 1, 2) AS s, MID(region, 2, 2) AS m, COUNT(*) AS n FROM people GROUP BY 1,2,3
-- plain
SELECT region[2:], region[1:2], region[2:3], COUNT(*) FROM people GROUP BY ALL;
-- mysql
SELECT SUBSTRING_INDEX(region, 'o', 1) AS r, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT split_part(region, 'o', 1) AS r, COUNT(*) AS n FROM people GROUP BY 1;
-- mysql
SELECT POSITION('o' IN region) AS r, LOCATE('o', region) AS l, INSTR(region, 'o') AS i, COUNT(*) AS n FROM people GROUP BY 1,2,3
-- plain
SELECT strpos(region, 'o'), strpos(region, 'o'), strpos(region, 'o'), COUNT(*) FROM people GROUP BY ALL;
-- mysql
SELECT GROUP_CONCAT(DISTINCT region ORDER BY region SEPARATOR ', ') AS r FROM people
-- plain
SELECT string_agg(DISTINCT region, ', ' ORDER BY region) FROM people;
-- mysql
SELECT GROUP_CONCAT(DISTINCT region) AS r FROM people WHERE region = 'north';
-- mysql
SELECT FIELD(educ, 'none', 'school', 'college') AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT CASE educ WHEN 'none' THEN 1 WHEN 'school' THEN 2 WHEN 'college' THEN 3 ELSE 0 END AS r, COUNT(*) FROM people GROUP BY r;
-- mysql
SELECT ISNULL(source) AS s, COUNT(*) AS n FROM events GROUP BY s
-- plain
SELECT (source IS NULL)::INT AS s, COUNT(*) AS n FROM events GROUP BY s;
-- mysql
SELECT DATE_FORMAT(arrived, '%Y-%m-%d %H:00:00') AS m, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-03' GROUP BY m HAVING n > 0
-- plain
SELECT strftime(arrived, '%Y-%m-%d %H:00:00') AS m, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-03' GROUP BY m;
-- mysql
SELECT WEEK(day, 3) AS y, COUNT(*) AS n FROM stays GROUP BY 1 HAVING n > 0
-- plain
SELECT week(day), COUNT(*) FROM stays GROUP BY ALL;
-- mysql
SELECT YEARWEEK(day, 3) AS y, COUNT(*) AS n FROM stays GROUP BY 1 HAVING n > 0
-- plain
SELECT yearweek(day), COUNT(*) FROM stays GROUP BY ALL;
-- mysql
SELECT UNIX_TIMESTAMP(arrived) > 1675000000 AS d, COUNT(*) AS n FROM stays GROUP BY d
-- plain
SELECT epoch(arrived) > 1675000000 AS d, COUNT(*) AS n FROM stays GROUP BY d;
-- mysql
SELECT COUNT(*) AS n FROM people WHERE age > 50 XOR sex = 'F'
-- plain
SELECT COUNT(*) FROM people WHERE (age > 50) <> (sex = 'F');
-- mysql
SELECT COUNT(DISTINCT sex, region) AS n FROM people
-- plain
SELECT COUNT(DISTINCT (sex, region)) FROM people;
-- mysql
SELECT LOG(AVG(age)) AS l, LOG2(AVG(age)) AS m, LOG10(AVG(age)) AS n, POW(AVG(age), 2) AS p, SQRT(AVG(age)) AS s, EXP(1) AS e, LN(AVG(age)) AS q FROM people
-- plain
SELECT ln(AVG(age)), LOG2(AVG(age)), LOG10(AVG(age)), POW(AVG(age), 2), SQRT(AVG(age)), EXP(1), LN(AVG(age)) FROM people;
-- mysql
SELECT PI() AS p, RADIANS(180) AS r, COUNT(*) AS n FROM people;
-- mysql
SELECT ANY_VALUE(region) AS r, COUNT(*) AS n FROM people WHERE region = 'north';
-- mysql
SELECT GROUP_CONCAT(DISTINCT region ORDER BY region SEPARATOR '; ') AS r FROM people
-- plain
SELECT string_agg(DISTINCT region, '; ' ORDER BY region) AS r FROM people;
-- mysql
SELECT GROUP_CONCAT(DISTINCT region SEPARATOR '; ') AS r FROM people WHERE region = 'north'
-- plain
SELECT 'north';
-- mysql
SELECT GROUP_CONCAT(region ORDER BY n SEPARATOR '/') AS r FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q
-- plain
SELECT string_agg(region, '/' ORDER BY n) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q;
-- mysql
SELECT COUNT(DISTINCT source, mobile) AS n FROM events
-- plain
SELECT COUNT(DISTINCT (source, mobile)) FILTER (WHERE source IS NOT NULL AND mobile IS NOT NULL) FROM events;
-- postgres
SELECT COUNT(*)/7 AS x FROM people
-- plain
SELECT COUNT(*)//7 FROM people;
-- postgres
SELECT 100 * COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*) AS pct FROM people
-- plain
SELECT 100 * COUNT(*) FILTER (WHERE sex = 'F') // COUNT(*) AS pct FROM people;
-- postgres
SELECT position('o' IN region) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT repeat(sex, 3) AS p, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT sex||sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT overlay(region placing 'x' from 1 for 1) AS p, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT 'x' || region[2:] AS p, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT trim(both 'n' from region) AS p, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT trim(region, 'n') AS p, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT trim(leading 'n' from region) AS p, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT ltrim(region, 'n') AS p, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT ltrim(region, 'n') AS p, rtrim(region, 'h') AS q, COUNT(*) AS n FROM people GROUP BY 1, 2;
-- postgres
SELECT trim(region) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT translate(region, 'on', '01') AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT md5(region) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT ascii(region) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT substring(region, 2) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT substring(region from 2) AS p, COUNT(*) AS n FROM people GROUP BY 1
-- plain
SELECT substring(region, 2) AS p, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT string_agg(DISTINCT region, ',' ORDER BY region) AS x FROM people;
-- postgres
SELECT array_agg(DISTINCT region ORDER BY region) AS x FROM people;
-- postgres
SELECT string_agg(region, ',' ORDER BY n DESC) AS x FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q;
-- postgres
SELECT COUNT(*) FROM stays WHERE arrived AT TIME ZONE 'UTC' > '2023-02-01';
-- postgres
SELECT COUNT(*) FROM people WHERE region ILIKE ANY (ARRAY['N%', '%ST'])
-- plain
SELECT COUNT(*) FROM people WHERE region ILIKE 'N%' OR region ILIKE '%ST';
-- postgres
SELECT COUNT(*) FROM people WHERE region LIKE ANY (ARRAY['n%', '%st'])
-- plain
SELECT COUNT(*) FROM people WHERE region LIKE 'n%' OR region LIKE '%st';
-- postgres
SELECT COUNT(*) FROM people WHERE region IN (VALUES ('north'), ('west'))
-- plain
SELECT COUNT(*) FROM people WHERE region IN ('north', 'west');
-- postgres
SELECT COUNT(*) FROM people WHERE ROW(sex, region) = ROW('F', 'north')
-- plain
SELECT COUNT(*) FROM people WHERE sex = 'F' AND region = 'north';
-- postgres
SELECT COUNT(*) FROM people WHERE CAST(age AS varchar(10)) = '50'
-- plain
SELECT COUNT(*) FROM people WHERE age = 50;
-- postgres
SELECT region::varchar(3) AS r, COUNT(*) FROM people GROUP BY 1
-- plain
SELECT left(region, 3), COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT regexp_replace(region, 'o', '0') AS r, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT regexp_replace(region, '[aeiou]', '', 'g') AS r, COUNT(*) FROM people GROUP BY 1;
-- postgres
SELECT date_bin('15 minutes', seen_at, timestamp '2024-01-01') AS d, COUNT(*) FROM events GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT time_bucket(INTERVAL 15 MINUTE, seen_at) AS d, COUNT(*) FROM events GROUP BY 1;
-- postgres
SELECT isfinite(day) AS d, COUNT(*) FROM stays GROUP BY 1;
-- postgres
SELECT string_agg(DISTINCT region, '; ' ORDER BY region) AS r FROM people;
-- snowflake
SELECT REPEAT(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- snowflake
SELECT TRIM(region) AS r, LTRIM(region, 'n') AS l, RTRIM(region, 'h') AS q, COUNT(*) AS n FROM people GROUP BY 1,2,3;
-- snowflake
SELECT SUBSTR(region, 2) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- snowflake
SELECT LISTAGG(DISTINCT region, ',') WITHIN GROUP (ORDER BY region) AS r FROM people
-- plain
SELECT string_agg(DISTINCT region, ',' ORDER BY region) FROM people;
-- snowflake
SELECT TO_VARCHAR(age) AS x, COUNT(*) AS n FROM people WHERE age < 3 GROUP BY x HAVING n > 0
-- plain
SELECT age::VARCHAR AS x, COUNT(*) AS n FROM people WHERE age < 3 GROUP BY x;
-- snowflake
SELECT DATEDIFF(week, day, '2023-04-01'::DATE) AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0
-- plain
SELECT date_diff('day', date_trunc('week', day), DATE '2023-03-27') // 7 AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- snowflake
SELECT COUNT(*) AS n FROM stays WHERE day >= TO_DATE('2023-02-01') AND day < TO_DATE('01/03/2023', 'DD/MM/YYYY')
-- plain
SELECT COUNT(*) FROM stays WHERE day >= '2023-02-01' AND day < '2023-03-01';
-- snowflake
SELECT COUNT(*) AS n FROM stays WHERE arrived > TO_TIMESTAMP('2023-02-01 12:00:00')
-- plain
SELECT COUNT(*) FROM stays WHERE arrived > '2023-02-01 12:00:00';
-- snowflake
SELECT COUNT(*) AS n FROM people WHERE region ILIKE ANY ('N%', 'W%')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region ILIKE 'N%' OR region ILIKE 'W%';
-- snowflake
SELECT COUNT(*) AS n FROM people WHERE region LIKE ALL ('n%', '%h')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region LIKE 'n%' AND region LIKE '%h';
-- snowflake
SELECT COUNT(*) AS n FROM people WHERE CONTAINS(region, 'or') AND STARTSWITH(region, 'n') AND ENDSWITH(region, 'h')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region = 'north';
-- snowflake
SELECT REGEXP_REPLACE(region, '[aeiou]', '') AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT regexp_replace(region, '[aeiou]', '', 'g') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- snowflake
SELECT REGEXP_SUBSTR(region, '[aeiou]') AS r, COUNT(*) AS n FROM people GROUP BY r HAVING COUNT(*) > 0
-- plain
SELECT regexp_extract(region, '[aeiou]') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- snowflake
SELECT MIN_BY(region, n) AS lo, MAX_BY(region, n) AS hi FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region)
-- plain
SELECT arg_min(region, n), arg_max(region, n) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region);
-- snowflake
SELECT EXTRACT(DOW FROM day) AS d, COUNT(*) AS n FROM stays GROUP BY d
-- plain
SELECT dayofweek(day) AS d, COUNT(*) AS n FROM stays GROUP BY d;
-- snowflake
SELECT DATE_PART('dow', day) AS d, DATE_PART(month, day) AS m, COUNT(*) AS n FROM stays GROUP BY d, m
-- plain
SELECT dayofweek(day) AS d, month(day), COUNT(*) AS n FROM stays GROUP BY ALL;
-- snowflake
SELECT CONCAT(sex, '-', region) AS s, CONCAT_WS('/', sex, region) AS w, COUNT(*) AS n FROM people GROUP BY 1, 2 HAVING COUNT(*) > 0;
-- snowflake
SELECT TRANSLATE(region, 'on', '01') AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- snowflake
SELECT UPPER(LEFT(region, 1)) || LOWER(SUBSTR(region, 2)) AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- snowflake
SELECT ASCII(region) AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- snowflake
SELECT MD5(region) AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- snowflake
SELECT LOG(2, AVG(age)) AS l, LN(AVG(age)) AS n, SQRT(AVG(age)) AS s, POWER(AVG(age), 2) AS p, CBRT(AVG(age)) AS c, SQUARE(AVG(age)) AS q FROM people
-- plain
SELECT log2(AVG(age)), ln(avg(age)), sqrt(avg(age)), avg(age)**2, cbrt(avg(age)), avg(age)**2 FROM people;
-- snowflake
SELECT CORR(age, income) AS c, REGR_SLOPE(income, age) AS r FROM people;
-- snowflake
SELECT COUNT(DISTINCT region, sex) AS n FROM people
-- plain
SELECT COUNT(DISTINCT (region, sex)) FROM people;
-- snowflake
SELECT ANY_VALUE(region) AS n FROM people WHERE region = 'north';
-- snowflake
SELECT COUNT(*) AS n FROM people WHERE BITAND(age, 4) = 4
-- plain
SELECT COUNT(*) AS n FROM people WHERE age & 4 = 4;
-- snowflake
SELECT COUNT(*) AS n FROM people NATURAL JOIN regions;
-- snowflake
SELECT LISTAGG(DISTINCT region, '; ') WITHIN GROUP (ORDER BY region DESC) AS r FROM people
-- plain
SELECT string_agg(DISTINCT region, '; ' ORDER BY region DESC) AS r FROM people;
-- spark
SELECT repeat(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- spark
SELECT trim(region) AS r, ltrim(region) AS l, rtrim(region) AS q, COUNT(*) AS n FROM people GROUP BY 1,2,3;
-- spark
SELECT substring(region, 2) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT substring_index(region, 'o', 1) AS r, COUNT(*) AS n FROM people GROUP BY r HAVING COUNT(*) > 0
-- plain
SELECT split_part(region, 'o', 1) AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT position('o' IN region) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT strpos(region, 'o') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT position('o', region) AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT strpos(region, 'o') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT CAST(age / 10 AS INT) AS x, COUNT(*) AS n FROM people GROUP BY x
-- plain
SELECT age // 10 AS x, COUNT(*) AS n FROM people GROUP BY x;
-- spark
SELECT INT(age / 10) AS x, COUNT(*) AS n FROM people GROUP BY x
-- plain
SELECT age // 10 AS x, COUNT(*) AS n FROM people GROUP BY x;
-- spark
SELECT pmod(age, 10) AS x, COUNT(*) AS n FROM people GROUP BY x
-- plain
SELECT age % 10 AS x, COUNT(*) AS n FROM people GROUP BY x;
-- spark
SELECT COUNT(*) AS n FROM stays WHERE day >= to_date('2023-02-01') AND day < to_date('01.03.2023', 'dd.MM.yyyy')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day >= '2023-02-01' AND day < '2023-03-01';
-- spark
SELECT COUNT(*) AS n FROM stays WHERE arrived > to_timestamp('2023-02-01 12:00:00')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE arrived > '2023-02-01 12:00:00';
-- spark
SELECT COUNT(*) AS n FROM stays WHERE arrived > timestamp '2023-02-01 12:00:00' - INTERVAL 3 HOURS
-- plain
SELECT COUNT(*) AS n FROM stays WHERE arrived > '2023-02-01 09:00:00';
-- spark
SELECT unix_timestamp(arrived) > 1675000000 AS d, COUNT(*) AS n FROM stays GROUP BY d
-- plain
SELECT epoch(arrived) > 1675000000 AS d, COUNT(*) AS n FROM stays GROUP BY d;
-- spark
SELECT COUNT(*) AS n FROM people WHERE regexp_like(region, '^n')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region LIKE 'n%';
-- spark
SELECT COUNT(*) AS n FROM people WHERE region LIKE ANY ('n%', 'w%')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region LIKE 'n%' OR region LIKE 'w%';
-- spark
SELECT COUNT(*) AS n FROM people WHERE startswith(region, 'n') AND endswith(region, 'h') AND contains(region, 'or')
-- plain
SELECT COUNT(*) AS n FROM people WHERE region = 'north';
-- spark
SELECT COUNT(*) AS n FROM people WHERE array_contains(array('north', 'west'), region)
-- plain
SELECT COUNT(*) FROM people WHERE region <> 'south';
-- spark
SELECT regexp_replace(region, '[aeiou]', '') AS r, COUNT(*) AS n FROM people GROUP BY r
-- plain
SELECT regexp_replace(region, '[aeiou]', '', 'g') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT translate(region, 'on', '01') AS r, COUNT(*) AS n FROM people GROUP BY r;
-- spark
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) AS a FROM people WHERE age <> 49;
-- spark
SELECT max_by(region, n) AS r, min_by(region, n) AS s FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region);
-- spark
SELECT COUNT(DISTINCT region, sex) AS a FROM people
-- plain
SELECT COUNT(DISTINCT (region, sex)) FROM people;
-- spark
SELECT region, sex, COUNT(*) AS n FROM people GROUP BY region, sex WITH CUBE
-- plain
SELECT region, sex, COUNT(*) AS n FROM people GROUP BY CUBE(region, sex);
-- spark
SELECT string(age) AS s, double(age) AS d, COUNT(*) AS n FROM people WHERE age < 3 GROUP BY 1,2 HAVING n > 0
-- plain
SELECT age::VARCHAR, age, COUNT(*) FROM people WHERE age < 3 GROUP BY ALL;
-- spark
SELECT sha2(region, 256) AS s, md5(region) AS m, COUNT(*) AS n FROM people GROUP BY 1,2
-- plain
SELECT sha256(region), md5(region), COUNT(*) FROM people GROUP BY ALL;
-- spark
SELECT ascii(region) AS s, COUNT(*) AS n FROM people GROUP BY 1;
-- spark
SELECT round(AVG(age), 1) AS s, bround(AVG(age), 1) AS b, ceil(AVG(age)) AS c, sqrt(AVG(age)) AS d, log(AVG(age)) AS e, log2(AVG(age)) AS f, power(AVG(age), 2) AS g FROM people
-- plain
SELECT round(AVG(age), 1), round_even(AVG(age), 1), ceil(AVG(age)), sqrt(AVG(age)), ln(AVG(age)), log2(AVG(age)), power(AVG(age), 2) FROM people;
-- spark
SELECT width_bucket(age, 0, 100, 4) AS x, COUNT(*) AS n FROM people GROUP BY x HAVING n > 0
-- plain
SELECT age // 25 + 1 AS x, COUNT(*) AS n FROM people GROUP BY x;
-- spark
SELECT COUNT(*) AS n FROM people LEFT SEMI JOIN regions ON people.region = regions.region AND regions.inhabitants > 500
-- plain
SELECT COUNT(*) FROM people JOIN regions USING (region) WHERE inhabitants > 500;
-- spark
SELECT COUNT(*) AS n FROM people LEFT ANTI JOIN regions ON people.region = regions.region AND regions.inhabitants > 500
-- plain
SELECT COUNT(*) FROM people JOIN regions USING (region) WHERE inhabitants <= 500;
-- spark
SELECT COUNT(*) AS n FROM VALUES (1), (2) AS t(x);
-- spark
SELECT corr(age, income) AS c, covar_samp(age, income) AS d, regr_slope(income, age) AS e FROM people;
-- spark
SELECT SUM(CASE WHEN employed THEN 1 ELSE 0 END) AS s, SUM(CAST(employed AS INT)) AS t, AVG(CAST(employed AS INT)) AS u FROM people;
-- spark
SELECT CAST(change AS INT) AS s, CAST(amount AS INT) AS a, COUNT(*) AS n FROM events WHERE amount > 200 GROUP BY 1, 2 HAVING n > 0
-- plain
SELECT change, trunc(amount)::INT, COUNT(*) FROM events WHERE amount > 200 GROUP BY 1, 2;
-- tsql
SELECT REPLICATE(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY REPLICATE(sex, 2)
-- plain
SELECT sex||sex AS p, COUNT(*) FROM people GROUP BY 1;
-- tsql
SELECT LTRIM(RTRIM(region)) AS r, COUNT(*) AS n FROM people GROUP BY LTRIM(RTRIM(region))
-- plain
SELECT region, COUNT(*) FROM people GROUP BY 1;
-- tsql
SELECT TRIM(region) AS r, COUNT(*) AS n FROM people GROUP BY TRIM(region);
-- tsql
SELECT STUFF(region, 1, 1, 'x') AS r, COUNT(*) AS n FROM people GROUP BY STUFF(region, 1, 1, 'x')
-- plain
SELECT 'x' || region[2:] AS r, COUNT(*) FROM people GROUP BY 1;
-- tsql
SELECT STRING_AGG(region, ',') WITHIN GROUP (ORDER BY region) AS r FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q
-- plain
SELECT 'north,south,west';
-- tsql
SELECT CHOOSE(year - 2017, 'a', 'b', 'c', 'd', 'e', 'f') AS a, COUNT(*) AS n FROM people GROUP BY CHOOSE(year - 2017, 'a', 'b', 'c', 'd', 'e', 'f') HAVING COUNT(*) > 0
-- plain
SELECT ['a','b','c','d','e','f'][year - 2017] AS a, COUNT(*) FROM people GROUP BY 1;
-- tsql
SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) * 100 / COUNT(*) AS pct FROM people
-- plain
SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) * 100 // COUNT(*) AS pct FROM people;
-- tsql
SELECT AVG(age * 1.0) AS a, AVG(CAST(age AS FLOAT)) AS b, AVG(income) AS c FROM people
-- plain
SELECT AVG(age), AVG(age), AVG(income) FROM people;
-- tsql
SELECT DATEPART(weekday, day) AS y, COUNT(*) AS n FROM stays GROUP BY DATEPART(weekday, day)
-- plain
SELECT dayofweek(day) + 1, COUNT(*) FROM stays GROUP BY ALL;
-- tsql
SELECT DATEPART(iso_week, day) AS y, COUNT(*) AS n FROM stays GROUP BY DATEPART(iso_week, day) HAVING COUNT(*) > 0
-- plain
SELECT week(day), COUNT(*) FROM stays GROUP BY ALL;
-- tsql
SELECT CAST(year AS varchar(4)) + '-' + sex AS k, COUNT(*) AS n FROM people GROUP BY CAST(year AS varchar(4)) + '-' + sex
-- plain
SELECT year || '-' || sex AS k, COUNT(*) AS n FROM people GROUP BY 1;
-- tsql
SELECT UPPER(region) AS k, LOWER(sex) AS l, REVERSE(region) AS r, REPLACE(region, 'o', '0') AS p, COUNT(*) AS n FROM people GROUP BY UPPER(region), LOWER(sex), REVERSE(region), REPLACE(region, 'o', '0')
-- plain
SELECT UPPER(region), LOWER(sex), REVERSE(region), REPLACE(region, 'o', '0'), COUNT(*) FROM people GROUP BY ALL;
-- tsql
SELECT ROUND(AVG(income), 2) AS a, CEILING(AVG(income)) AS b, SQUARE(AVG(income)) AS c, SQRT(AVG(income)) AS d, POWER(AVG(income), 2) AS e, LOG(AVG(income)) AS f, LOG10(AVG(income)) AS g, EXP(1) AS h, ABS(-AVG(income)) AS i, SIGN(AVG(income)) AS j FROM people
-- plain
SELECT ROUND(AVG(income), 2), ceil(AVG(income)), AVG(income)**2, SQRT(AVG(income)), POWER(AVG(income), 2), LN(AVG(income)), LOG10(AVG(income)), EXP(1), ABS(-AVG(income)), SIGN(AVG(income)) FROM people;
-- tsql
SELECT * FROM (SELECT region, sex, id FROM people) AS s PIVOT (COUNT(id) FOR sex IN ([F], [M])) AS p
-- plain
SELECT region, COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FILTER (WHERE sex = 'M') FROM people GROUP BY region;
-- tsql
SELECT CAST(AVG(income) AS DECIMAL(10, 2)) AS a FROM people;
-- tsql
SELECT CAST(ROUND(AVG(income), 0) AS INT) AS a FROM people;
-- tsql
SELECT STRING_AGG(region, ', ') WITHIN GROUP (ORDER BY n) AS r FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q
-- plain
SELECT string_agg(region, ', ' ORDER BY n) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) q;
-- tsql
SELECT AVG(income) AS a, AVG(i) AS b FROM (SELECT income, income * 2 AS i FROM people) q
-- plain
SELECT AVG(income), AVG(income*2) FROM people;
-- tsql
SELECT AVG(a) AS a FROM (SELECT sex, AVG(income) AS a FROM people GROUP BY sex) q;
-- tsql
SELECT COUNT(*) AS n FROM people WHERE CAST(region AS varchar(2)) = 'no' AND CAST(year AS nvarchar(4)) = '2020'
-- plain
SELECT COUNT(*) FROM people WHERE left(region, 2) = 'no' AND year = 2020
