-- a mean and a count by group
-- duckdb
SELECT "marital status", COUNT(*) AS n, AVG(income) AS mean FROM people WHERE age >= 18 GROUP BY "marital status" HAVING n > 10 ORDER BY n DESC NULLS LAST LIMIT 5;
-- postgres
SELECT "marital status", count(*) AS n, avg(income) AS mean FROM public.people WHERE age >= 18 GROUP BY "marital status" HAVING n > 10 ORDER BY n DESC NULLS LAST FETCH FIRST 5 ROWS ONLY;
-- bigquery
SELECT `marital status`, COUNT(*) AS n, AVG(income) AS mean FROM `people` WHERE age >= 18 GROUP BY `marital status` HAVING n > 10 ORDER BY n DESC LIMIT 5;
-- snowflake
SELECT "marital status", COUNT(*) AS n, AVG(income) AS mean FROM people WHERE age >= 18 GROUP BY "marital status" HAVING n > 10 ORDER BY n DESC NULLS LAST LIMIT 5;
-- mysql
SELECT `marital status`, COUNT(*) AS n, AVG(income) AS mean FROM people WHERE age >= 18 GROUP BY `marital status` HAVING n > 10 ORDER BY n DESC LIMIT 5;
-- spark
SELECT `marital status`, COUNT(*) AS n, AVG(income) AS mean FROM people WHERE age >= 18 GROUP BY `marital status` HAVING n > 10 ORDER BY n DESC LIMIT 5;

-- our own clauses
-- duckdb
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, method = 'laplace') sex, AVG(income USING laplace) AS mean FROM people STRATIFY BY sex, "Race" WEIGHTS FROM shares;
-- postgres
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, method = 'laplace') sex, avg(income USING laplace) AS mean FROM people STRATIFY BY sex, "Race" WEIGHTS FROM shares;
-- bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, method = "laplace") sex, AVG(income USING laplace) AS mean FROM people STRATIFY BY sex, `Race` WEIGHTS FROM `shares`;
-- snowflake
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, method = 'laplace') sex, AVG(income USING laplace) AS mean FROM people STRATIFY BY sex, "Race" WEIGHTS FROM shares;
-- mysql
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, method = "laplace") sex, AVG(income USING laplace) AS mean FROM people STRATIFY BY sex, `Race` WEIGHTS FROM `shares`;

-- a choice by a condition
-- duckdb
SELECT SUM(CASE WHEN age >= 65 THEN income ELSE 0 END) AS pensions FROM people;
-- postgres
SELECT sum(CASE WHEN age >= 65 THEN income ELSE 0 END) AS pensions FROM people;
-- bigquery
SELECT SUM(IF(age >= 65, income, 0)) AS pensions FROM people;
-- snowflake
SELECT SUM(IFF(age >= 65, income, 0)) AS pensions FROM people;
-- mysql
SELECT SUM(IF(age >= 65, income, 0)) AS pensions FROM people;
-- tsql
SELECT SUM(IIF(age >= 65, income, 0)) AS pensions FROM people;
-- spark
SELECT SUM(IF(age >= 65, income, 0)) AS pensions FROM people;

-- a quotient of noised numbers
-- duckdb
SELECT SUM(CAST(income AS DOUBLE)) / COUNT(*) AS mean FROM people;
-- postgres
SELECT sum(income::double precision) / count(*) AS mean FROM people;
-- bigquery
SELECT SUM(CAST(income AS FLOAT64)) / COUNT(*) AS mean FROM people;
-- snowflake
SELECT SUM(income::FLOAT) / COUNT(*) AS mean FROM people;
-- tsql
SELECT SUM(CAST(income AS FLOAT)) / COUNT(*) AS mean FROM people;

-- a quotient that is NULL for the divisor 0
-- duckdb
SELECT SUM(income) / NULLIF(COUNT(*), 0) AS mean FROM people;
-- bigquery
SELECT SAFE_DIVIDE(SUM(income), COUNT(*)) AS mean FROM people;
-- snowflake
SELECT SUM(income) / NULLIF(COUNT(*), 0) AS mean FROM people;
-- mysql
SELECT SUM(income) / COUNT(*) AS mean FROM people;
-- spark
SELECT SUM(income) / COUNT(*) AS mean FROM people;

