SELECT x.total, COUNT(*) AS n FROM visits v, LATERAL (SELECT v.ward + 1 AS total) x GROUP BY x.total;
SELECT AVG(x.y) AS a FROM people p CROSS JOIN LATERAL (SELECT p.age * 2 AS y) AS x WHERE x.y > 40;
SELECT SUM(w.z) AS s FROM people p JOIN LATERAL (SELECT CASE WHEN p.sex = 'F' THEN p.hours ELSE 0 END) AS w (z) ON true;
SELECT SUM(w.z) AS s, COUNT(*) AS n FROM people p LEFT JOIN LATERAL (SELECT p.hours + 1 AS z) w ON true WHERE p.age > 50;
SELECT b.band, COUNT(*) AS n FROM people p, LATERAL (SELECT CASE WHEN p.age < 50 THEN 'young' ELSE 'old' END AS band) b GROUP BY ALL;
SELECT p.sex, y.quad, COUNT(*) AS n FROM people p, LATERAL (SELECT p.hours // 20 AS h) x, LATERAL (SELECT x.h * 2 AS quad) y GROUP BY ALL;
SELECT COUNT(*) AS n FROM people p JOIN LATERAL (SELECT p.age + p.hours AS both) x ON x.both > 60;
SELECT c.country, AVG(x.n) AS a FROM customers c, LATERAL (SELECT COUNT(*) AS n FROM sales s WHERE s.cid = c.cid) x GROUP BY c.country;
SELECT c.country, COUNT(*) AS n FROM customers c JOIN LATERAL (SELECT COUNT(*) AS k FROM sales s WHERE s.cid = c.cid AND s.channel = 'web') x ON true WHERE x.k >= 1 GROUP BY c.country;
SELECT c.country, SUM(x.q) AS q, AVG(x.n) AS a FROM customers c LEFT JOIN LATERAL (SELECT COUNT(*) AS n, SUM(s.qty) AS q FROM sales s WHERE s.cid = c.cid) x ON true GROUP BY c.country;
SELECT x.big, COUNT(*) AS n FROM customers c, LATERAL (SELECT COUNT(*) FILTER (WHERE s.qty > 3) > 0 AS big FROM sales s WHERE s.cid = c.cid) x GROUP BY x.big;
-- postgres
SELECT p.sex, COUNT(*) AS n FROM people p CROSS JOIN LATERAL (SELECT p.age + p.hours AS both) x WHERE x.both > 60 GROUP BY p.sex
-- plain
SELECT p.sex, COUNT(*) AS n FROM people p WHERE p.age + p.hours > 60 GROUP BY p.sex
