SELECT to_timestamp(floor(epoch(arrived) / 604800) * 604800) AS week, COUNT(*) AS n FROM stays
WHERE arrived < '2023-04-01' GROUP BY week;
-- postgres
SELECT to_timestamp(floor(extract(epoch FROM seen_at) / 86400) * 86400) AS d, COUNT(*) AS n
FROM events WHERE seen_at < '2024-03-07' GROUP BY d
-- plain
SELECT to_timestamp(floor(epoch(seen_at) / 86400) * 86400) AS d, COUNT(*) AS n
FROM events GROUP BY d;
-- postgres
SELECT time_bucket('12 hours', seen_at) AS half, COUNT(*) AS n, SUM(amount) AS paid
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half
-- plain
SELECT time_bucket(INTERVAL 12 HOUR, seen_at) AS half, COUNT(*) AS n, SUM(amount) AS paid
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half;
-- postgres
SELECT time_bucket('43200.000s', seen_at) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half
-- plain
SELECT time_bucket(INTERVAL 12 HOUR, seen_at) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half;
-- postgres
SELECT time_bucket('1 month', arrived) AS m, COUNT(*) AS n FROM stays
WHERE arrived < '2023-04-01' GROUP BY m
-- plain
SELECT date_trunc('month', arrived) AS m, COUNT(*) AS n FROM stays
WHERE arrived < '2023-04-01' GROUP BY m;
-- bigquery
SELECT TIMESTAMP_SECONDS(DIV(UNIX_SECONDS(seen_at), 43200) * 43200) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half
-- plain
SELECT time_bucket(INTERVAL 12 HOUR, seen_at) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half;
-- mysql
SELECT FROM_UNIXTIME(UNIX_TIMESTAMP(seen_at) DIV 43200 * 43200) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half
-- plain
SELECT time_bucket(INTERVAL 12 HOUR, seen_at) AS half, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY half;
-- mysql
SELECT STR_TO_DATE(CONCAT(DATE_FORMAT(day, '%Y-%m'), '-01'), '%Y-%m-%d') AS m, COUNT(*) AS n
FROM stays GROUP BY m
-- plain
SELECT date_trunc('month', day)::DATE AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- mysql
SELECT STR_TO_DATE(CONCAT(DATE_FORMAT(arrived, '%Y-%m'), '-01'), '%Y-%m-%d') AS m, COUNT(*) AS n
FROM stays WHERE arrived < '2023-04-01' GROUP BY m
-- plain
SELECT date_trunc('month', arrived)::DATE AS m, COUNT(*) AS n FROM stays
WHERE arrived < '2023-04-01' GROUP BY m;
WITH spine AS (SELECT range AS d FROM range(DATE '2022-12-30', DATE '2023-01-04', INTERVAL 1 DAY))
SELECT spine.d, COUNT(s.id) AS n FROM spine LEFT JOIN stays s ON s.day = spine.d GROUP BY spine.d;
SELECT g.d, COUNT(s.id) AS n
FROM range(DATE '2022-12-30', DATE '2023-01-20', INTERVAL '7 days') AS g (d)
LEFT JOIN stays s ON date_trunc('week', s.day) = date_trunc('week', g.d) GROUP BY g.d;
SELECT step, COUNT(*) AS n FROM events
WHERE seen_at >= TIMESTAMP '2024-02-27' + INTERVAL '36h 30m' GROUP BY step;
-- mysql
SELECT DATE(DATE_SUB(arrived, INTERVAL DAYOFMONTH(arrived) - 1 DAY)) AS m, COUNT(*) AS n
FROM stays WHERE arrived < '2023-04-01' GROUP BY m
-- plain
SELECT date_trunc('month', arrived)::DATE AS m, COUNT(*) AS n FROM stays
WHERE arrived < '2023-04-01' GROUP BY m;
-- mysql
SELECT DATE(DATE_SUB(day, INTERVAL DAYOFYEAR(day) - 1 DAY)) AS y, COUNT(*) AS n FROM stays GROUP BY y
-- plain
SELECT date_trunc('year', day)::DATE AS y, COUNT(*) AS n FROM stays GROUP BY y;
-- mysql
SELECT DATE(DATE_SUB(arrived, INTERVAL DAYOFWEEK(DATE_SUB(arrived, INTERVAL 1 DAY)) - 1 DAY)) AS w,
    DATE(DATE_SUB(arrived, INTERVAL WEEKDAY(arrived) DAY)) AS v, COUNT(*) AS n
FROM stays WHERE arrived < '2023-03-20' GROUP BY w, v
-- plain
SELECT date_trunc('week', arrived)::DATE AS w, date_trunc('week', arrived)::DATE AS v, COUNT(*) AS n
FROM stays WHERE arrived < '2023-03-20' GROUP BY w, v;
-- mysql
SELECT DATE(DATE_SUB(arrived, INTERVAL DAYOFWEEK(arrived) - 1 DAY)) AS w, COUNT(*) AS n
FROM stays WHERE arrived < '2023-03-19' GROUP BY w
-- plain
SELECT arrived::DATE - dayofweek(arrived)::INTEGER AS w, COUNT(*) AS n
FROM stays WHERE arrived < '2023-03-19' GROUP BY w;
-- mysql
SELECT DATE_ADD(DATE(seen_at), INTERVAL HOUR(seen_at) HOUR) AS h, COUNT(*) AS n
FROM events WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY h
-- plain
SELECT date_trunc('hour', seen_at) AS h, COUNT(*) AS n FROM events
WHERE seen_at >= '2024-02-28' AND seen_at < '2024-03-06' GROUP BY h;
-- mysql
SELECT DATE_ADD(DATE(seen_at), INTERVAL (HOUR(seen_at) * 60 + MINUTE(seen_at)) MINUTE) AS m,
    COUNT(*) AS n
FROM events WHERE seen_at < '2024-02-28' GROUP BY m HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('minute', seen_at) AS m, COUNT(*) AS n FROM events
WHERE seen_at < '2024-02-28' GROUP BY m
