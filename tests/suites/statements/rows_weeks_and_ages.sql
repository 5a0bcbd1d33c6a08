SELECT COUNT(*) FROM members WHERE (level::VARCHAR, active) <> ('pro', TRUE);
SELECT COUNT(*) FROM members WHERE (level::VARCHAR, active) NOT IN (('pro', TRUE), ('team', FALSE));
SELECT COUNT(*) FROM members WHERE (level::VARCHAR, active) NOT IN (VALUES ('pro', TRUE), ('team', FALSE));
SELECT COUNT(*) FROM members WHERE (balance, born) >= (100, DATE '1980-01-01');
SELECT COUNT(*) FROM members WHERE (active, balance) < (TRUE, 100);
SELECT COUNT(*) FROM logins WHERE NOT ((secs, ok) > (1800, FALSE));
SELECT device, COUNT(*) FROM logins WHERE (secs, lid % 2, ok) <= (600, 1, FALSE) GROUP BY device;
SELECT COUNT(*) FROM baskets WHERE (item, qty) NOT IN (SELECT item, 1 FROM items);
SELECT COUNT(*) FROM baskets WHERE (item, paid) IN (SELECT item, price FROM items) OR qty = 3;
SELECT COUNT(*) FROM members WHERE (mid, active) NOT IN (SELECT mid, ok FROM logins);
SELECT COUNT(*) FROM members m WHERE (m.mid, TRUE) IN (SELECT l.mid, l.ok FROM logins l WHERE l.device = 'web') OR m.active;
SELECT COUNT(*) FILTER (WHERE (mid, active) IN (SELECT mid, ok FROM logins)) AS n FROM members;
SELECT COUNT(*) FROM logins WHERE (lid, seen::DATE) IN (SELECT lid, day FROM baskets);
-- postgres
SELECT COUNT(*) FROM members WHERE (level::text, active) <> ('pro', true)
-- plain
SELECT COUNT(*) FROM members WHERE NOT (level = 'pro' AND active);
-- postgres
SELECT COUNT(*) FROM members WHERE (level::text, active) NOT IN (('pro', true), ('team', false))
-- plain
SELECT COUNT(*) FROM members WHERE NOT (level = 'pro' AND active OR level = 'team' AND NOT active);
-- postgres
SELECT COUNT(*) FROM logins WHERE NOT ((secs, ok) > (1800, false)) AND (secs, lid) <= (1700, 1400)
-- plain
SELECT COUNT(*) FROM logins WHERE NOT (secs > 1800 OR secs = 1800 AND ok > FALSE) AND (secs < 1700 OR secs = 1700 AND lid <= 1400);
-- mysql
SELECT COUNT(*) FROM baskets WHERE (item, qty) IN (('tea', 0), ('jam', 3))
-- plain
SELECT COUNT(*) FROM baskets WHERE item = 'tea' AND qty = 0 OR item = 'jam' AND qty = 3;
-- snowflake
SELECT COUNT(*) FROM baskets WHERE (item, qty) IN (SELECT item, 3 FROM items)
-- plain
SELECT COUNT(*) FROM baskets WHERE item IN (SELECT item FROM items) AND qty = 3;
SELECT date_part('year', age(TIMESTAMP '2003-02-28 12:00:00', born)) AS a, COUNT(*) FROM members WHERE born <= '2000-01-01' GROUP BY a HAVING COUNT(*) > 0;
SELECT SUM(date_part('year', age(DATE '2001-02-28', born))) AS s FROM members WHERE born >= '1995-01-01';
SELECT SUM(date_part('year', age(born, DATE '1960-02-29'))) AS s FROM members;
SELECT SUM(date_part('year', age(DATE '2000-02-29', born))) AS s FROM members;
SELECT SUM(date_part('year', age(m.born, b.day))) AS s FROM members m JOIN logins USING (mid) JOIN baskets b USING (lid);
SELECT SUM(extract(year FROM age(d, DATE '1970-02-28'))) AS s FROM odd;
-- mysql
SELECT SUM(TIMESTAMPDIFF(YEAR, born, '2023-02-28')) AS s FROM members
-- plain
SELECT SUM(date_part('year', age(DATE '2023-02-28', born))) FROM members;
-- bigquery
SELECT DATE_TRUNC(day, WEEK) AS w, EXTRACT(WEEK FROM day) AS n, COUNT(*) FROM baskets GROUP BY w, n HAVING COUNT(*) > 0
-- plain
SELECT day - dayofweek(day)::INT AS w, strftime(day, '%U')::INT, COUNT(*) FROM baskets GROUP BY ALL;
-- bigquery
SELECT DATE_DIFF(DATE '2024-01-09', day, WEEK) AS w, COUNT(*) FROM baskets GROUP BY w HAVING COUNT(*) > 0
-- plain
SELECT CASE WHEN day < '2023-12-31' THEN 2 WHEN day < '2024-01-07' THEN 1 ELSE 0 END AS w, COUNT(*) FROM baskets GROUP BY ALL;
-- bigquery
SELECT TIMESTAMP_TRUNC(seen, WEEK) AS w, COUNT(*) FROM logins GROUP BY w HAVING COUNT(*) > 0
-- plain
SELECT seen::DATE - dayofweek(seen)::INT AS w, COUNT(*) FROM logins GROUP BY w;
-- tsql
SELECT DATEDIFF(week, day, '2024-01-09') AS w, COUNT(*) AS n FROM baskets GROUP BY DATEDIFF(week, day, '2024-01-09') HAVING COUNT(*) > 0
-- plain
SELECT CASE WHEN day < '2023-12-31' THEN 2 WHEN day < '2024-01-07' THEN 1 ELSE 0 END AS w, COUNT(*) FROM baskets GROUP BY ALL;
-- mysql
SELECT WEEK(day) AS w, COUNT(*) AS n FROM baskets GROUP BY w HAVING n > 0
-- plain
SELECT strftime(day, '%U')::INT, COUNT(*) FROM baskets GROUP BY ALL;
-- tsql
SELECT COUNT(*) FROM members WHERE nick NOT LIKE '[^a-i]%' AND nick LIKE '%[^.;]'
-- plain
SELECT COUNT(*) FROM members WHERE NOT regexp_matches(nick, '^[^a-i]') AND regexp_matches(nick, '[^.;]$');
-- snowflake
SELECT COUNT(*) FROM members WHERE nick RLIKE 'b.ck.*' OR nick RLIKE '.;y'
-- plain
SELECT COUNT(*) FROM members WHERE nick IN ('x;y', 'back\slash');
-- mysql
SELECT REGEXP_REPLACE(item, '[aeiou]', '') AS k, COUNT(*) AS n FROM baskets WHERE REGEXP_LIKE(item, '^.[aeu]') GROUP BY k HAVING n > 0
-- plain
SELECT regexp_replace(item, '[aeiou]', '', 'g') AS k, COUNT(*) FROM baskets WHERE item[2] IN ('a', 'e', 'u') GROUP BY k;
-- snowflake
SELECT INITCAP(nick) AS k, COUNT(*) FROM members GROUP BY k
-- plain
SELECT CASE nick WHEN 'it''s' THEN 'It''s' WHEN 'a "b"' THEN 'A "B"' WHEN 'x;y' THEN 'X;Y' WHEN 'back\slash' THEN 'Back\Slash' ELSE nick END AS k, COUNT(*) FROM members GROUP BY k;
-- postgres
SELECT initcap(MODE() WITHIN GROUP (ORDER BY item)) AS k FROM baskets WHERE qty = 3
-- plain
SELECT 'Jam';
SELECT COUNT(*) AS n FROM members WHERE age(TIMESTAMP '2024-01-01', born) > INTERVAL 18 YEAR;
SELECT COUNT(*) AS n FROM members
WHERE INTERVAL '18 years 6 months' >= age(DATE '2024-01-01', born);
SELECT age(born) > INTERVAL '60 years' AS old, COUNT(*) AS n FROM members GROUP BY old;
SELECT COUNT(*) AS n FROM odd WHERE age(d, DATE '1969-12-31') > INTERVAL '3 months';
