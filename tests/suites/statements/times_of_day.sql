SELECT COUNT(*) AS n FROM events WHERE clock > TIME '12:00:00';
SELECT hour(clock) AS h, COUNT(*) AS n FROM events GROUP BY h HAVING n > 0;
SELECT minute(clock) // 15 AS q, COUNT(*) AS n FROM events GROUP BY q HAVING n > 0;
SELECT COUNT(*) AS n FROM events WHERE clock BETWEEN '08:00' AND '17:00:00';
SELECT COUNT(clock) AS c, COUNT(*) FILTER (WHERE clock IS NULL) AS n FROM events WHERE extract(hour FROM clock) < 12;
SELECT COUNT(*) AS n FROM events WHERE clock IN ('08:00', TIME '09:01') OR clock = '08:08:00'::TIME OR clock >= TIME '23:59:59.5';
SELECT CASE WHEN clock < TIME '06:00' THEN 'night' WHEN clock < '18:00' THEN 'day' ELSE 'eve' END AS k, COUNT(*) AS n FROM events GROUP BY k;
SELECT AVG(hour(clock)) AS a, SUM(minute(clock)) AS s FROM events;
SELECT COUNT(*) AS n FROM events WHERE greatest(clock, TIME '10:00') > TIME '11:00' AND coalesce(clock, TIME '00:00') < '20:00';
SELECT COUNT(*) AS n FROM events WHERE date_part('hour', clock) = 3 AND date_part('minute', clock) > 20;
SELECT COUNT(*) AS n FROM events e JOIN events f ON e.person = f.person AND e.clock < f.clock;
SELECT COUNT(DISTINCT clock) AS n FROM events;
SELECT COUNT(*) AS n FROM (SELECT person, clock AS c FROM events) q WHERE c < '06:00';
SELECT COUNT(*) AS n FROM events WHERE clock NOT IN ('08:00') AND clock <> '09:00' AND clock IS DISTINCT FROM '10:00';
SELECT CASE WHEN seen_at::TIME < TIME '12:00' THEN 'am' ELSE 'pm' END AS half, COUNT(*) AS n FROM events GROUP BY half;
SELECT COUNT(*) AS n FROM events WHERE seen_at::TIME BETWEEN '08:30' AND '17:00' AND seen_at::TIME <> clock;
SELECT COUNT(*) AS n FROM odd WHERE ts::TIME > TIME '22:30:05';
-- postgres
SELECT COUNT(*) AS n FROM events WHERE clock > time '12:00' AND extract(hour from clock) < 20
-- plain
SELECT COUNT(*) AS n FROM events WHERE clock > TIME '12:00' AND hour(clock) < 20;
-- mysql
SELECT HOUR(clock) AS h, COUNT(*) AS n FROM events WHERE clock < '20:00:00' AND TIME(seen_at) > '03:00' GROUP BY h HAVING n > 0
-- plain
SELECT hour(clock) AS h, COUNT(*) AS n FROM events WHERE clock < TIME '20:00:00' AND seen_at::TIME > TIME '03:00' GROUP BY h;
-- tsql
SELECT COUNT(*) AS n FROM events WHERE clock < '20:00' AND DATEPART(hour, clock) > 3 AND CAST('10:00' AS time) < clock
-- plain
SELECT COUNT(*) AS n FROM events WHERE clock < TIME '20:00' AND hour(clock) > 3 AND clock > TIME '10:00';
-- bigquery
SELECT TIME(seen_at) >= '12:00:00' AS r, COUNT(*) AS n FROM events GROUP BY r
-- plain
SELECT seen_at::TIME >= TIME '12:00' AS r, COUNT(*) AS n FROM events GROUP BY r;
SELECT COUNT(*) AS n FROM events WHERE seen_at::TIME + INTERVAL 1 HOUR > TIME '12:00';
SELECT hour(seen_at::TIME - INTERVAL 90 MINUTE) AS h, COUNT(*) AS n FROM events GROUP BY h;
SELECT COUNT(*) AS n FROM (SELECT ts AS x FROM odd WHERE neg > 0 UNION ALL SELECT ts FROM odd) AS o WHERE x::TIME + INTERVAL 1 HOUR > TIME '12:00';
