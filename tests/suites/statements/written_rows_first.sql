SELECT g.d::DATE AS d, COUNT(s.id) AS n FROM generate_series(DATE '2023-01-01', DATE '2023-01-09', INTERVAL '1 day') AS g(d) LEFT JOIN stays s ON s.day = g.d::DATE GROUP BY 1 ORDER BY 1;
SELECT g.d::DATE AS d, COUNT(s.id) AS n FROM generate_series(DATE '2023-03-27', DATE '2023-03-31', INTERVAL '1 day') AS g(d) LEFT JOIN stays s ON s.day = g.d GROUP BY g.d;
SELECT m.m, COUNT(s.sid) AS n, SUM(s.qty) AS q FROM generate_series(1, 12) AS m(m) LEFT JOIN sales s ON month(s.sold) = m.m GROUP BY m.m;
SELECT m.m, COUNT(*) AS n FROM range(1, 13) AS m(m) JOIN sales s ON month(s.sold) = m.m GROUP BY m.m;
SELECT v.r, COUNT(p.id) AS n, AVG(p.age) AS a FROM (VALUES ('north'), ('west'), ('east')) AS v(r) LEFT JOIN people p ON p.region = v.r AND p.age < 50 GROUP BY v.r;
WITH b(lo, hi, name) AS (VALUES (0, 19, 'young'), (20, 64, 'middle'), (65, 120, 'old')) SELECT b.name, COUNT(p.id) AS n FROM b LEFT JOIN people p ON p.age BETWEEN b.lo AND b.hi GROUP BY b.name ORDER BY 2
