SELECT DISTINCT COUNT(*) OVER () AS n FROM people WHERE age > 20;
SELECT DISTINCT region, AVG(age) OVER (PARTITION BY region) AS m FROM people;
SELECT DISTINCT region, AVG(age) OVER (PARTITION BY region) - AVG(hours) OVER (PARTITION BY region) AS m FROM people
WHERE age > 5 ORDER BY m;
SELECT DISTINCT region, sex, SUM(age) OVER (PARTITION BY sex, region) AS m FROM people;
SELECT AVG(age) OVER () AS m FROM people LIMIT 1;
SELECT DISTINCT region, COUNT(*) FILTER (WHERE age > 50) OVER (PARTITION BY region) AS n FROM people;
SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT person, MAX(ward) OVER (PARTITION BY person) AS ward FROM visits) AS q
GROUP BY ward HAVING COUNT(*) > 0;
