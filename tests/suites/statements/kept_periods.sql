WITH months AS (SELECT DATE '2022-01-01' + to_months(i::INTEGER) AS month FROM generate_series(0, 26) AS g (i)) SELECT m.month, COUNT(s.sid) AS n FROM months m LEFT JOIN sales s ON date_trunc('month', s.sold) = m.month GROUP BY m.month ORDER BY m.month;
WITH RECURSIVE months AS (SELECT DATE '2021-11-01' AS month UNION ALL SELECT (month + INTERVAL 1 MONTH)::DATE FROM months WHERE month < DATE '2023-12-01') SELECT m.month, COUNT(s.sid) AS n, SUM(s.qty) AS q FROM months m LEFT JOIN sales s ON date_trunc('month', s.sold) = m.month GROUP BY m.month;
WITH RECURSIVE d (day) AS (SELECT DATE '2023-03-01' UNION ALL SELECT day + 1 FROM d WHERE day < DATE '2023-04-10') SELECT d.day, COUNT(s.id) AS n FROM d LEFT JOIN stays s ON s.day = d.day GROUP BY d.day ORDER BY 1;
SELECT w.week, COUNT(s.id) AS n FROM generate_series(DATE '2022-12-26', DATE '2023-04-10', INTERVAL 7 DAY) AS w (week) LEFT JOIN stays s ON date_trunc('week', s.day) = w.week GROUP BY w.week;
SELECT h.hour, COUNT(s.id) AS n FROM range(0, 24) h (hour) LEFT JOIN stays s ON hour(s.arrived) = h.hour GROUP BY h.hour;
SELECT h.hour // 6 AS part, COUNT(s.id) AS n, AVG(s.ward) AS a FROM range(0, 26) h (hour) LEFT JOIN stays s ON hour(s.arrived) = h.hour GROUP BY part HAVING COUNT(s.id) > 5;
SELECT c.name, COUNT(s.sid) AS n FROM (VALUES ('web'), ('shop'), ('fax')) AS c (name) LEFT JOIN sales s ON s.channel = c.name GROUP BY c.name;
SELECT c.name, COUNT(s.sid) AS n FROM unnest(['web', 'shop', 'fax']) AS c (name) LEFT JOIN sales s ON s.channel = c.name GROUP BY c.name;
SELECT c.channel, COUNT(s.sid) AS n FROM (SELECT unnest(['web', 'phone', 'fax']) AS channel) c LEFT JOIN sales s USING (channel) GROUP BY c.channel;
SELECT c.label, COUNT(s.sid) AS n, SUM(s.qty) AS q FROM (VALUES ('web', 'far'), ('phone', 'far'), ('fax', 'none')) AS c (channel, label) LEFT JOIN sales s ON s.channel = c.channel GROUP BY c.label;
SELECT c.name, COUNT(s.sid) AS n FROM sales s RIGHT JOIN (VALUES ('web'), ('fax')) AS c (name) ON s.channel = c.name GROUP BY 1;
SELECT m.m, c.name, COUNT(s.sid) AS n FROM (SELECT unnest(range(1, 13)) AS m) m CROSS JOIN (VALUES ('web'), ('fax')) AS c (name) LEFT JOIN sales s ON month(s.sold) = m.m AND s.channel = c.name GROUP BY ALL;
SELECT b.name, COUNT(p.id) AS n FROM (VALUES ('young', 0, 30), ('old', 30, 90), ('none', 100, 120)) AS b (name, low, high) LEFT JOIN people p ON p.age >= b.low AND p.age < b.high GROUP BY b.name;
SELECT m.first, COUNT(s.sid) AS n FROM (SELECT DISTINCT date_trunc('month', d) AS first FROM days) m LEFT JOIN sales s ON date_trunc('month', s.sold) = m.first GROUP BY m.first;
SELECT m.moy, COUNT(s.sid) AS n, n / SUM(n) OVER () AS share FROM (SELECT DISTINCT moy FROM days) m LEFT JOIN sales s ON month(s.sold) = m.moy GROUP BY m.moy QUALIFY n > 0;
SELECT g.k, SUM(CASE WHEN s.channel = 'web' THEN 1 ELSE 0 END) AS w, COUNT(*) FILTER (WHERE s.qty > 2) AS q, COUNT(CASE WHEN s.qty > 3 THEN 1 END) AS r FROM range(1, 7) g (k) LEFT JOIN sales s ON s.store = g.k GROUP BY g.k;
SELECT g.k, COUNT(s.sid) AS n FROM range(1, 7) g (k) LEFT JOIN sales s ON s.store = g.k AND s.channel = 'web' AND g.k > 1 WHERE g.k < 6 GROUP BY g.k ORDER BY n DESC, g.k LIMIT 3;
SELECT strftime(m.month, '%Y-%m') AS ym, COUNT(s.sid) AS n FROM (SELECT unnest(generate_series(DATE '2022-01-01', DATE '2024-02-01', INTERVAL 1 MONTH)) AS month) m LEFT JOIN sales s ON strftime(s.sold, '%Y-%m') = strftime(m.month, '%Y-%m') GROUP BY 1 ORDER BY 1
