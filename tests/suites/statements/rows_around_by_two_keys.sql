SELECT COUNT(*) AS n FROM people p WHERE p.age > (SELECT AVG(q.age) FROM people q WHERE q.educ = p.educ AND q.sex = p.sex);
SELECT p.sex, COUNT(*) AS n FROM people p WHERE p.hours > 1.1 * (SELECT AVG(q.hours) FROM people q WHERE q.region = p.region AND q.sex = p.sex AND q.age > 20) GROUP BY p.sex;
SELECT COUNT(*) AS n FROM people p JOIN (SELECT educ, region, AVG(age) AS m FROM people GROUP BY educ, region) e USING (educ, region) WHERE p.age > e.m;
WITH stats AS (SELECT year, sex, AVG(hours) AS m FROM people GROUP BY year, sex) SELECT p.sex, COUNT(*) AS n FROM people p JOIN stats s ON s.year = p.year AND s.sex = p.sex WHERE p.hours < s.m GROUP BY p.sex;
SELECT COUNT(*) AS n FROM people p WHERE (SELECT COUNT(*) FROM people q WHERE q.year = p.year AND q.educ = p.educ AND q.age > 50) > 40