-- texts, names and escapes
-- duckdb
SELECT COUNT(*) AS n FROM people WHERE town = 'L''Aquila "old"' AND name LIKE 'A%' AND region IN ('north', 'south');
-- postgres
SELECT count(*) AS n FROM people WHERE town = $$L'Aquila "old"$$ AND name LIKE 'A%' AND region IN ('north', 'south');
-- bigquery
SELECT COUNT(*) AS n FROM people WHERE town = "L'Aquila \"old\"" AND name LIKE 'A%' AND region IN ("north", 'south');
-- snowflake
SELECT COUNT(*) AS n FROM people WHERE town = 'L\'Aquila "old"' AND name LIKE 'A%' AND region IN ('north', 'south'); // a comment
-- mysql
SELECT COUNT(*) AS n FROM people WHERE town = 'L\'Aquila "old"' AND name LIKE "A%" AND region IN ("north", 'south'); # a comment
-- tsql
SELECT COUNT(*) AS n FROM dbo.people WHERE town = N'L''Aquila "old"' AND name LIKE 'A%' AND region IN ('north', 'south');
-- spark
SELECT COUNT(*) AS n FROM people WHERE town = "L'Aquila \"old\"" AND name LIKE 'A%' AND region IN ("north", 'south');

-- dates and what they are moved by
-- duckdb
SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits WHERE day >= DATE '2020-01-31' + INTERVAL 1 MONTH GROUP BY month;
-- postgres
SELECT date_trunc('month', day) AS month, count(*) AS n FROM visits WHERE day >= DATE '2020-01-31' + INTERVAL '1 month' GROUP BY month;
-- bigquery
SELECT DATETIME_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits WHERE day >= DATETIME_ADD(DATE '2020-01-31', INTERVAL 1 MONTH) GROUP BY month;
-- snowflake
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits WHERE day >= DATEADD(month, 1, DATE '2020-01-31') GROUP BY month;
-- tsql
SELECT DATETRUNC(month, day) AS month, COUNT(*) AS n FROM visits WHERE day >= DATEADD(month, 1, CAST('2020-01-31' AS DATE)) GROUP BY month;
-- spark
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits WHERE day >= DATE '2020-01-31' + INTERVAL 1 MONTH GROUP BY month;

-- the beginning of a month that is a day
-- duckdb
SELECT date_trunc('month', day)::DATE AS month, COUNT(*) AS n FROM visits GROUP BY month;
-- bigquery
SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits GROUP BY month;
-- spark
SELECT TRUNC(day, 'MM') AS month, COUNT(*) AS n FROM visits GROUP BY month;

-- days between two dates
-- duckdb
SELECT AVG(date_diff('day', born, died)) AS days FROM people;
-- bigquery
SELECT AVG(DATE_DIFF(died, born, DAY)) AS days FROM people;
-- snowflake
SELECT AVG(DATEDIFF(day, born, died)) AS days FROM people;
-- mysql
SELECT AVG(DATEDIFF(died, born)) AS days FROM people;
-- spark
SELECT AVG(DATEDIFF(died, born)) AS days FROM people;

-- quantiles, spreads and counts under a condition
-- duckdb
SELECT quantile_cont(income, 0.9) AS high, var_pop(income) AS spread, COUNT(DISTINCT id) AS people FROM people;
-- postgres
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY income) AS high, var_pop(income) AS spread, count(DISTINCT id) AS people FROM people;
-- snowflake
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) AS high, VARIANCE_POP(income) AS spread, COUNT(DISTINCT id) AS people FROM people;

-- joins, subqueries and WITH
-- duckdb
WITH adults AS (SELECT id, region FROM people WHERE age >= 18) SELECT region, COUNT(*) AS n FROM adults JOIN visits USING (id) WHERE EXISTS (SELECT 1 FROM shops WHERE shops.id = visits.shop) GROUP BY region;
-- postgres
WITH adults AS (SELECT id, region FROM people WHERE age >= 18) SELECT region, count(*) AS n FROM adults JOIN visits USING (id) WHERE EXISTS (SELECT 1 FROM shops WHERE shops.id = visits.shop) GROUP BY region;
-- bigquery
WITH adults AS (SELECT id, region FROM people WHERE age >= 18) SELECT region, COUNT(*) AS n FROM adults JOIN visits USING (id) WHERE EXISTS (SELECT 1 FROM shops WHERE shops.id = visits.shop) GROUP BY region;
-- snowflake
WITH adults AS (SELECT id, region FROM people WHERE age >= 18) SELECT region, COUNT(*) AS n FROM adults JOIN visits USING (id) WHERE EXISTS (SELECT 1 FROM shops WHERE shops.id = visits.shop) GROUP BY region;
-- mysql
WITH adults AS (SELECT id, region FROM people WHERE age >= 18) SELECT region, COUNT(*) AS n FROM adults JOIN visits USING (id) WHERE EXISTS (SELECT 1 FROM shops WHERE shops.id = visits.shop) GROUP BY region;

