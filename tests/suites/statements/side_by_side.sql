SELECT (SELECT COUNT(*) FROM people) AS n, (SELECT AVG(income) FROM people) AS m;
SELECT (SELECT COUNT(*) FROM people WHERE sex = 'F') * 100.0 / (SELECT COUNT(*) FROM people) AS percent;
SELECT (SELECT COUNT(*) FROM people) AS people, (SELECT COUNT(*) FROM visits) AS visits;
SELECT (SELECT AVG(income) FROM people WHERE sex = 'M') - (SELECT AVG(income) FROM people WHERE sex = 'F') AS gap;
SELECT (SELECT COUNT(*) FROM people) > (SELECT SUM(inhabitants) FROM regions) AS more;
SELECT round((SELECT SUM(hours) FROM people) / (SELECT COUNT(*) FROM people), 1) AS mean_hours;
SELECT region, inhabitants / (SELECT COUNT(*) FROM people) AS ratio FROM regions;
SELECT educ, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS share FROM people GROUP BY educ;
SELECT a.n, b.n AS adults FROM (SELECT COUNT(*) AS n FROM people) a, (SELECT COUNT(*) AS n FROM people WHERE age >= 18) b;
