SELECT COUNT(*) AS n FROM people p JOIN (SELECT educ, AVG(age) AS m FROM people GROUP BY educ) e ON e.educ = p.educ WHERE p.age > e.m;
SELECT COUNT(*) AS n FROM people p JOIN (SELECT educ, AVG(age) AS m FROM people GROUP BY educ) e USING (educ) WHERE p.age > e.m + 5;
WITH means AS (SELECT region, AVG(hours) AS m, COUNT(*) AS k FROM people GROUP BY region) SELECT p.sex, COUNT(*) AS n FROM people p JOIN means ON means.region = p.region WHERE p.hours > means.m GROUP BY p.sex;
SELECT p.region, AVG(p.hours - m.a) AS d FROM people p LEFT JOIN (SELECT region, AVG(hours) AS a FROM people WHERE age > 30 GROUP BY region) m ON m.region = p.region GROUP BY p.region;
WITH stats AS (SELECT educ, AVG(hours) AS m, STDDEV(hours) AS sd FROM people GROUP BY educ) SELECT p.educ, COUNT(*) AS far FROM people p JOIN stats s ON p.educ = s.educ WHERE abs(p.hours - s.m) > 1.2 * s.sd GROUP BY p.educ;
SELECT p.educ, COUNT(*) AS n FROM people p JOIN (SELECT educ, sex, AVG(age) AS m FROM people GROUP BY 1, 2) e ON e.educ = p.educ AND e.sex = p.sex WHERE p.age > e.m GROUP BY p.educ
