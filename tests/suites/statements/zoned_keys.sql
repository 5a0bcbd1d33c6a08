SELECT date_trunc('day', o.tz) AS k, COUNT(*) AS n FROM odd o GROUP BY k HAVING COUNT(*) > 10;
SELECT time_bucket(INTERVAL '1 day', tz) AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 10;
SELECT date_trunc('day', tz) + INTERVAL 1 DAY AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 9;
SELECT date_trunc('day', tz::TIMESTAMP) AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 10;
SELECT date_trunc('day', ts::TIMESTAMPTZ) AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 9;
SELECT k, COUNT(*) AS n FROM (SELECT date_trunc('day', tz) AS k FROM odd) GROUP BY k HAVING COUNT(*) > 10;
SELECT date_trunc('day', j) AS k, COUNT(*) AS n FROM (SELECT tz::TIMESTAMP AS j FROM odd) GROUP BY k
HAVING COUNT(*) > 10;
SELECT CASE WHEN tz < '2024-10-27' THEN date_trunc('day', tz) END AS k, COUNT(*) AS n FROM odd GROUP BY k
HAVING COUNT(*) > 0;
SELECT date_trunc('day', tz) AS k, LAG(COUNT(*)) OVER (ORDER BY k) AS n FROM odd GROUP BY k HAVING COUNT(*) > 9;
SELECT date_trunc('day', tz) AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 9
UNION ALL SELECT date_trunc('day', ts), COUNT(*) FROM odd GROUP BY 1 HAVING COUNT(*) > 9;
WITH w AS (SELECT date_trunc('day', tz) AS k, COUNT(*) AS n FROM odd GROUP BY k HAVING COUNT(*) > 100)
SELECT MAX(k) AS m, MIN(k) AS l, COUNT(*) AS c FROM w;
SELECT COUNT(*) AS n FROM odd WHERE date_trunc('day', tz) IN
(SELECT date_trunc('day', tz) FROM odd GROUP BY 1 HAVING COUNT(*) > 100);
SELECT COUNT(*) AS n FROM (SELECT * FROM odd WHERE neg > 0) AS q WHERE tz > '2024-10-27' AND ts > '1970-01-01';
SELECT date_trunc('day', tz) AS k, COUNT(*) AS n FROM (SELECT * FROM odd) AS q GROUP BY k HAVING COUNT(*) > 11;
SELECT AVG(hour((seen_at + INTERVAL 1 HOUR) AT TIME ZONE 'Asia/Tokyo')) AS x FROM events;
SELECT AVG(hour((tz + INTERVAL 1 HOUR) AT TIME ZONE 'Asia/Tokyo')) AS x FROM odd;
SELECT AVG(hour(date_trunc('hour', tz) AT TIME ZONE 'Europe/Berlin')) AS x FROM odd;
SELECT AVG(hour(CASE WHEN neg > 0 THEN tz END AT TIME ZONE 'Europe/Berlin')) AS x FROM odd;
