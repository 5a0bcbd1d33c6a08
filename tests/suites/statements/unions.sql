SELECT 'all' AS who, COUNT(*) AS n FROM people UNION ALL SELECT 'adults', COUNT(*) FROM people WHERE age >= 18;
SELECT educ AS key, COUNT(*) AS n FROM people GROUP BY educ UNION ALL SELECT sex, COUNT(*) FROM people GROUP BY sex;
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ UNION ALL SELECT 'total', COUNT(*) FROM people ORDER BY n DESC;
SELECT COUNT(*) AS n FROM people UNION SELECT COUNT(*) FROM people WHERE sex IN ('F', 'M');
SELECT educ FROM (SELECT educ, COUNT(*) AS n FROM people GROUP BY educ) WHERE n > 300 INTERSECT SELECT educ FROM (SELECT educ, AVG(income) AS m FROM people GROUP BY educ) WHERE m > 100;
SELECT region FROM regions EXCEPT SELECT region FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) WHERE n > 10000;
SELECT who, n / 2 AS half FROM (SELECT 'people' AS who, COUNT(*) AS n FROM people UNION ALL SELECT 'visits', COUNT(*) FROM visits);
(SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC, educ LIMIT 1) UNION ALL (SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n, educ LIMIT 1);
SELECT region, inhabitants AS n FROM regions UNION ALL SELECT region, COUNT(*) FROM people GROUP BY region;
