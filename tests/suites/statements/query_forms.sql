SELECT sex, region, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY ALL;
FROM people SELECT COUNT(*) AS n;
FROM people SELECT sex, AVG(age) AS a GROUP BY sex;
SELECT COUNT(*) AS n, AVG(double) AS d FROM (SELECT *, hours * 2 AS double FROM people) AS s;
SELECT sex, COUNT(*) AS n FROM (SELECT p.*, r.inhabitants FROM people p JOIN regions r ON p.region = r.region) AS s WHERE inhabitants > 500 GROUP BY sex;
SELECT COUNT(*) AS n FROM people NATURAL JOIN regions WHERE inhabitants > 500;
SELECT quantile_disc(age, [0.25, 0.5, 0.75]) AS q FROM people;
SELECT sex, quantile_disc(hours, [0.1, 0.9]) AS q FROM people GROUP BY sex;
SELECT COUNT(*) AS n FROM people, regions WHERE people.region = regions.region AND inhabitants < 800;
