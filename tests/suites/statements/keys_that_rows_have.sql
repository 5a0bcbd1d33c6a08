SELECT DISTINCT educ FROM people WHERE age > 20;
SELECT DISTINCT region, sex FROM people WHERE hours > 3 ORDER BY ALL;
SELECT educ FROM people WHERE age < 50 GROUP BY educ ORDER BY educ DESC;
SELECT DISTINCT p.category FROM products p JOIN sales s USING (pid) WHERE p.cost < 10 AND s.qty > 1;
SELECT DISTINCT upper(educ) AS e FROM people WHERE income >= 10;
SELECT COUNT(*) FROM (SELECT DISTINCT educ, region FROM people WHERE age > 40);
SELECT educ FROM people WHERE sex = 'F' INTERSECT SELECT educ FROM people WHERE sex = 'M';
SELECT region FROM people EXCEPT SELECT region FROM people WHERE age > 3 AND region LIKE '%th';
SELECT channel FROM sales WHERE qty > 4 UNION SELECT source FROM sources WHERE fee > 6;
SELECT educ AS k FROM people WHERE age > 30 UNION SELECT region FROM people WHERE age > 30 ORDER BY k LIMIT 4;
SELECT region FROM regions EXCEPT SELECT region FROM people WHERE age > 10 AND region <> 'west';
SELECT region FROM regions WHERE region IN (SELECT region FROM people WHERE age > 30 AND region <> 'south');
SELECT source, fee FROM sources WHERE source NOT IN (SELECT channel FROM sales WHERE qty = 5);
SELECT source FROM sources s WHERE EXISTS (SELECT * FROM events e WHERE e.source = s.source AND e.amount > 0);
SELECT source FROM sources s WHERE NOT EXISTS (SELECT 1 FROM events WHERE source = s.source AND amount > -200);
SELECT pname FROM products p WHERE p.pid IN (SELECT s.pid FROM sales s WHERE s.channel = 'web') AND p.cost > 20;
SELECT COUNT(*), SUM(fee) FROM sources WHERE source IN (SELECT source FROM events WHERE mobile);
WITH bought AS (SELECT pid FROM sales WHERE store = 1) SELECT category, COUNT(*) FROM products WHERE pid IN (SELECT pid FROM bought) GROUP BY category;
SELECT category FROM products WHERE pid IN (SELECT pid FROM sales WHERE qty > 1 INTERSECT SELECT pid FROM sales WHERE qty = 1) GROUP BY category;
SELECT p.category, p.pname FROM products p WHERE NOT EXISTS (SELECT * FROM sales s, customers c WHERE c.cid = s.cid AND s.pid = p.pid AND c.country = 'DE') AND p.cost < 9
-- plain
SELECT p.category, p.pname FROM products p WHERE p.pid NOT IN (SELECT s.pid FROM sales s JOIN customers c USING (cid) WHERE c.country = 'DE') AND p.cost < 9;
SELECT person % 4 = 0 AS fourth, COUNT(*) AS n, COUNT(person) AS m FROM stays GROUP BY fourth;
SELECT CASE WHEN c.cid % 10 < 5 THEN 'a' ELSE 'b' END AS arm, s.cid IS NULL AS none, COUNT(*) AS n
FROM customers c LEFT JOIN sales s ON s.cid = c.cid AND s.qty > 4 GROUP BY arm, none
