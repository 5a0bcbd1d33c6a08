-- postgres
SELECT (EXTRACT(day FROM day) / 10)::int * 10 AS d, COUNT(*) AS n FROM stays GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT CAST(round(day(day) / 10) AS INTEGER) * 10 AS d, COUNT(*) AS n FROM stays GROUP BY 1;
-- postgres
SELECT (age / 10.0)::int AS d, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT CAST(round(age / 10) AS INTEGER) AS d, COUNT(*) AS n FROM people GROUP BY 1;
-- mysql
SELECT CAST(age / 10 AS SIGNED) AS d, COUNT(*) AS n FROM people GROUP BY d HAVING n > 0
-- plain
SELECT CAST(round(age / 10) AS INTEGER) AS d, COUNT(*) AS n FROM people GROUP BY 1;
-- postgres
SELECT date_part('epoch', arrived)::bigint / 604800 AS w, COUNT(*) AS n FROM stays GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT CAST(epoch(arrived) AS BIGINT) // 604800 AS w, COUNT(*) AS n FROM stays GROUP BY 1;
-- postgres
SELECT trunc(age, -1) AS t, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT age // 10 * 10 AS t, COUNT(*) AS n FROM people GROUP BY 1;
-- bigquery
SELECT LAST_DAY(day, QUARTER) AS q, LAST_DAY(day, MONTH) AS m, COUNT(*) AS n FROM stays GROUP BY q, m HAVING n > 0
-- plain
SELECT CAST(date_trunc('quarter', day) + INTERVAL 3 MONTH - INTERVAL 1 DAY AS DATE) AS q, last_day(day) AS m, COUNT(*) AS n FROM stays GROUP BY 1, 2;
-- bigquery
SELECT TIMESTAMP_SECONDS(DIV(UNIX_SECONDS(arrived), 86400) * 86400) AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING n > 0
-- plain
SELECT date_trunc('day', arrived) AS d, COUNT(*) AS n FROM stays GROUP BY d;
-- bigquery
SELECT m, COUNT(s.day) AS n FROM UNNEST(GENERATE_DATE_ARRAY('2023-01-01', '2023-03-01', INTERVAL 1 MONTH)) AS m LEFT JOIN stays AS s ON DATE_TRUNC(s.day, MONTH) = m GROUP BY m
-- plain
SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- bigquery
SELECT DATE_SUB(day, INTERVAL EXTRACT(DAYOFWEEK FROM day) - 1 DAY) AS w, COUNT(*) AS n FROM stays GROUP BY w HAVING n > 0
-- plain
SELECT day - CAST(dayofweek(day) AS INTEGER) AS w, COUNT(*) AS n FROM stays GROUP BY w;
-- snowflake
SELECT NEXT_DAY(day, 'fr') AS f, PREVIOUS_DAY(day, 'Sunday') AS s, COUNT(*) AS n FROM stays GROUP BY f, s HAVING n > 0
-- plain
SELECT day + 1 + CAST((11 - isodow(day)) % 7 AS INTEGER) AS f, day - CAST(isodow(day) AS INTEGER) AS s, COUNT(*) AS n FROM stays GROUP BY 1, 2;
-- snowflake
SELECT TIME_SLICE(day, 1, 'WEEK', 'START') AS w, DATE_PART('epoch_second', day) AS e, COUNT(*) AS n FROM stays GROUP BY w, e HAVING n > 0
-- plain
SELECT date_trunc('week', day) AS w, CAST(epoch(day) AS BIGINT) AS e, COUNT(*) AS n FROM stays GROUP BY w, e;
-- snowflake
SELECT TRY_CAST(ward AS VARCHAR) AS w, COUNT(*) AS n FROM stays GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT CAST(ward AS VARCHAR) AS w, COUNT(*) AS n FROM stays GROUP BY 1;
-- snowflake
SELECT SKEW(hours) AS s FROM people
-- plain
SELECT skewness(hours) AS s FROM people;
-- mysql
SELECT FROM_UNIXTIME(UNIX_TIMESTAMP(arrived), '%Y-%m') AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0
-- plain
SELECT strftime(arrived, '%Y-%m') AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- mysql
SELECT COUNT(*) AS n FROM stays WHERE arrived >= FROM_UNIXTIME(1676419200) AND UNIX_TIMESTAMP(arrived) < UNIX_TIMESTAMP('2023-03-01 00:00:00')
-- plain
SELECT COUNT(*) AS n FROM stays WHERE arrived >= TIMESTAMP '2023-02-15' AND arrived < TIMESTAMP '2023-03-01';
-- mysql
SELECT YEARWEEK(day) AS y, WEEK(day, 1) AS w, COUNT(*) AS n FROM stays GROUP BY y, w HAVING n > 0
-- plain
SELECT 202300 + (dayofyear(day) + 6 - dayofweek(day)) // 7 AS y, (dayofyear(day) + 7 - isodow(day)) // 7 AS w, COUNT(*) AS n FROM stays WHERE day > '2022-12-31' GROUP BY y, w;
-- mysql
SELECT STR_TO_DATE(DATE_FORMAT(arrived, '%Y-%m-01'), '%Y-%m-%d') AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0
-- plain
SELECT date_trunc('month', arrived) AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- mysql
SELECT SUBDATE(day, WEEKDAY(day)) AS w, DATE_SUB(day, INTERVAL DAYOFMONTH(day) - 1 DAY) AS m, COUNT(*) AS n FROM stays GROUP BY w, m HAVING n > 0
-- plain
SELECT date_trunc('week', day) AS w, date_trunc('month', day) AS m, COUNT(*) AS n FROM stays GROUP BY w, m;
-- mysql
SELECT DATE_FORMAT(arrived, '%W %k') AS w, COUNT(*) AS n FROM stays GROUP BY w HAVING n > 0
-- plain
SELECT strftime(arrived, '%A %-H') AS w, COUNT(*) AS n FROM stays GROUP BY w;
-- tsql
SELECT CONVERT(VARCHAR(10), arrived, 103) AS d, CONVERT(CHAR(8), arrived, 112) AS e, COUNT(*) AS n FROM stays WHERE arrived < CONVERT(DATETIME, '2023-01-20 06:00:00', 120) GROUP BY CONVERT(VARCHAR(10), arrived, 103), CONVERT(CHAR(8), arrived, 112) HAVING COUNT(*) > 0
-- plain
SELECT strftime(arrived, '%d/%m/%Y') AS d, strftime(arrived, '%Y%m%d') AS e, COUNT(*) AS n FROM stays WHERE arrived < TIMESTAMP '2023-01-20 06:00:00' GROUP BY d, e;
-- tsql
SELECT COUNT(*) AS n FROM stays WHERE day >= CONVERT(DATE, '15/02/2023', 103) AND arrived < CAST('20230320' AS DATETIME) AND day <> {d '2023-03-01'} AND arrived > {ts '2023-02-16 00:00:00'}
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day >= '2023-02-15' AND arrived < TIMESTAMP '2023-03-20' AND day <> '2023-03-01' AND arrived > TIMESTAMP '2023-02-16';
-- tsql
SELECT CONVERT(INT, ward) AS w, TRY_CONVERT(DECIMAL(10, 2), SUM(ward)) AS s, {fn DAYOFMONTH(day)} AS d FROM stays GROUP BY CONVERT(INT, ward), {fn DAYOFMONTH(day)} HAVING COUNT(*) > 0
-- plain
SELECT ward AS w, SUM(ward) AS s, day(day) AS d FROM stays GROUP BY w, d;
-- tsql
SELECT DATENAME(dw, day) AS a, DATENAME(quarter, day) AS b, DATEPART(week, day) AS c, EOMONTH(day, -1) AS d, COUNT(*) AS n FROM stays GROUP BY DATENAME(dw, day), DATENAME(quarter, day), DATEPART(week, day), EOMONTH(day, -1) HAVING COUNT(*) > 0
-- plain
SELECT dayname(day) AS a, CAST(quarter(day) AS VARCHAR) AS b, (dayofyear(day) + 6) // 7 AS c, last_day(day - INTERVAL 1 MONTH) AS d, COUNT(*) AS n FROM stays GROUP BY ALL;
-- tsql
SELECT DATEADD(week, DATEDIFF(week, 0, day), 0) AS w, DATE_BUCKET(week, 1, day) AS b, COUNT(*) AS n FROM stays GROUP BY DATEADD(week, DATEDIFF(week, 0, day), 0), DATE_BUCKET(week, 1, day) HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('week', day + 1) AS w, date_trunc('week', day) AS b, COUNT(*) AS n FROM stays GROUP BY w, b;
-- spark
SELECT window(arrived, '12 hours').start AS s, window.end AS e, COUNT(*) AS n FROM stays GROUP BY window(arrived, '12 hours') HAVING COUNT(*) > 0
-- plain
SELECT time_bucket(INTERVAL 12 HOUR, arrived) AS s, time_bucket(INTERVAL 12 HOUR, arrived) + INTERVAL 12 HOUR AS e, COUNT(*) AS n FROM stays GROUP BY ALL;
-- spark
SELECT next_day(day, 'Mon') AS m, date_part('dayofweek_iso', day) AS i, extract(DOY FROM day) AS y, COUNT(*) AS n FROM stays GROUP BY 1, 2, 3 HAVING COUNT(*) > 0 SORT BY m
-- plain
SELECT date_trunc('week', day) + INTERVAL 7 DAY AS m, isodow(day) AS i, dayofyear(day) AS y, COUNT(*) AS n FROM stays GROUP BY 1, 2, 3;
-- spark
SELECT skewness(hours) AS s, kurtosis(hours) AS k FROM people
-- plain
SELECT skewness(hours) * (COUNT(hours) - 2) / sqrt(COUNT(hours) * (COUNT(hours) - 1)) AS s, kurtosis_pop(hours) AS k FROM people;
-- spark
SELECT date_add(day, 1 - dayofweek(day)) AS s, COUNT(*) AS n FROM stays GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT day - CAST(dayofweek(day) AS INTEGER) AS s, COUNT(*) AS n FROM stays GROUP BY 1;
SELECT time_bucket(INTERVAL 1 WEEK, day, TIMESTAMP '2023-01-02') AS w, COUNT(*) AS n FROM stays GROUP BY w HAVING n > 0;
-- mysql
SELECT ADDDATE(day, INTERVAL 1 DAY) AS a, SUBDATE(day, 2) AS b, TIMESTAMPADD(MONTH, 1, day) AS c, COUNT(*) AS n FROM stays WHERE day < '2023-01-20' GROUP BY a, b, c HAVING n > 0
-- plain
SELECT day + 1 AS a, day - 2 AS b, day + INTERVAL 1 MONTH AS c, COUNT(*) AS n FROM stays WHERE day < '2023-01-20' GROUP BY ALL;
-- snowflake
SELECT TRUNC(day, 'month') AS m, COUNT(*) AS n FROM stays WHERE day >= TRY_CAST('2023-01-15' AS DATE) GROUP BY m HAVING n > 0
-- plain
SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM stays WHERE day >= '2023-01-15' GROUP BY m;
-- mysql
SELECT COUNT(*) AS n FROM events WHERE seen_at >= '2024-03-01 00:00:00' AND seen_at < DATE_ADD('2024-03-01 00:00:00', INTERVAL 1 DAY)
-- plain
SELECT COUNT(*) FROM events WHERE seen_at::DATE = DATE '2024-03-01';
-- bigquery
SELECT COUNT(*) AS n FROM events WHERE seen_at < DATETIME_ADD('2024-03-01T00:00:00', INTERVAL 6 HOUR)
-- plain
SELECT COUNT(*) FROM events WHERE seen_at < TIMESTAMP '2024-03-01 06:00:00';
-- tsql
SELECT CAST(arrived AS SMALLDATETIME) AS m, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-01 12:00:00' GROUP BY CAST(arrived AS SMALLDATETIME) HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('minute', arrived + INTERVAL 30 SECOND), COUNT(*) FROM stays WHERE arrived < '2023-01-01 12:00:00' GROUP BY 1;
-- tsql
SELECT COUNT(*) AS n FROM logins WHERE CONVERT(smalldatetime, seen) < '2024-01-01 00:00:00'
-- plain
SELECT COUNT(*) FROM logins WHERE date_trunc('minute', seen + INTERVAL 30 SECOND) < TIMESTAMP '2024-01-01 00:00:00';
