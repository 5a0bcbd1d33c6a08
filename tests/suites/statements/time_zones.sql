SELECT hour(tz AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) AS n FROM odd GROUP BY h;
SELECT COUNT(*) AS n FROM odd WHERE tz AT TIME ZONE 'Europe/Berlin' > TIMESTAMP '2024-10-27 02:30:00';
SELECT COUNT(*) AS n FROM odd WHERE tz AT TIME ZONE 'Europe/Berlin' BETWEEN TIMESTAMP '2024-10-27 02:00:00' AND TIMESTAMP '2024-10-27 03:00:00';
SELECT (tz AT TIME ZONE 'America/New_York')::DATE AS day, COUNT(*) AS n FROM odd GROUP BY day HAVING n > 0;
SELECT date_trunc('hour', tz AT TIME ZONE 'Asia/Kolkata') AS h, COUNT(*) AS n FROM odd GROUP BY h HAVING n > 0;
SELECT strftime(tz AT TIME ZONE 'Australia/Sydney', '%Y-%m-%d %H') AS h, COUNT(*) AS n FROM odd GROUP BY h HAVING n > 0;
SELECT hour(arrived AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) AS n FROM stays GROUP BY h;
SELECT COUNT(*) AS n FROM stays WHERE arrived AT TIME ZONE 'Europe/Berlin' > TIMESTAMPTZ '2023-03-26 01:00:00+00';
SELECT dayname(timezone('America/Los_Angeles', timezone('UTC', seen_at))) AS d, COUNT(*) AS n FROM events GROUP BY d;
SELECT hour(t AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) AS n FROM (SELECT tz AS t, u FROM odd) q GROUP BY h;
SELECT hour(tz AT TIME ZONE 'UTC') AS h, hour(tz AT TIME ZONE 'gmt') AS g, COUNT(*) AS n FROM odd GROUP BY h, g HAVING n > 0;
-- postgres
SELECT extract(hour from (arrived AT TIME ZONE 'UTC') AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) AS n FROM stays GROUP BY 1
-- plain
SELECT hour(arrived AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) FROM stays GROUP BY h;
-- snowflake
SELECT CONVERT_TIMEZONE('UTC', 'Europe/Berlin', arrived)::DATE AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING n > 0
-- plain
SELECT (arrived AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin')::DATE AS d, COUNT(*) FROM stays GROUP BY d;
-- bigquery
SELECT DATE(arrived, 'America/New_York') AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING n > 0
-- plain
SELECT (arrived AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York')::DATE AS d, COUNT(*) FROM stays GROUP BY d;
-- bigquery
SELECT EXTRACT(HOUR FROM arrived AT TIME ZONE 'America/New_York') AS d, EXTRACT(HOUR FROM DATETIME(arrived, 'Asia/Tokyo')) AS e, COUNT(*) AS n FROM stays GROUP BY d, e HAVING n > 0
-- plain
SELECT hour(arrived AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York') AS d, hour(arrived AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'), COUNT(*) FROM stays GROUP BY 1, 2;
-- spark
SELECT hour(from_utc_timestamp(arrived, 'Europe/Berlin')) AS d, COUNT(*) AS n FROM stays GROUP BY d
-- plain
SELECT hour(arrived AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin') AS d, COUNT(*) FROM stays GROUP BY d;
SELECT AVG(hour((seen_at + INTERVAL 1 HOUR) AT TIME ZONE 'Asia/Tokyo')) FROM events;