-- several groupings at once
-- duckdb
SELECT sex, region, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, region);
-- postgres
SELECT sex, region, count(*) AS n FROM people GROUP BY ROLLUP (sex, region);
-- bigquery
SELECT sex, region, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, region);
-- snowflake
SELECT sex, region, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, region);
-- tsql
SELECT sex, region, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, region);

-- the first rows, and a page behind them
-- duckdb
SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region NULLS FIRST LIMIT 10 OFFSET 5;
-- postgres
SELECT region, count(*) AS n FROM people GROUP BY region ORDER BY region NULLS FIRST OFFSET 5 FETCH NEXT 10 ROWS ONLY;
-- bigquery
SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region LIMIT 10 OFFSET 5;
-- mysql
SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region LIMIT 5, 10;
-- tsql
SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region OFFSET 5 ROWS FETCH NEXT 10 ROWS ONLY;

-- conditions and whole numbers
-- duckdb
SELECT age // 10 AS decade, COUNT(*) AS n FROM people WHERE NOT (age IS NULL) AND (sex = 'f' OR region <> 'north') AND age % 2 = 0 GROUP BY decade;
-- postgres
SELECT div(age, 10) AS decade, count(*) AS n FROM people WHERE NOT (age IS NULL) AND (sex = 'f' OR region <> 'north') AND mod(age, 2) = 0 GROUP BY decade;
-- bigquery
SELECT DIV(age, 10) AS decade, COUNT(*) AS n FROM people WHERE NOT (age IS NULL) AND (sex = 'f' OR region != 'north') AND MOD(age, 2) = 0 GROUP BY decade;
-- mysql
SELECT age DIV 10 AS decade, COUNT(*) AS n FROM people WHERE NOT (age IS NULL) AND (sex = 'f' || region != 'north') && age MOD 2 = 0 GROUP BY decade;
-- spark
SELECT age DIV 10 AS decade, COUNT(*) AS n FROM people WHERE NOT (age IS NULL) AND (sex = 'f' OR region != 'north') AND age % 2 = 0 GROUP BY decade;

-- is not null
-- duckdb
SELECT COUNT(*) FROM t WHERE a IS NOT NULL AND (b <> '' OR b IS NULL)
-- postgres
SELECT COUNT(*) FROM "public"."t" WHERE a IS NOT NULL AND (b <> '' OR b IS NULL)
-- bigquery
SELECT COUNT(*) FROM t WHERE a IS NOT NULL AND (b <> '' OR b IS NULL)
-- snowflake
SELECT COUNT(*) FROM t WHERE a IS NOT NULL AND (b <> '' OR b IS NULL)

-- a list
-- duckdb
SELECT COUNT(*) FROM t WHERE a IN (1, 2)
-- postgres
SELECT COUNT(*) FROM t WHERE a = ANY (ARRAY[1, 2])

-- a quotient of columns
-- duckdb
SELECT a // 2 AS q, COUNT(*) FROM t GROUP BY 1
-- postgres
SELECT a / 2 AS q, COUNT(*) FROM t GROUP BY 1
-- tsql
SELECT a / 2 AS q, COUNT(*) FROM t GROUP BY 1

-- digits of a mean
-- duckdb
SELECT ROUND(AVG(a)::DOUBLE, 1) AS m FROM t
-- postgres
SELECT ROUND(AVG(a)::numeric, 1) AS m FROM t

-- today
-- duckdb
SELECT COUNT(*) FROM t WHERE a >= date_trunc('day', CURRENT_DATE + INTERVAL '-30' DAY)
-- postgres
SELECT COUNT(*) FROM t WHERE a >= date_trunc('day', (NOW() + (INTERVAL '-30 day')))

-- this month
-- duckdb
SELECT COUNT(*) FROM t WHERE a >= date_trunc('month', CURRENT_DATE) AND a < CURRENT_DATE
-- postgres
SELECT COUNT(*) FROM t WHERE a >= date_trunc('month', CURRENT_TIMESTAMP) AND a < now()::date

-- patterns
-- duckdb
SELECT COUNT(*) FROM t WHERE regexp_matches(a, '^b[cd]+') OR regexp_matches(a, 'x|y', 'i') OR regexp_matches(a, '^(?:(U|K)[\s\S]*)$')
-- postgres
SELECT COUNT(*) FROM t WHERE a ~ '^b[cd]+' OR a ~* 'x|y' OR a SIMILAR TO '(U|K)%'

-- parts of texts and moments
-- duckdb
SELECT COUNT(*) FROM t WHERE split_part(a, '-', 2) = 'x' AND epoch(b) > 5 AND date_part('year', age(CURRENT_DATE, c)) > 17
-- postgres
SELECT COUNT(*) FROM t WHERE split_part(a, '-', 2) = 'x' AND extract(epoch FROM b) > 5 AND extract(year FROM age(c)) > 17

