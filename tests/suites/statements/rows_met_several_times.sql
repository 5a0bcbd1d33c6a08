SELECT v.k, COUNT(*) AS n FROM people p JOIN (VALUES ('F', 1), ('F', 2), ('M', 1)) AS v (sex, k) ON v.sex = p.sex GROUP BY v.k;
SELECT COUNT(*) AS n FROM people p JOIN (VALUES ('F', 1), ('f', 2)) AS v (sex, k) ON v.sex = p.sex;
SELECT SUM(v.k) AS n FROM people p JOIN (VALUES (1, 1), (01, 2)) AS v (age, k) ON v.age = p.age;
SELECT SUM(v.k) AS n FROM people p JOIN (VALUES (1, 1), (1.0, 2)) AS v (age, k) ON v.age = p.age;
SELECT v.lo, COUNT(*) AS n FROM people p JOIN (VALUES (0, 20), (20, 30)) AS v (lo, hi) ON p.age BETWEEN v.lo AND v.hi GROUP BY v.lo;
SELECT v.lo, AVG(p.income) AS n FROM people p JOIN (VALUES (0, 20), (10, 30), (40, 60)) AS v (lo, hi) ON p.age > v.lo AND p.age < v.hi GROUP BY v.lo;
SELECT v.lo + 1 AS l, COUNT(*) AS n FROM people p JOIN (VALUES (0), (10)) AS v (lo) ON p.age > v.lo GROUP BY v.lo + 1;
SELECT COUNT(*) AS n FROM people p JOIN (VALUES (0, 20), (30, 40)) AS v (lo, hi) ON p.age > v.lo AND p.hours < v.hi;
SELECT k, COUNT(DISTINCT p.id) AS n, SUM(p.age) AS a FROM people p CROSS JOIN (VALUES (1), (2)) AS v (k) GROUP BY k;
SELECT v.label, COUNT(*) AS n FROM people p, (VALUES ('F', 'x'), ('F', 'y'), (NULL, 'z')) AS v (s, label) WHERE p.sex = v.s AND p.age > 40 GROUP BY v.label HAVING COUNT(*) > 0;
SELECT e.source, v.k, COUNT(*) AS n FROM events e JOIN (VALUES ('web', 1), (NULL, 2), ('web', 3)) AS v (s, k) ON e.source IS NOT DISTINCT FROM v.s GROUP BY ALL HAVING COUNT(*) > 0;
SELECT v.k, COUNT(*) AS n FROM people p LEFT JOIN (VALUES ('F', 1), ('F', 2), (NULL, 3)) AS v (s, k) ON p.sex = v.s WHERE p.age > 20 GROUP BY v.k HAVING COUNT(*) > 0;
SELECT v.k, COUNT(*) AS n, SUM(s.qty) AS q FROM sales s JOIN customers c USING (cid) JOIN (VALUES ('DE', 1), ('DE', 2), ('FR', 1)) AS v (country, k) ON v.country = c.country AND s.qty >= v.k GROUP BY v.k;
SELECT v.k, COUNT(*) AS n FROM customers c LEFT JOIN sales s USING (cid) CROSS JOIN (VALUES (2), (3)) AS v (k) WHERE COALESCE(s.qty, 0) < v.k GROUP BY v.k;
SELECT b.k, COUNT(*) AS n FROM stays JOIN (VALUES (DATE '2023-01-01', DATE '2023-01-31', 'a'), (DATE '2023-01-15', DATE '2023-02-15', 'b')) AS b (lo, hi, k) ON day BETWEEN lo AND hi GROUP BY b.k;
SELECT d.day, COUNT(DISTINCT s.person) AS n FROM (VALUES (DATE '2023-02-01'), (DATE '2023-02-08')) AS d (day) LEFT JOIN stays s ON s.day >= d.day - INTERVAL 14 DAY AND s.day < d.day GROUP BY d.day;
WITH least AS (SELECT 10 AS lo UNION ALL SELECT 50 UNION ALL SELECT 90) SELECT lo, COUNT(*) AS n FROM people JOIN least ON age > lo GROUP BY lo;
SELECT k, COUNT(*) AS n FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) a JOIN (VALUES (1), (2), (3)) AS v (k) ON a.n >= v.k GROUP BY k;
SELECT v.a, w.b, COUNT(*) AS n FROM people p CROSS JOIN (VALUES (1), (2)) AS v (a) CROSS JOIN (VALUES (10), (20)) AS w (b) WHERE p.hours > v.a AND p.age > w.b GROUP BY ALL;
SELECT lbl, sex, COUNT(*) AS n FROM (SELECT * FROM people JOIN (VALUES ('F', 'x'), ('M', 'x'), ('F', 'y')) AS v (sex, lbl) USING (sex)) GROUP BY ALL HAVING COUNT(*) > 0;
SELECT lbl, COUNT(*) AS n FROM (SELECT p.*, lbl FROM people p CROSS JOIN (VALUES ('x'), ('y')) AS v (lbl)) GROUP BY lbl;
SELECT x, COUNT(*) AS n FROM (SELECT unnest([sex, region]) AS x FROM people) GROUP BY x;
SELECT x, y, AVG(age) AS a FROM (SELECT age, unnest([sex, region]) AS x, unnest([1, 2]) AS y FROM people WHERE hours > 9) GROUP BY x, y HAVING COUNT(*) > 0;
SELECT t.x, COUNT(*) AS n FROM people p, unnest([p.age // 10, p.hours // 10]) AS t (x) GROUP BY t.x;
SELECT t.x, COUNT(*) AS n FROM people, LATERAL (SELECT unnest([age // 10, hours // 10]) AS x) t GROUP BY t.x;
SELECT d.d, COUNT(*) AS n FROM people p, (SELECT unnest([20, 40, 60]) AS d) d WHERE p.age >= d.d GROUP BY d.d;
SELECT n, SUM(v) AS s, COUNT(*) AS c FROM people UNPIVOT (v FOR n IN (hours, age)) u WHERE sex = 'F' GROUP BY n;
SELECT name, AVG(value) AS a FROM (UNPIVOT (SELECT id, hours, age FROM people) ON hours, age INTO NAME name VALUE value) GROUP BY name;
SELECT name, COUNT(*) AS n FROM events UNPIVOT (value FOR name IN (amount, score)) GROUP BY name;
SELECT name, value FROM (SELECT COUNT(*) AS a, SUM(age) AS b FROM people) UNPIVOT (value FOR name IN (a, b));
SELECT COUNT(v) AS n FROM (SELECT age AS v FROM people UNION ALL SELECT NULL FROM people);
SELECT k, COUNT(*) AS n FROM (SELECT sex AS k FROM people UNION ALL SELECT NULL FROM people WHERE age < 50) GROUP BY k;
-- spark
SELECT w, COUNT(*) AS n FROM people LATERAL VIEW explode(array(age DIV 10, hours DIV 10)) t AS w GROUP BY w
-- plain
SELECT w, COUNT(*) FROM (SELECT unnest([age // 10, hours // 10]) AS w FROM people) GROUP BY w;
-- spark
SELECT w, COUNT(*) AS n FROM (SELECT explode(array(sex, region)) AS w FROM people) GROUP BY w
-- plain
SELECT w, COUNT(*) FROM (SELECT unnest([sex, region]) AS w FROM people) GROUP BY w;
-- snowflake
SELECT f.value::INT AS v, COUNT(*) AS n FROM people, LATERAL FLATTEN(INPUT => ARRAY_CONSTRUCT(age, hours)) f GROUP BY 1
-- plain
SELECT v, COUNT(*) FROM (SELECT unnest([age, hours]) AS v FROM people) GROUP BY 1;
-- tsql
SELECT v.k, SUM(v.x) AS n FROM people CROSS APPLY (VALUES ('age', age), ('hours', hours)) v(k, x) GROUP BY v.k
-- plain
SELECT k, SUM(x) FROM (SELECT 'age' AS k, age AS x FROM people UNION ALL SELECT 'hours', hours FROM people) GROUP BY k;
-- postgres
SELECT v.x, COUNT(*) AS n FROM people CROSS JOIN LATERAL (VALUES (sex), (region)) v(x) GROUP BY v.x
-- plain
SELECT x, COUNT(*) FROM (SELECT unnest([sex, region]) AS x FROM people) GROUP BY x;
-- bigquery
SELECT x, COUNT(*) AS n FROM people, UNNEST([sex, region]) AS x GROUP BY x
-- plain
SELECT x, COUNT(*) FROM (SELECT unnest([sex, region]) AS x FROM people) GROUP BY x;
-- snowflake
SELECT n, AVG(v) AS a FROM people UNPIVOT(v FOR n IN (hours, age)) GROUP BY n
-- plain
SELECT upper(n), AVG(v) FROM people UNPIVOT (v FOR n IN (hours, age)) GROUP BY n;
SELECT COUNT(*) AS n FROM events e JOIN (SELECT channel AS c, fee FROM sources ORDER BY channel LIMIT 3) s ON s.c = e.source;
SELECT s.f, COUNT(*) AS n FROM events e JOIN (SELECT MAX(fee) AS f FROM sources GROUP BY since) s ON s.f > e.score GROUP BY s.f;
SELECT p.sex, SUM(x.n) AS a, COUNT(*) AS c FROM people p, LATERAL (SELECT unnest([p.age, p.income]) AS n) x GROUP BY p.sex
