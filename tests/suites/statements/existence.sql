SELECT EXISTS (SELECT * FROM people WHERE age > 50) AS e;
SELECT EXISTS (SELECT 1 FROM people WHERE age > 120) AS e;
SELECT NOT EXISTS (SELECT 1 FROM sales WHERE channel = 'web') AS e;
SELECT EXISTS (SELECT 1 FROM customers c JOIN sales s USING (cid) WHERE c.country = 'DE' AND s.qty > 2) AS e, (SELECT COUNT(*) FROM people) AS n;
SELECT CASE WHEN EXISTS (SELECT id FROM visits WHERE ward = 1 LIMIT 1) THEN 'yes' ELSE 'no' END AS answer;
SELECT region FROM regions WHERE EXISTS (SELECT 1 FROM people WHERE age > 90) AND inhabitants > 500;
SELECT region FROM regions WHERE NOT EXISTS (SELECT 1 FROM people WHERE age > 90)
;
SELECT 1 AS one FROM people WHERE people.educ = 'none' LIMIT 1;
SELECT 1 AS one FROM people WHERE people.age > 120 LIMIT 1;
SELECT (1) AS "a" FROM customers c JOIN sales s ON s.cid = c.cid WHERE c.country = 'DE' AND s.qty > 2 ORDER BY c.country LIMIT 1;
SELECT sex, COUNT(*) AS n FROM people WHERE EXISTS (SELECT 1 FROM people x WHERE x.age > 50) GROUP BY sex;
SELECT AVG(age) AS a FROM people WHERE sex = 'F' AND NOT EXISTS (SELECT * FROM people WHERE age > 99);
SELECT COUNT(*) FILTER (WHERE NOT EXISTS (SELECT * FROM people WHERE age > 99)) AS n FROM people