-- null is a value
-- duckdb
SELECT COUNT(*) FROM t WHERE a IS NOT DISTINCT FROM 1
-- postgres
SELECT COUNT(*) FROM t WHERE a IS NOT DISTINCT FROM 1
-- mysql
SELECT COUNT(*) FROM t WHERE a <=> 1
-- spark
SELECT COUNT(*) FROM t WHERE a <=> 1

-- a moment with a zone
-- duckdb
SELECT COUNT(*) FROM t WHERE a >= TIMESTAMPTZ '2024-01-01 01:00:00+01:00'
-- postgres
SELECT COUNT(*) FROM t WHERE a >= timestamp with time zone '2024-01-01 01:00:00+01:00'

-- this day in other words
-- duckdb
SELECT COUNT(*) FROM t WHERE a > today() AND b IN ('x', 'y')
-- bigquery
SELECT COUNT(*) FROM t WHERE a > CURRENT_DATE() AND b IN UNNEST(['x', 'y'])
-- snowflake
SELECT COUNT(*) FROM t WHERE a > CURRENT_DATE() AND b IN ('x', 'y')
-- mysql
SELECT COUNT(*) FROM t WHERE a > CURDATE() AND b IN ('x', 'y')
-- tsql
SELECT COUNT(*) FROM t WHERE a > CAST(GETDATE() AS DATE) AND b IN ('x', 'y')
-- spark
SELECT COUNT(*) FROM t WHERE a > current_date() AND b IN ('x', 'y')

-- the day of a moment
-- duckdb
SELECT CAST(a AS DATE) AS d, COUNT(*) FROM t WHERE a >= TIMESTAMPTZ '2024-01-01' GROUP BY d
-- bigquery
SELECT DATE(a) AS d, COUNT(*) FROM t WHERE a >= TIMESTAMP '2024-01-01' GROUP BY d

-- a schema of the tables
-- duckdb
SELECT a, COUNT(*) FROM t WHERE b > 1 GROUP BY a
-- postgres
SELECT a, COUNT(*) FROM "public"."t" WHERE b > 1 GROUP BY a
-- bigquery
SELECT a, COUNT(*) FROM `project.dataset.t` WHERE b > 1 GROUP BY a
-- snowflake
SELECT a, COUNT(*) FROM db.public.t WHERE b > 1 GROUP BY a
-- tsql
SELECT a, COUNT(*) FROM [db].[dbo].[t] WHERE b > 1 GROUP BY a
-- mysql
SELECT a, COUNT(*) FROM shop.t WHERE b > 1 GROUP BY a
-- spark
SELECT a, COUNT(*) FROM shop.t WHERE b > 1 GROUP BY a

-- the moments that Superset filters by
-- duckdb
SELECT COUNT(*) FROM people WHERE seen >= TIMESTAMPTZ '2026-01-01 00:00:00+00:00';
-- postgres
SELECT COUNT(*) FROM people WHERE seen >= TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US');

-- Looker's days
-- duckdb
SELECT CAST(seen AS DATE) AS d, COUNT(*) FROM people WHERE seen >= TIMESTAMP '2026-01-10' + INTERVAL '-6 day' GROUP BY CAST(seen AS DATE);
-- postgres
SELECT DATE(seen) AS d, COUNT(*) FROM people WHERE seen >= TIMESTAMP '2026-01-10' + (-6 || ' day')::INTERVAL GROUP BY DATE(seen);

-- a share, as Metabase writes it
-- duckdb
SELECT SUM(CASE WHEN age = 1 THEN 1 ELSE 0.0 END) / COUNT(*) AS share FROM people;
-- postgres
SELECT SUM(CASE WHEN age = 1 THEN 1 ELSE 0.0 END) / COUNT(*) AS share FROM people;

-- thirty days ago
-- duckdb
SELECT COUNT(*) FROM t WHERE a >= (CURRENT_DATE + INTERVAL '-30' DAY)::DATE AND a < CURRENT_DATE
-- postgres
SELECT COUNT(*) FROM t WHERE a >= CAST((CAST(NOW() AS timestamp) + (INTERVAL '-30 day')) AS date) AND a < CAST(NOW() AS date)

-- values that are cast
-- duckdb
SELECT COUNT(*) FROM t WHERE b IN ('x', 'y') AND a IN (1, 2)
-- postgres
SELECT COUNT(*) FROM t WHERE b IN ('x'::VARCHAR, 'y'::VARCHAR) AND a IN (1::INTEGER, 2::BIGINT)
