-- trino
SELECT date_trunc('month', day) AS m, approx_distinct(item) AS i, count_if(paid > 10) AS n FROM baskets GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT date_trunc('month', day) AS m, COUNT(DISTINCT item), COUNT(*) FILTER (paid > 10) FROM baskets GROUP BY 1;
-- trino
SELECT if(ok, 'y', 'n') AS k, avg(secs) AS a, cast(sum(secs) AS double) / count(secs) AS b FROM logins GROUP BY 1
-- plain
SELECT IF(ok, 'y', 'n'), AVG(secs), SUM(secs) / COUNT(secs) FROM logins GROUP BY 1;
-- trino
SELECT day_of_week(day) AS d, date_format(day, '%Y-%m') AS m, count(*) AS n FROM baskets GROUP BY day_of_week(day), date_format(day, '%Y-%m') HAVING count(*) > 0
-- plain
SELECT isodow(day), strftime(day, '%Y-%m'), COUNT(*) FROM baskets GROUP BY ALL;
-- trino
SELECT date_diff('year', born, date '2023-02-28') AS a, count(*) FROM members GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT date_part('year', age(DATE '2023-02-28', born)), COUNT(*) FROM members GROUP BY 1;
-- trino
SELECT secs / 600 AS k, count(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- trino
SELECT count(*) FROM members WHERE regexp_like(nick, '^.[;t]') OR cast(joined AT TIME ZONE 'Europe/Berlin' AS date) = date '2023-03-26'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('it''s', 'x;y') OR (joined AT TIME ZONE 'Europe/Berlin')::DATE = DATE '2023-03-26';
-- trino
SELECT format_datetime(seen, 'yyyy-MM-dd') AS d, count(DISTINCT mid) AS u FROM logins WHERE seen >= timestamp '2023-12-31 00:00:00' GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d'), COUNT(DISTINCT mid) FROM logins WHERE seen >= '2023-12-31' GROUP BY 1;
-- trino
SELECT split_part(nick, ';', 2) AS k, count(*) FROM members GROUP BY 1
-- plain
SELECT string_split(nick, ';')[2], COUNT(*) FROM members GROUP BY 1;
-- trino
SELECT item, listagg(cast(qty AS varchar), ',') WITHIN GROUP (ORDER BY qty) AS s FROM (SELECT item, qty, count(*) AS n FROM baskets GROUP BY item, qty HAVING count(*) > 0) GROUP BY item
-- plain
SELECT item, MAX(qty)::VARCHAR FROM baskets GROUP BY item;
-- trino
SELECT greatest(qty, 1) AS q, sum(paid) AS s, stddev(paid) AS d FROM baskets WHERE date_add('day', 3, day) > date '2024-01-05' GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT greatest(qty, 1), SUM(paid), STDDEV(paid) FROM baskets WHERE day + 3 > DATE '2024-01-05' GROUP BY 1;
-- presto
SELECT m.level, arbitrary(m.level) IS NULL AS x, count(*) FROM hive.shop.members m JOIN hive.shop.logins l ON l.mid = m.mid WHERE m.level = 'pro' GROUP BY m.level HAVING count(*) > 0
-- plain
SELECT m.level, FALSE, COUNT(*) FROM members m JOIN logins l USING (mid) WHERE m.level = 'pro' GROUP BY 1;
-- presto
SELECT week(day) AS w, year_of_week(day) AS y, bool_and(qty >= 0) AS e, every(qty > 5) AS v FROM baskets GROUP BY 1, 2 HAVING count(*) > 0
-- plain
SELECT week(day), isoyear(day), TRUE, FALSE FROM baskets GROUP BY ALL;
-- sqlite
SELECT strftime('%Y-%m', day) AS m, COUNT(*) AS n, total(paid) AS t FROM baskets GROUP BY m HAVING n > 0
-- plain
SELECT strftime(day, '%Y-%m'), COUNT(*), SUM(paid) FROM baskets GROUP BY 1;
-- sqlite
SELECT ifnull(device, 'none') AS d, sum(ok = 1) AS n, sum(secs > 1800) AS l FROM logins GROUP BY d
-- plain
SELECT COALESCE(device, 'none'), COUNT(*) FILTER (ok), COUNT(*) FILTER (secs > 1800) FROM logins GROUP BY 1;
-- sqlite
SELECT COUNT(*) FROM members WHERE nick LIKE 'IT%' OR nick LIKE '%SLASH' OR instr(nick, ';') > 0
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('it''s', 'back\slash', 'x;y');
-- sqlite
SELECT secs / 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- sqlite
SELECT CAST(strftime('%Y', born) AS INTEGER) / 10 * 10 AS d, COUNT(*) FROM members GROUP BY d HAVING COUNT(*) > 0
-- plain
SELECT year(born) // 10 * 10, COUNT(*) FROM members GROUP BY 1;
-- sqlite
SELECT max(qty, 1) AS q, max(qty) AS m, COUNT(*) FROM baskets GROUP BY q HAVING COUNT(*) > 0
-- plain
SELECT greatest(qty, 1) AS q, MAX(qty), COUNT(*) FROM baskets GROUP BY q;
-- sqlite
SELECT iif(paid > 10, 'hi', 'lo') AS k, round(avg(paid), 2) AS a FROM baskets WHERE paid IS NOT NULL GROUP BY k
-- plain
SELECT IF(paid > 10, 'hi', 'lo'), round(AVG(paid), 2) FROM baskets WHERE paid IS NOT NULL GROUP BY 1;
-- sqlite
SELECT upper(substr(item, 1, 1)) || substr(item, 2) AS k, COUNT(*) FROM baskets GROUP BY k
-- plain
SELECT upper(item[1]) || item[2:], COUNT(*) FROM baskets GROUP BY 1;
-- sqlite
SELECT group_concat(item, '/') AS s FROM (SELECT item, COUNT(*) AS n FROM baskets GROUP BY item HAVING n > 10 ORDER BY item)
-- plain
SELECT 'jam/o''il/salt/tea';
-- sqlite
SELECT date(seen) AS d, COUNT(*) FROM logins WHERE date(seen) < date('now') GROUP BY d HAVING COUNT(*) > 0
-- plain
SELECT seen::DATE, COUNT(*) FROM logins GROUP BY 1;
-- sqlite
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY device LIMIT 1
-- plain
SELECT device, COUNT(*) FROM logins WHERE device IS NULL GROUP BY 1;
-- redshift
SELECT NVL(device, 'none') AS d, COUNT(*) AS n, AVG(secs::float) AS a FROM logins GROUP BY 1
-- plain
SELECT COALESCE(device, 'none'), COUNT(*), AVG(secs) FROM logins GROUP BY 1;
-- redshift
SELECT DATEDIFF(year, born, '2024-01-01'::date) AS a, COUNT(*) FROM members GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT 2024 - year(born), COUNT(*) FROM members GROUP BY 1;
-- redshift
SELECT DATE_TRUNC('week', day) AS w, SUM(paid) AS t FROM baskets GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('week', day), SUM(paid) FROM baskets GROUP BY 1;
-- redshift
SELECT LISTAGG(DISTINCT item, ',') WITHIN GROUP (ORDER BY item) AS s FROM baskets
-- plain
SELECT string_agg(DISTINCT item, ',' ORDER BY item) FROM baskets;
-- redshift
SELECT REGEXP_REPLACE(item, '[aeiou]', '') AS k, COUNT(*) FROM baskets GROUP BY 1
-- plain
SELECT regexp_replace(item, '[aeiou]', '', 'g'), COUNT(*) FROM baskets GROUP BY 1;
-- redshift
SELECT DECODE(level, 'pro', 1, NULL, 2, 3) AS k, COUNT(*) FROM public.members GROUP BY 1
-- plain
SELECT CASE WHEN level = 'pro' THEN 1 WHEN level IS NULL THEN 2 ELSE 3 END, COUNT(*) FROM members GROUP BY 1;
-- redshift
SELECT TO_CHAR(seen, 'YYYY-MM-DD') AS d, COUNT(DISTINCT mid) AS u FROM logins GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d'), COUNT(DISTINCT mid) FROM logins GROUP BY 1;
-- redshift
SELECT COUNT(*) FROM logins WHERE seen >= DATEADD(day, -2, '2024-01-03'::date) AND seen < GETDATE()::date AND device IS NOT NULL
-- plain
SELECT COUNT(*) FROM logins WHERE seen >= '2024-01-01' AND device IS NOT NULL;
-- redshift
SELECT secs / 600 AS k, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- redshift
SELECT INITCAP(item) AS k, CHARINDEX('a', item) AS p, COUNT(*) FROM baskets WHERE item ~ '^[js]' GROUP BY 1, 2 HAVING COUNT(*) > 0
-- plain
SELECT upper(item[1]) || item[2:], strpos(item, 'a'), COUNT(*) FROM baskets WHERE item IN ('jam', 'salt') GROUP BY ALL;
-- databricks
SELECT nvl(device, 'none') AS d, count_if(ok) AS n FROM logins GROUP BY ALL
-- plain
SELECT COALESCE(device, 'none'), COUNT(*) FILTER (ok) FROM logins GROUP BY 1;
-- databricks
SELECT date_format(seen, 'yyyy-MM-dd') AS d, count(*) AS n FROM logins GROUP BY 1 HAVING n > 0
-- plain
SELECT strftime(seen, '%Y-%m-%d'), COUNT(*) FROM logins GROUP BY 1;
-- databricks
SELECT datediff(YEAR, born, '2023-02-28') AS a, count(*) AS n FROM members GROUP BY 1 HAVING n > 0
-- plain
SELECT date_part('year', age(DATE '2023-02-28', born)), COUNT(*) FROM members GROUP BY 1;
-- databricks
SELECT datediff('2024-01-09', day) AS a, count(*) AS n FROM baskets GROUP BY 1
-- plain
SELECT DATE '2024-01-09' - day, COUNT(*) FROM baskets GROUP BY 1;
-- databricks
SELECT m.level, sum(b.paid) AS t FROM main.shop.members m JOIN main.shop.logins l ON m.mid = l.mid JOIN main.shop.baskets b ON l.lid = b.lid GROUP BY m.level
-- plain
SELECT m.level, SUM(b.paid) FROM members m JOIN logins l USING (mid) JOIN baskets b USING (lid) GROUP BY 1;
-- databricks
SELECT item, count(*) AS n FROM baskets GROUP BY item QUALIFY rank() OVER (ORDER BY count(*) DESC, item) <= 2
-- plain
SELECT item, COUNT(*) FROM baskets GROUP BY item ORDER BY 2 DESC, 1 LIMIT 2;
-- databricks
SELECT count(*) FROM members WHERE nick RLIKE '[;"]' AND active IS NOT TRUE
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'a "b"') AND active IS NOT TRUE;
-- databricks
SELECT cast(secs / 600 AS int) AS k, count(*) AS n FROM logins WHERE secs IS NOT NULL GROUP BY 1 HAVING n > 0
-- plain
SELECT secs // 600, COUNT(*) FROM logins WHERE secs IS NOT NULL GROUP BY 1;
-- databricks
SELECT date_trunc('MONTH', day) AS m, dateadd(DAY, 1, day) > '2024-01-03' AS l, avg(paid) AS a FROM baskets GROUP BY 1, 2 HAVING count(*) > 0
-- plain
SELECT date_trunc('month', day)::TIMESTAMP, day + 1 > DATE '2024-01-03', AVG(paid) FROM baskets GROUP BY ALL;
-- databricks
SELECT count(*) FROM members m LEFT ANTI JOIN logins l ON m.mid = l.mid
-- plain
SELECT COUNT(*) FROM members WHERE mid NOT IN (SELECT mid FROM logins);
-- redshift
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY device DESC LIMIT 1
-- plain
SELECT NULL, COUNT(*) FROM logins WHERE device IS NULL;
-- oracle
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY device DESC FETCH FIRST 1 ROWS ONLY
-- plain
SELECT NULL, COUNT(*) FROM logins WHERE device IS NULL;
-- databricks
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY device LIMIT 1
-- plain
SELECT NULL, COUNT(*) FROM logins WHERE device IS NULL;
-- trino
SELECT device, COUNT(*) AS n FROM logins GROUP BY device ORDER BY device DESC LIMIT 1
-- plain
SELECT device, COUNT(*) FROM logins WHERE device = 'web' GROUP BY 1;
-- trino
SELECT concat(level_name, '/', nick) AS k, count(*) FROM (SELECT CAST(level AS varchar) AS level_name, nick FROM members) GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT level::VARCHAR || '/' || nick AS k, COUNT(*) FROM members GROUP BY 1;
-- sqlite
SELECT CAST(paid AS INTEGER) AS k, COUNT(*) FROM baskets WHERE paid < 3 GROUP BY k HAVING COUNT(*) > 0
-- plain
SELECT trunc(paid)::INT, COUNT(*) FROM baskets WHERE paid < 3 GROUP BY 1;
-- trino
SELECT CAST(paid AS integer) AS k, count(*) FROM baskets WHERE paid < 3 GROUP BY 1 HAVING count(*) > 0
-- plain
SELECT round(paid)::INT, COUNT(*) FROM baskets WHERE paid < 3 GROUP BY 1;
-- oracle
SELECT item || '-' || qty AS k, COUNT(*) FROM baskets GROUP BY item || '-' || qty HAVING COUNT(*) > 0
-- plain
SELECT item || '-' || qty, COUNT(*) FROM baskets GROUP BY 1;
-- oracle
SELECT qty / 2 AS h, COUNT(*) FROM baskets GROUP BY qty / 2
-- plain
SELECT qty / 2, COUNT(*) FROM baskets GROUP BY 1;
-- oracle
SELECT COUNT(*) FROM logins WHERE TRUNC(seen) BETWEEN DATE '2023-12-31' AND DATE '2024-01-01' AND TO_CHAR(seen, 'HH24') >= '12'
-- plain
SELECT COUNT(*) FROM logins WHERE seen::DATE BETWEEN '2023-12-31' AND '2024-01-01' AND hour(seen) >= 12;
-- redshift
SELECT item, SUM(paid) / NULLIF(COUNT(*), 0)::float AS a, MEDIAN(qty) >= 0 AS m FROM baskets GROUP BY item
-- plain
SELECT item, SUM(paid) / COUNT(*), TRUE FROM baskets GROUP BY item;
-- databricks
SELECT item, sum(paid) FILTER (WHERE qty > 1) AS s, initcap(item) AS i FROM baskets GROUP BY item
-- plain
SELECT item, SUM(paid) FILTER (WHERE qty > 1), upper(item[1]) || item[2:] FROM baskets GROUP BY item;
-- trino
SELECT m.level, count(*) FILTER (WHERE l.ok) AS n FROM members m CROSS JOIN logins l WHERE m.mid = l.mid GROUP BY ROLLUP (m.level)
-- plain
SELECT m.level, COUNT(*) FILTER (WHERE l.ok) FROM members m JOIN logins l USING (mid) GROUP BY ROLLUP (m.level);
-- trino
WITH t AS (SELECT date_trunc('day', seen) AS d, count(*) AS n FROM logins GROUP BY 1 HAVING count(*) > 0) SELECT d, n, n - lag(n) OVER (ORDER BY d) AS x FROM t
-- plain
SELECT d, n, n - lag(n) OVER (ORDER BY d) FROM (SELECT date_trunc('day', seen) AS d, COUNT(*) AS n FROM logins GROUP BY 1);
-- sqlite
SELECT count(*) FROM baskets WHERE day BETWEEN '2023-12-30' AND '2024-01-02' AND item NOT LIKE 'T%'
-- plain
SELECT COUNT(*) FROM baskets WHERE day BETWEEN '2023-12-30' AND '2024-01-02' AND item <> 'tea';
-- trino
SELECT histogram(item) AS h FROM baskets WHERE item <> 'jam'
-- plain
SELECT map_from_entries(list((item, n) ORDER BY item)) FROM (SELECT item, COUNT(*)::BIGINT AS n FROM baskets WHERE item <> 'jam' GROUP BY item);
-- trino
SELECT truncate(secs / 1000.0) AS s, count(*) AS n FROM logins GROUP BY 1
-- plain
SELECT trunc(secs / 1000.0), COUNT(*) FROM logins GROUP BY 1;
-- redshift
SELECT DATEPART(dow, day) AS d, DATEPART('month', day) AS m, COUNT(*) AS n FROM baskets GROUP BY 1, 2 HAVING COUNT(*) > 0
-- plain
SELECT dayofweek(day), month(day), COUNT(*) FROM baskets GROUP BY ALL;
-- bigquery
SELECT ok, APPROX_TOP_COUNT(device, 1) AS t FROM logins WHERE ok IS NOT NULL AND (device = 'web' OR (device = 'phone' AND secs < 1000)) GROUP BY ok
-- plain
SELECT ok, list({'value': device, 'count': n} ORDER BY n DESC)[:1] FROM (SELECT ok, device, COUNT(*) AS n FROM logins WHERE device = 'web' OR (device = 'phone' AND secs < 1000) GROUP BY ALL) GROUP BY ok;
-- snowflake
SELECT e, COUNT(*) AS n FROM (SELECT CONDITIONAL_TRUE_EVENT(secs > 1000) OVER (PARTITION BY mid ORDER BY seen) AS e FROM logins) GROUP BY e HAVING COUNT(*) > 0
-- plain
SELECT e, COUNT(*) FROM (SELECT SUM(CASE WHEN secs > 1000 THEN 1 ELSE 0 END) OVER (PARTITION BY mid ORDER BY seen) AS e FROM logins) GROUP BY e;
-- bigquery
SELECT APPROX_TOP_COUNT(device, 3) AS t FROM logins WHERE device IS NULL OR (device = 'phone' AND secs < 1000)
-- plain
SELECT list({'value': device, 'count': n} ORDER BY n DESC)[:3] FROM (SELECT device, COUNT(*) AS n FROM logins WHERE device IS NULL OR (device = 'phone' AND secs < 1000) GROUP BY ALL);
-- snowflake
SELECT MIN(e) AS low, MAX(e) AS high FROM (SELECT device, CONDITIONAL_TRUE_EVENT(COUNT(*) > 300) OVER (ORDER BY COUNT(*) > 0) AS e FROM logins GROUP BY device) AS x
-- plain
SELECT 1, 4;
