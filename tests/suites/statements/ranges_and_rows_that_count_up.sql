SELECT i, COUNT(*) FROM people JOIN range(0, 100, 5) AS g(i) ON age BETWEEN i AND i + 4 GROUP BY i;
SELECT g.b, COUNT(p.id) FROM generate_series(0, 90, 10) AS g(b) LEFT JOIN people p ON p.age >= g.b
AND p.age < g.b + 10 GROUP BY g.b;
SELECT g.d, COUNT(s.id) FROM generate_series(DATE '2023-01-02', DATE '2023-03-20', INTERVAL 1
WEEK) AS g(d) JOIN stays s ON s.day BETWEEN g.d AND g.d + INTERVAL 6 DAY GROUP BY g.d;
SELECT g.d, COUNT(s.id) FROM generate_series(DATE '2023-01-02', DATE '2023-03-20', INTERVAL 1
WEEK) AS g(d) LEFT JOIN stays s ON s.day >= g.d AND s.day < g.d + INTERVAL 7 DAY GROUP BY g.d;
SELECT g.d, COUNT(*) FROM (VALUES (DATE '2023-01-02'), (DATE '2023-01-09'), (DATE '2023-01-12'))
AS g(d) JOIN stays s ON s.day BETWEEN g.d AND g.d + 6 GROUP BY g.d;
SELECT v.k, SUM(s.price) FROM sales s JOIN (VALUES ('a', 0.0), ('b', 25.5), ('c', 51.0), ('d',
76.5)) v(k, lo) ON s.price >= v.lo AND s.price < v.lo + 25.5 GROUP BY v.k;
SELECT i, COUNT(*) FROM people JOIN range(0, 100, 5) AS g(i) ON age >= i AND age < i + 6 GROUP BY
i;
SELECT i, COUNT(*) FROM people JOIN range(0, 12) AS g(i) ON age = i * 8 + 1 GROUP BY i;
SELECT i, COUNT(*) FROM people JOIN range(0, 10) AS g(i) ON age > i * 10 AND age <= (i + 1) * 10
GROUP BY i;
SELECT i, COUNT(*) FROM people JOIN range(0, 10) AS g(i) ON age // 10 = i GROUP BY i;
SELECT i, COUNT(*) FROM people, range(0, 4) AS g(i) WHERE age >= i * 25 AND age <= i * 25 + 30
GROUP BY i;
SELECT COUNT(*) AS n, SUM(age) AS n FROM people UNION ALL SELECT COUNT(*), SUM(hours) FROM people;
SELECT COUNT(*), COUNT(*), AVG(age) FROM people UNION ALL SELECT 1, 2, 3;
SELECT x.n, x.n_1 FROM (SELECT COUNT(*) AS n, SUM(age) AS n FROM people) x WHERE x.n > 0;
SELECT * FROM (SELECT COUNT(*) AS n, SUM(age) AS n FROM people) x, (SELECT COUNT(*) AS n FROM
sales) y;
WITH RECURSIVE d(day) AS (SELECT DATE '2023-01-01' UNION ALL SELECT day + 1 FROM d WHERE day <
DATE '2023-01-10') SELECT d.day, COUNT(s.id) FROM d LEFT JOIN stays s ON s.day = d.day GROUP BY
d.day;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n, COUNT(*)
FROM r JOIN people ON age // 33 = n GROUP BY n;
WITH RECURSIVE r AS (SELECT 0 AS lo UNION ALL SELECT lo + 10 FROM r WHERE lo < 90) SELECT r.lo,
COUNT(p.id) AS n FROM r LEFT JOIN people p ON p.age >= r.lo AND p.age < r.lo + 10 GROUP BY r.lo
ORDER BY r.lo;
-- mysql
WITH RECURSIVE d AS (SELECT DATE('2023-01-01') AS day UNION ALL SELECT DATE_ADD(day, INTERVAL 1
DAY) FROM d WHERE day < '2023-01-10') SELECT d.day, COUNT(s.id) AS n FROM d LEFT JOIN stays s ON
s.day = d.day GROUP BY d.day
-- plain
SELECT d, COUNT(s.id) FROM generate_series(DATE '2023-01-01', DATE '2023-01-10', INTERVAL 1 DAY)
g(d) LEFT JOIN stays s ON s.day = g.d GROUP BY d;
-- postgres
WITH RECURSIVE months AS (SELECT DATE '2023-01-01' AS m UNION ALL SELECT (m + INTERVAL '1
month')::date FROM months WHERE m < DATE '2023-03-01') SELECT m, COUNT(s.id) AS n FROM months LEFT
JOIN stays s ON date_trunc('month', s.day) = m GROUP BY m ORDER BY m
-- plain
SELECT d::DATE, COUNT(s.id) FROM generate_series(DATE '2023-01-01', DATE '2023-03-01', INTERVAL 1
MONTH) g(d) LEFT JOIN stays s ON date_trunc('month', s.day) = g.d GROUP BY d;
-- sqlite
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT x, COUNT(*) AS
n FROM c JOIN people p ON p.age / 20 = x - 1 GROUP BY x
-- plain
SELECT age // 20 + 1, COUNT(*) FROM people GROUP BY 1;
-- tsql
WITH n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT n.i, COUNT(*) AS c FROM
n JOIN people p ON p.age / 20 = n.i GROUP BY n.i
-- plain
SELECT age // 20, COUNT(*) FROM people GROUP BY 1;
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 100) SELECT SUM(n) FROM
t, (SELECT COUNT(*) FROM people) x;
WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 3), b AS (SELECT n * 10
AS m FROM a) SELECT m, COUNT(*) FROM b JOIN people ON age // 10 * 10 = m GROUP BY m;
WITH a(n) AS (VALUES (1), (2), (3)), b AS (SELECT n * 10 AS m FROM a) SELECT m, COUNT(*) FROM
people JOIN b ON age // 10 * 10 = m GROUP BY m;
WITH a AS (SELECT unnest(range(0, 100, 25)) AS lo), b AS (SELECT lo, lo + 24 AS hi FROM a) SELECT
lo, hi, COUNT(p.id) FROM b LEFT JOIN people p ON p.age BETWEEN b.lo AND b.hi GROUP BY lo, hi;
SELECT b.m, COUNT(*) FROM people p JOIN (SELECT i * 10 AS m FROM range(0, 10) t(i)) b ON p.age //
10 * 10 = b.m GROUP BY b.m;
SELECT b.m, COUNT(p.id) FROM (SELECT i * 10 AS m FROM range(0, 10) t(i)) b LEFT JOIN people p ON
p.age // 10 * 10 = b.m GROUP BY b.m;
