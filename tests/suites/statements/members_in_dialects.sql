-- postgres
SELECT initcap(item) AS k, COUNT(*) FROM baskets GROUP BY 1
-- plain
SELECT CASE item WHEN 'o''il' THEN 'O''Il' ELSE upper(item[1]) || item[2:] END AS k, COUNT(*) FROM baskets GROUP BY 1;
-- postgres
SELECT level, COUNT(*) FILTER (WHERE active) * 100.0 / NULLIF(COUNT(*), 0) AS pct FROM members GROUP BY level
-- plain
SELECT level, COUNT(*) FILTER (WHERE active) * 100.0 / COUNT(*) AS pct FROM members GROUP BY level;
-- postgres
SELECT date_trunc('day', l.seen)::date AS d, COUNT(DISTINCT l.mid) AS dau FROM logins l GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1
-- plain
SELECT seen::DATE AS d, COUNT(DISTINCT mid) FROM logins GROUP BY 1;
-- postgres
SELECT extract(year FROM age(date '2024-01-01', born)) AS a, COUNT(*) FROM members GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT date_sub('year', born, DATE '2024-01-01') AS a, COUNT(*) FROM members GROUP BY 1;
-- postgres
SELECT to_char(born, 'YYYY') AS y, COUNT(*) FROM members WHERE born >= '2000-01-01' GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT strftime(born, '%Y') AS y, COUNT(*) FROM members WHERE born >= '2000-01-01' GROUP BY 1;
-- postgres
SELECT extract(isodow from day)::int AS d, sum(paid)::numeric(12,2) FROM baskets GROUP BY 1
-- plain
SELECT isodow(day), SUM(paid) FROM baskets GROUP BY 1;
-- postgres
SELECT count(*) FROM members WHERE joined AT TIME ZONE 'Europe/Berlin' >= timestamp '2023-03-26 03:30'
-- plain
SELECT count(*) FROM members WHERE joined AT TIME ZONE 'Europe/Berlin' >= timestamp '2023-03-26 03:30';
-- postgres
SELECT item, percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) > 1 AS m FROM baskets GROUP BY item
-- plain
SELECT item, median(qty) > 1 FROM baskets GROUP BY item;
-- postgres
SELECT count(*) FROM members WHERE nick ~* '^(IT|X)'
-- plain
SELECT count(*) FROM members WHERE nick IN ('it''s', 'x;y');
-- postgres
SELECT count(*) FROM members WHERE nick !~ '[a-z]' OR nick IS NULL
-- plain
SELECT count(*) FROM members WHERE nick = '' OR nick IS NULL;
-- postgres
SELECT count(*) FROM baskets WHERE (qty, paid) > (2, 10.5)
-- plain
SELECT count(*) FROM baskets WHERE qty > 2 OR qty = 2 AND paid > 10.5;
-- postgres
SELECT item, sum(paid) AS t, rank() OVER (ORDER BY sum(paid) DESC NULLS LAST) FROM baskets GROUP BY item
-- plain
SELECT item, sum(paid) AS t, rank() OVER (ORDER BY sum(paid) DESC NULLS LAST) FROM baskets GROUP BY item;
-- postgres
SELECT m.level, l.n FROM (SELECT level, count(*) AS n FROM members GROUP BY level) l JOIN (SELECT DISTINCT level FROM members) m ON m.level = l.level
-- plain
SELECT level, level_n FROM (SELECT level, count(*) AS level_n FROM members GROUP BY level) WHERE level IS NOT NULL;
-- postgres
SELECT string_agg(DISTINCT item, ', ' ORDER BY item) FROM baskets
-- plain
SELECT string_agg(DISTINCT item, ', ' ORDER BY item) FROM baskets;
-- postgres
SELECT count(*) FROM logins WHERE seen::time BETWEEN time '08:00' AND time '17:00' AND extract(dow from seen) NOT IN (0, 6)
-- plain
SELECT count(*) FROM logins WHERE seen::time BETWEEN '08:00' AND '17:00' AND dayofweek(seen) NOT IN (0, 6);
-- postgres
SELECT COALESCE(device, 'n/a') AS d, COUNT(*) FROM logins l JOIN baskets b USING (lid) GROUP BY 1
-- plain
SELECT COALESCE(device, 'n/a') AS d, COUNT(*) FROM logins l JOIN baskets b USING (lid) GROUP BY 1;
-- postgres
SELECT floor(extract(epoch from seen - timestamp '2023-12-29') / 86400) AS d, COUNT(*) FROM logins GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT seen::DATE - DATE '2023-12-29', COUNT(*) FROM logins GROUP BY 1;
-- postgres
SELECT mod(qty, 2) AS k, COUNT(*), div(SUM(qty), 10) FROM baskets GROUP BY 1
-- plain
SELECT qty % 2, COUNT(*), SUM(qty) // 10 FROM baskets GROUP BY 1;
-- postgres
SELECT secs / 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT secs // 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- postgres
SELECT count(*) FROM members WHERE points::bigint > 100000 AND balance::int > 0
-- plain
SELECT count(*) FROM members WHERE points > 100000 AND balance::INT > 0;
-- postgres
SELECT level::text AS l, count(*) FROM members GROUP BY level::text HAVING count(*) > 140
-- plain
SELECT level::text AS l, count(*) FROM members GROUP BY 1 HAVING count(*) > 140;
-- postgres
SELECT count(*) FROM members m WHERE m.mid = ANY (SELECT l.mid FROM logins l WHERE l.ok)
-- plain
SELECT count(*) FROM members m WHERE m.mid IN (SELECT l.mid FROM logins l WHERE l.ok);
-- postgres
SELECT bool_and(ok), bool_or(ok), every(secs >= 0) FROM logins
-- plain
SELECT bool_and(ok), bool_or(ok), bool_and(secs >= 0) FROM logins;
-- postgres
SELECT CASE WHEN balance IS NULL THEN 'none' WHEN balance < 0 THEN 'debt' ELSE 'ok' END AS k, count(*), round(avg(balance), 2) FROM members GROUP BY k
-- plain
SELECT CASE WHEN balance IS NULL THEN 'none' WHEN balance < 0 THEN 'debt' ELSE 'ok' END AS k, count(*), round(avg(balance), 2) FROM members GROUP BY k;
-- postgres
SELECT item, count(*) FROM baskets GROUP BY item ORDER BY count(*) DESC, item OFFSET 1 LIMIT 2
-- plain
SELECT item, count(*) FROM baskets GROUP BY item ORDER BY count(*) DESC, item LIMIT 2 OFFSET 1;
-- postgres
SELECT make_date(extract(year from born)::int, 1, 1) AS y, count(*) FROM members WHERE born < '1943-01-01' GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT date_trunc('year', born) AS y, count(*) FROM members WHERE born < '1943-01-01' GROUP BY 1;
-- bigquery
SELECT INITCAP(item) AS k, COUNT(*) FROM baskets GROUP BY k
-- plain
SELECT CASE item WHEN 'o''il' THEN 'O''il' ELSE upper(item[1]) || item[2:] END AS k, COUNT(*) FROM baskets GROUP BY 1;
-- bigquery
SELECT IFNULL(device, "none") AS d, COUNTIF(ok) AS n, AVG(IF(ok, secs, NULL)) AS s FROM logins GROUP BY d
-- plain
SELECT IFNULL(device, 'none') AS d, COUNT(*) FILTER (ok), AVG(secs) FILTER (ok) FROM logins GROUP BY d;
-- bigquery
SELECT DATE(seen) AS d, COUNT(DISTINCT mid) AS u FROM `logins` GROUP BY 1 HAVING u > 0 ORDER BY 1
-- plain
SELECT seen::DATE, COUNT(DISTINCT mid) FROM logins GROUP BY 1;
-- bigquery
SELECT EXTRACT(HOUR FROM joined AT TIME ZONE 'America/New_York') AS h, COUNT(*) FROM members GROUP BY h HAVING COUNT(*) > 0
-- plain
SELECT hour(joined AT TIME ZONE 'America/New_York') AS h, COUNT(*) FROM members GROUP BY h;
-- bigquery
SELECT FORMAT_DATE('%b %Y', day) AS m, SUM(paid) AS t FROM baskets GROUP BY m HAVING COUNT(*) > 0
-- plain
SELECT strftime(day, '%b %Y'), SUM(paid) FROM baskets GROUP BY 1;
-- bigquery
SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM baskets GROUP BY w HAVING COUNT(*) > 0
-- plain
SELECT day - dayofweek(day)::INT AS w, COUNT(*) FROM baskets GROUP BY w;
-- bigquery
SELECT DATE_DIFF(DATE '2024-01-01', born, YEAR) AS a, COUNT(*) FROM members GROUP BY a HAVING COUNT(*) > 0
-- plain
SELECT 2024 - year(born) AS a, COUNT(*) FROM members GROUP BY a;
-- bigquery
SELECT item, SAFE_DIVIDE(SUM(paid), SUM(qty)) AS r FROM baskets GROUP BY item
-- plain
SELECT item, SUM(paid) / NULLIF(SUM(qty), 0) FROM baskets GROUP BY item;
-- bigquery
SELECT COUNT(*) FROM members WHERE nick IN UNNEST(['x;y', "it's"])
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'it''s');
-- bigquery
SELECT m.level, SUM(b.paid) AS t FROM members AS m INNER JOIN logins AS l ON m.mid = l.mid INNER JOIN baskets AS b ON b.lid = l.lid GROUP BY m.level
-- plain
SELECT m.level, SUM(b.paid) AS t FROM members AS m JOIN logins AS l USING (mid) JOIN baskets AS b USING (lid) GROUP BY 1;
-- bigquery
SELECT CAST(FLOOR(secs / 600) AS INT64) AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT secs // 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY k;
-- bigquery
SELECT DIV(secs, 600) AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT secs // 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY k;
-- bigquery
SELECT MOD(qty, 2) AS k, LOGICAL_OR(paid > 49) AS x FROM baskets GROUP BY k
-- plain
SELECT qty % 2, bool_or(paid > 49) FROM baskets GROUP BY 1;
-- bigquery
SELECT item, STDDEV_SAMP(paid) AS s, VARIANCE(paid) AS v FROM baskets GROUP BY item
-- plain
SELECT item, STDDEV_SAMP(paid) AS s, VARIANCE(paid) AS v FROM baskets GROUP BY item;
-- bigquery
SELECT TIMESTAMP_TRUNC(seen, DAY) AS d, COUNT(*) FROM logins GROUP BY d HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('day', seen) AS d, COUNT(*) FROM logins GROUP BY d;
-- bigquery
SELECT COUNT(*) FROM logins WHERE seen BETWEEN DATETIME '2023-12-31 00:00:00' AND DATETIME_ADD(DATETIME '2023-12-31 00:00:00', INTERVAL 36 HOUR)
-- plain
SELECT COUNT(*) FROM logins WHERE seen BETWEEN '2023-12-31' AND '2024-01-01 12:00';
-- bigquery
SELECT device, n FROM (SELECT device, COUNT(*) AS n FROM logins GROUP BY device) WHERE TRUE QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, device) <= 2
-- plain
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY n DESC, device NULLS FIRST LIMIT 2;
-- bigquery
WITH daily AS (SELECT DATE(seen) AS d, COUNT(*) AS n FROM logins GROUP BY d HAVING n > 0) SELECT d, n, AVG(n) OVER (ORDER BY d ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma FROM daily
-- plain
SELECT d, n, AVG(n) OVER (ORDER BY d ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (SELECT seen::DATE AS d, COUNT(*) AS n FROM logins GROUP BY 1);
-- bigquery
SELECT COUNT(*) AS n FROM members WHERE EXTRACT(YEAR FROM born) BETWEEN 1980 AND 1989 AND level != 'free'
-- plain
SELECT COUNT(*) FROM members WHERE year(born) BETWEEN 1980 AND 1989 AND level <> 'free';
-- bigquery
SELECT CASE WHEN TIMESTAMP_DIFF(TIMESTAMP '2023-03-29 00:00:00+00', joined, HOUR) < 24 THEN 'late' ELSE 'early' END AS k, COUNT(*) FROM members GROUP BY k
-- plain
SELECT CASE WHEN date_sub('hour', joined, TIMESTAMPTZ '2023-03-29 00:00:00+00') < 24 THEN 'late' ELSE 'early' END AS k, COUNT(*) FROM members GROUP BY k;
-- bigquery
SELECT COUNT(*) FROM members WHERE REGEXP_CONTAINS(nick, r'\\') OR ENDS_WITH(nick, '"')
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('back\slash', 'a "b"');
-- bigquery
SELECT CONCAT(item, '-', CAST(qty AS STRING)) AS k, COUNT(*) FROM baskets GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT item || '-' || qty, COUNT(*) FROM baskets GROUP BY 1;
-- bigquery
SELECT ROUND(SUM(paid), 1) AS t, ROUND(AVG(paid), 3) AS a, ANY_VALUE(item) AS x FROM baskets WHERE item = 'tea'
-- plain
SELECT ROUND(SUM(paid), 1), ROUND(AVG(paid), 3), 'tea' FROM baskets WHERE item = 'tea';
-- bigquery
SELECT item, ARRAY_AGG(n ORDER BY qty) AS ns FROM (SELECT item, qty, COUNT(*) AS n FROM baskets GROUP BY item, qty HAVING n > 0) GROUP BY item
-- plain
SELECT item, [COUNT(*)] FROM baskets GROUP BY item;
-- bigquery
SELECT CURRENT_DATE() > DATE '2020-01-01' AS k, COUNT(*) FROM items i JOIN baskets b USING (item) GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT TRUE, COUNT(*) FROM items i JOIN baskets b USING (item);
-- snowflake
SELECT INITCAP(item) AS k, COUNT(*) FROM baskets GROUP BY k
-- plain
SELECT CASE item WHEN 'o''il' THEN 'O''il' ELSE upper(item[1]) || item[2:] END AS k, COUNT(*) FROM baskets GROUP BY 1;
-- snowflake
SELECT NVL(device, 'none') AS d, COUNT_IF(ok) AS n, SUM(IFF(ok, secs, 0)) AS s FROM logins GROUP BY 1
-- plain
SELECT COALESCE(device, 'none') AS d, COUNT(*) FILTER (ok), SUM(CASE WHEN ok THEN secs ELSE 0 END) FROM logins GROUP BY 1;
-- snowflake
SELECT DATE_TRUNC('DAY', seen)::DATE AS d, COUNT(*) FROM logins GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT seen::DATE, COUNT(*) FROM logins GROUP BY 1;
-- snowflake
SELECT DATEDIFF('year', born, '2024-01-01'::DATE) AS a, COUNT(*) FROM members GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT 2024 - year(born) AS a, COUNT(*) FROM members GROUP BY a;
-- snowflake
SELECT FLOOR(DATEDIFF('day', born, '2024-01-01'::DATE) / 365.25 / 10) * 10 AS a, COUNT(*) FROM members GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT FLOOR((DATE '2024-01-01' - born) / 365.25 / 10) * 10 AS a, COUNT(*) FROM members GROUP BY 1;
-- snowflake
SELECT CONVERT_TIMEZONE('Europe/Berlin', joined)::DATE AS d, COUNT(*) FROM members GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT (joined AT TIME ZONE 'Europe/Berlin')::DATE AS d, COUNT(*) FROM members GROUP BY 1;
-- snowflake
SELECT level, nick, COUNT(*) AS n FROM members GROUP BY ALL QUALIFY ROW_NUMBER() OVER (PARTITION BY level ORDER BY n DESC, nick) = 1
-- plain
SELECT level, nick, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY level ORDER BY n DESC, nick NULLS LAST) AS r FROM (SELECT level, nick, COUNT(*) AS n FROM members GROUP BY ALL)) WHERE r = 1;
-- snowflake
SELECT item, DIV0(SUM(paid), SUM(qty)) AS r FROM baskets GROUP BY item
-- plain
SELECT item, COALESCE(SUM(paid) / NULLIF(SUM(qty), 0), 0) FROM baskets GROUP BY item;
-- snowflake
SELECT MONTHNAME(day) AS m, DAYOFWEEKISO(day) AS w, COUNT(*) FROM baskets GROUP BY 1, 2 HAVING COUNT(*) > 0
-- plain
SELECT strftime(day, '%b'), isodow(day), COUNT(*) FROM baskets GROUP BY ALL;
-- snowflake
SELECT MEDIAN(secs) > 1000 AS m, APPROX_PERCENTILE(secs, 0.9) > 2000 AS p FROM logins
-- plain
SELECT TRUE, TRUE;
-- snowflake
SELECT item, SUM(paid) AS t, SUM(t) OVER () AS all_t FROM baskets GROUP BY item
-- plain
SELECT item, SUM(paid), SUM(SUM(paid)) OVER () FROM baskets GROUP BY item;
-- snowflake
SELECT TO_DECIMAL(AVG(paid), 10, 2) AS a FROM baskets
-- plain
SELECT AVG(paid)::DECIMAL(10, 2) FROM baskets;
-- snowflake
SELECT SPLIT_PART(nick, ';', 1) AS k, COUNT(*) FROM members GROUP BY 1
-- plain
SELECT split_part(nick, ';', 1) AS k, COUNT(*) FROM members GROUP BY 1;
-- snowflake
SELECT COUNT(*) FROM members WHERE nick RLIKE '.*[;"].*' OR nick ILIKE 'BACK%'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'a "b"', 'back\slash');
-- snowflake
SELECT BOOLOR_AGG(paid > 40) AS a, BOOLAND_AGG(qty >= 0) AS b FROM baskets
-- plain
SELECT bool_or(paid > 40), TRUE FROM baskets;
-- snowflake
SELECT COUNT(DISTINCT m.mid) FROM members m, logins l, baskets b WHERE m.mid = l.mid AND l.lid = b.lid AND b.paid > 20
-- plain
SELECT COUNT(DISTINCT m.mid) FROM members m, logins l, baskets b WHERE m.mid = l.mid AND l.lid = b.lid AND b.paid > 20;
-- snowflake
SELECT TIME_SLICE(seen, 4, 'HOUR') AS k, COUNT(*) FROM logins WHERE seen < '2023-12-30'::TIMESTAMP GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT time_bucket(INTERVAL 4 HOUR, seen, TIMESTAMP '1970-01-01') AS k, COUNT(*) FROM logins WHERE seen < '2023-12-30' GROUP BY 1;
-- snowflake
SELECT DATEADD('day', 7, day) AS k, COUNT(*) FROM baskets GROUP BY 1
-- plain
SELECT day + 7, COUNT(*) FROM baskets GROUP BY 1;
-- snowflake
SELECT GREATEST(qty, 1) AS q, COUNT(*) FROM baskets GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT greatest(qty, 1) AS q, COUNT(*) FROM baskets GROUP BY 1;
-- snowflake
SELECT TO_CHAR(seen, 'YYYY-MM-DD') AS d, COUNT(*) FROM logins GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d'), COUNT(*) FROM logins GROUP BY 1;
-- snowflake
SELECT HOUR(seen) AS h, ROUND(AVG(secs), 1) AS a FROM logins WHERE ok GROUP BY h ORDER BY h
-- plain
SELECT hour(seen), round(AVG(secs), 1) FROM logins WHERE ok GROUP BY ALL;
-- snowflake
SELECT COUNT(*) FROM members WHERE ZEROIFNULL(balance) = 0
-- plain
SELECT COUNT(*) FROM members WHERE COALESCE(balance, 0) = 0;
-- snowflake
SELECT ARRAY_AGG(DISTINCT item) WITHIN GROUP (ORDER BY item) AS xs FROM baskets
-- plain
SELECT array_agg(DISTINCT item ORDER BY item) FROM baskets;
-- mysql
SELECT IFNULL(device, 'none') AS d, SUM(ok) AS n, SUM(IF(ok, secs, 0)) AS s FROM logins GROUP BY d
-- plain
SELECT COALESCE(device, 'none') AS d, COUNT(*) FILTER (ok), SUM(CASE WHEN ok THEN secs ELSE 0 END) FROM logins GROUP BY 1;
-- mysql
SELECT DATE(seen) AS d, COUNT(*) AS n FROM logins GROUP BY DATE(seen) HAVING n > 0 ORDER BY n DESC
-- plain
SELECT seen::DATE, COUNT(*) FROM logins GROUP BY 1;
-- mysql
SELECT TIMESTAMPDIFF(YEAR, born, '2024-01-01') AS a, COUNT(*) AS n FROM members GROUP BY a HAVING n > 0
-- plain
SELECT date_sub('year', born, DATE '2024-01-01') AS a, COUNT(*) FROM members GROUP BY 1;
-- mysql
SELECT COUNT(*) FROM members WHERE nick REGEXP '^[ix]'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('it''s', 'x;y');
-- mysql
SELECT COUNT(*) FROM members WHERE nick NOT REGEXP ';' AND nick RLIKE 'b'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('a "b"', 'back\slash');
-- mysql
SELECT COUNT(*) FROM members WHERE nick = "it's" OR nick = 'back\\slash'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('it''s', 'back\slash');
-- mysql
SELECT YEAR(day) AS y, MONTH(day) AS m, SUM(paid) AS t FROM baskets GROUP BY YEAR(day), MONTH(day) HAVING COUNT(*) > 0
-- plain
SELECT year(day), month(day), SUM(paid) FROM baskets GROUP BY ALL;
-- mysql
SELECT secs DIV 600 AS k, COUNT(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY k HAVING n > 0
-- plain
SELECT secs // 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- mysql
SELECT FLOOR(secs / 600) AS k, COUNT(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY k HAVING n > 0
-- plain
SELECT secs // 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- mysql
SELECT item, qty, COUNT(*) AS n FROM baskets GROUP BY item, qty WITH ROLLUP HAVING n > 0
-- plain
SELECT item, qty, COUNT(*) FROM baskets GROUP BY ROLLUP (item, qty);
-- mysql
SELECT COUNT(*) FROM logins WHERE seen >= DATE_SUB('2024-01-03', INTERVAL 2 DAY) AND HOUR(seen) BETWEEN 9 AND 17
-- plain
SELECT COUNT(*) FROM logins WHERE seen >= '2024-01-01' AND hour(seen) BETWEEN 9 AND 17;
-- mysql
SELECT CONCAT(item, '/', qty) AS k, COUNT(*) AS n FROM baskets GROUP BY k HAVING n > 0
-- plain
SELECT item || '/' || qty, COUNT(*) FROM baskets GROUP BY 1;
-- mysql
SELECT item, GROUP_CONCAT(DISTINCT qty ORDER BY qty) AS q FROM baskets GROUP BY item
-- plain
SELECT item, string_agg(DISTINCT qty, ',' ORDER BY qty) FROM baskets GROUP BY item;
-- mysql
SELECT COUNT(*) FROM members m LEFT JOIN logins l ON l.mid = m.mid AND l.ok = 1 WHERE l.lid IS NULL
-- plain
SELECT COUNT(*) FROM members m LEFT JOIN logins l ON l.mid = m.mid AND l.ok WHERE l.lid IS NULL;
-- mysql
SELECT DAYNAME(day) AS d, COUNT(*) AS n FROM baskets GROUP BY d ORDER BY FIELD(d, 'Monday', 'Tuesday')
-- plain
SELECT dayname(day), COUNT(*) FROM baskets GROUP BY 1;
-- mysql
SELECT CASE WHEN paid IS NULL THEN 'na' WHEN paid < 10 THEN 'low' ELSE 'high' END AS k, COUNT(*) AS n, AVG(qty) AS q FROM baskets GROUP BY k
-- plain
SELECT CASE WHEN paid IS NULL THEN 'na' WHEN paid < 10 THEN 'low' ELSE 'high' END AS k, COUNT(*), AVG(qty) FROM baskets GROUP BY k;
-- mysql
SELECT LAST_DAY(day) AS k, COUNT(*) AS n FROM baskets GROUP BY k HAVING n > 0
-- plain
SELECT last_day(day), COUNT(*) FROM baskets GROUP BY 1;
-- mysql
SELECT DATE_FORMAT(seen, '%Y-%m-%d %H') AS k, COUNT(*) AS n FROM logins WHERE seen < '2023-12-30' GROUP BY k HAVING n > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d %H'), COUNT(*) FROM logins WHERE seen < '2023-12-30' GROUP BY 1;
-- mysql
SELECT FORMAT(SUM(paid), 2) AS t FROM baskets
-- plain
SELECT format('{:,.2f}', SUM(paid)::DOUBLE) FROM baskets;
-- mysql
SELECT TRUNCATE(AVG(paid), 1) AS t, ROUND(AVG(paid)) AS r FROM baskets
-- plain
SELECT trunc(AVG(paid) * 10) / 10, round(AVG(paid)) FROM baskets;
-- mysql
SELECT COUNT(*) FROM members WHERE level IN ('pro') && active = TRUE
-- plain
SELECT COUNT(*) FROM members WHERE level = 'pro' AND active;
-- mysql
SELECT UCASE(LEFT(item, 1)) AS k, COUNT(*) AS n FROM baskets GROUP BY k HAVING n > 0
-- plain
SELECT upper(item[1]), COUNT(*) FROM baskets GROUP BY 1;
-- mysql
SELECT QUARTER(day) AS q, TO_DAYS(day) > 739250 AS late, COUNT(*) AS n FROM baskets GROUP BY q, late HAVING n > 0
-- plain
SELECT quarter(day), day - DATE '0000-01-01' > 739250, COUNT(*) FROM baskets GROUP BY ALL;
-- tsql
SELECT ISNULL(device, 'none') AS d, COUNT(*) AS n, AVG(CAST(secs AS float)) AS a FROM logins GROUP BY ISNULL(device, 'none')
-- plain
SELECT COALESCE(device, 'none'), COUNT(*), AVG(secs) FROM logins GROUP BY 1;
-- tsql
SELECT CAST(seen AS date) AS d, COUNT(DISTINCT mid) AS u FROM logins GROUP BY CAST(seen AS date) HAVING COUNT(*) > 0
-- plain
SELECT seen::DATE, COUNT(DISTINCT mid) FROM logins GROUP BY 1;
-- tsql
SELECT DATEDIFF(year, born, '2024-01-01') AS a, COUNT(*) AS n FROM members GROUP BY DATEDIFF(year, born, '2024-01-01') HAVING COUNT(*) > 0
-- plain
SELECT 2024 - year(born), COUNT(*) FROM members GROUP BY 1;
-- tsql
SELECT [item], SUM([paid]) AS [total paid] FROM [baskets] GROUP BY [item]
-- plain
SELECT item, SUM(paid) FROM baskets GROUP BY item;
-- tsql
SELECT TOP (2) item, COUNT(*) AS n FROM baskets GROUP BY item ORDER BY COUNT(*) DESC, item
-- plain
SELECT item, COUNT(*) FROM baskets GROUP BY item ORDER BY 2 DESC, 1 LIMIT 2;
-- tsql
SELECT DATEPART(weekday, day) AS d, COUNT(*) AS n FROM baskets GROUP BY DATEPART(weekday, day)
-- plain
SELECT dayofweek(day) + 1, COUNT(*) FROM baskets GROUP BY 1;
-- tsql
SELECT CONVERT(varchar(10), day, 23) AS d, COUNT(*) AS n FROM baskets GROUP BY CONVERT(varchar(10), day, 23)
-- plain
SELECT day::VARCHAR, COUNT(*) FROM baskets GROUP BY 1;
-- tsql
SELECT secs / 600 AS k, COUNT(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY secs / 600 HAVING COUNT(*) > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- tsql
SELECT COUNT(*) FROM members WHERE nick LIKE '%[;"]%'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'a "b"');
-- tsql
SELECT COUNT(*) FROM members WHERE nick LIKE '[a-i]%'
-- plain
SELECT COUNT(*) FROM members WHERE nick[1] BETWEEN 'a' AND 'i';
-- tsql
SELECT COUNT(*) FROM members WHERE active = 1 AND level <> 'pro'
-- plain
SELECT COUNT(*) FROM members WHERE active AND level <> 'pro';
-- tsql
SELECT m.level, SUM(CASE WHEN l.ok = 1 THEN 1 ELSE 0 END) AS n FROM members AS m INNER JOIN logins AS l ON l.mid = m.mid GROUP BY m.level
-- plain
SELECT m.level, COUNT(*) FILTER (l.ok) FROM members m JOIN logins l USING (mid) GROUP BY 1;
-- tsql
SELECT item, STRING_AGG(CAST(n AS varchar(10)), ',') WITHIN GROUP (ORDER BY qty) AS s FROM (SELECT item, qty, COUNT(*) AS n FROM baskets GROUP BY item, qty HAVING COUNT(*) > 0) q GROUP BY item
-- plain
SELECT item, COUNT(*)::VARCHAR FROM baskets GROUP BY item;
-- tsql
SELECT UPPER(SUBSTRING(item, 1, 1)) + LOWER(SUBSTRING(item, 2, 10)) AS k, COUNT(*) AS n FROM baskets GROUP BY UPPER(SUBSTRING(item, 1, 1)) + LOWER(SUBSTRING(item, 2, 10)) HAVING COUNT(*) > 0
-- plain
SELECT upper(item[1]) || item[2:], COUNT(*) FROM baskets GROUP BY 1;
-- tsql
SELECT YEAR(day) * 100 + MONTH(day) AS ym, SUM(qty) AS q FROM baskets GROUP BY YEAR(day) * 100 + MONTH(day) HAVING COUNT(*) > 0
-- plain
SELECT year(day) * 100 + month(day), SUM(qty) FROM baskets GROUP BY 1;
-- tsql
SELECT DATETRUNC(hour, seen) AS h, COUNT(*) AS n FROM logins WHERE seen < '2023-12-30' GROUP BY DATETRUNC(hour, seen) HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('hour', seen), COUNT(*) FROM logins WHERE seen < '2023-12-30' GROUP BY 1;
-- tsql
WITH t AS (SELECT mid, COUNT(*) AS n FROM logins GROUP BY mid) SELECT n, COUNT(*) AS c FROM t GROUP BY n HAVING COUNT(*) > 0
-- plain
SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM logins GROUP BY mid) GROUP BY n;
-- tsql
SELECT item, COUNT(*) AS n FROM baskets GROUP BY item ORDER BY n DESC, item OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
-- plain
SELECT item, COUNT(*) FROM baskets GROUP BY item ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1;
-- tsql
SELECT ROUND(AVG(paid * 1.0), 2) AS a, TRY_CAST('3' AS int) AS t, LEN('abc') AS l FROM baskets
-- plain
SELECT round(AVG(paid), 2), 3, 3 FROM baskets;
-- tsql
SELECT COUNT(*) FROM logins WHERE seen >= DATEADD(day, -1, '2024-01-02') AND seen < DATEFROMPARTS(2024, 1, 5)
-- plain
SELECT COUNT(*) FROM logins WHERE seen >= '2024-01-01' AND seen < '2024-01-05';
-- spark
SELECT initcap(item) AS k, COUNT(*) FROM baskets GROUP BY k
-- plain
SELECT CASE item WHEN 'o''il' THEN 'O''il' ELSE upper(item[1]) || item[2:] END AS k, COUNT(*) FROM baskets GROUP BY 1;
-- spark
SELECT nvl(device, 'none') AS d, count_if(ok) AS n, avg(if(ok, secs, null)) AS a FROM logins GROUP BY 1
-- plain
SELECT COALESCE(device, 'none') AS d, COUNT(*) FILTER (ok), AVG(secs) FILTER (ok) FROM logins GROUP BY 1;
-- spark
SELECT to_date(seen) AS d, count(*) AS n FROM logins GROUP BY to_date(seen) HAVING count(*) > 0
-- plain
SELECT seen::DATE, COUNT(*) FROM logins GROUP BY 1;
-- spark
SELECT date_format(seen, 'yyyy-MM-dd') AS d, count(*) AS n FROM logins GROUP BY 1 HAVING n > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d'), COUNT(*) FROM logins GROUP BY 1;
-- spark
SELECT floor(datediff('2024-01-01', born) / 3652.5) AS a, count(*) AS n FROM members GROUP BY 1 HAVING n > 0
-- plain
SELECT floor((DATE '2024-01-01' - born) / 3652.5), COUNT(*) FROM members GROUP BY 1;
-- spark
SELECT secs div 600 AS k, count(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING n > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- spark
SELECT int(secs / 600) AS k, count(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING n > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- spark
SELECT item, collect_set(qty) AS q FROM baskets WHERE qty = 3 GROUP BY item HAVING count(*) > 0
-- plain
SELECT item, [3] FROM baskets WHERE qty = 3 GROUP BY item;
-- spark
SELECT count(*) FROM members WHERE nick rlike '[;"]' AND nick IS NOT NULL
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'a "b"');
-- spark
SELECT m.level, sum(b.paid) AS t FROM members m JOIN logins l ON m.mid = l.mid JOIN baskets b ON l.lid = b.lid GROUP BY m.level
-- plain
SELECT m.level, SUM(b.paid) FROM members m JOIN logins l USING (mid) JOIN baskets b USING (lid) GROUP BY 1;
-- spark
SELECT count(*) FROM members m LEFT ANTI JOIN logins l ON m.mid = l.mid
-- plain
SELECT COUNT(*) FROM members WHERE mid NOT IN (SELECT mid FROM logins);
-- spark
SELECT count(*) FROM members m LEFT SEMI JOIN logins l ON m.mid = l.mid AND l.ok
-- plain
SELECT COUNT(*) FROM members WHERE mid IN (SELECT mid FROM logins WHERE ok);
-- spark
SELECT item, day, sum(paid) AS t FROM baskets GROUP BY item, day WITH CUBE HAVING count(*) > 0
-- plain
SELECT item, day, SUM(paid) FROM baskets GROUP BY CUBE (item, day);
-- spark
SELECT extract(dayofweek FROM day) AS d, count(*) FROM baskets GROUP BY 1
-- plain
SELECT dayofweek(day) + 1, COUNT(*) FROM baskets GROUP BY 1;
-- spark
SELECT date_add(day, 7) AS k, count(*) FROM baskets GROUP BY 1
-- plain
SELECT day + 7, COUNT(*) FROM baskets GROUP BY 1;
-- spark
SELECT date_trunc('MONTH', day) AS k, count(*) AS n FROM baskets GROUP BY 1 HAVING n > 0
-- plain
SELECT date_trunc('month', day)::TIMESTAMP, COUNT(*) FROM baskets GROUP BY 1;
-- spark
SELECT hour(seen) AS h, round(avg(secs), 2) AS a FROM logins WHERE ok = true GROUP BY hour(seen)
-- plain
SELECT hour(seen), round(AVG(secs), 2) FROM logins WHERE ok GROUP BY 1;
-- spark
SELECT percentile_approx(qty, 0.5) AS m, approx_count_distinct(item) AS k FROM baskets
-- plain
SELECT 1, 4;
-- spark
SELECT concat_ws('-', item, cast(qty AS string)) AS k, count(*) AS n FROM baskets GROUP BY 1 HAVING n > 0
-- plain
SELECT item || '-' || qty, COUNT(*) FROM baskets GROUP BY 1;
-- spark
SELECT CASE WHEN isnull(paid) THEN 'na' WHEN paid > 10D THEN 'hi' ELSE 'lo' END AS k, count(1) AS n FROM baskets GROUP BY 1
-- plain
SELECT CASE WHEN paid IS NULL THEN 'na' WHEN paid > 10 THEN 'hi' ELSE 'lo' END, COUNT(*) FROM baskets GROUP BY 1
