PIVOT people ON sex USING COUNT(*) GROUP BY educ;
PIVOT people ON sex USING COUNT(*) AS n, AVG(income) AS m GROUP BY educ;
PIVOT (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) ON sex USING SUM(n);
SELECT * FROM (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) PIVOT (SUM(n) FOR sex IN ('F', 'M'));
WITH w AS (SELECT year, sex, AVG(income) AS m FROM people GROUP BY year, sex) PIVOT w ON sex USING first(m);
SELECT educ, SUM(n) FILTER (WHERE sex = 'F') AS f, SUM(n) FILTER (WHERE sex = 'M') AS m FROM (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) GROUP BY educ;
UNPIVOT (SELECT COUNT(*) AS n, SUM(hours) AS h FROM people) ON n, h;
SELECT * FROM (SELECT educ, sex, income FROM people) PIVOT (AVG(income) FOR sex IN ('F', 'M'));
SELECT * FROM (SELECT educ, sex, income FROM people) PIVOT (AVG(income) AS a, COUNT(*) AS n FOR sex IN ('F', 'M'));
SELECT * FROM people PIVOT (COUNT(*) FOR sex IN ('F', 'M') GROUP BY educ);
SELECT p.educ, p.M - p.F AS d FROM (SELECT educ, sex, income FROM people) PIVOT (SUM(income) FOR sex IN ('F', 'M')) AS p ORDER BY 1;
SELECT * FROM (SELECT sex, age FROM people) PIVOT (AVG(age) FOR sex IN ('F', 'M'));
SELECT * FROM (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY ALL) PIVOT (SUM(n) FOR sex IN ('F', 'M'));
PIVOT (SELECT sex, region FROM people) ON region USING COUNT(*) GROUP BY sex ORDER BY sex DESC;
PIVOT people ON sex USING AVG(age) AS a GROUP BY region ORDER BY region LIMIT 2 OFFSET 1;
UNPIVOT (SELECT COUNT(*) AS a, SUM(age) AS b FROM people) ON a, b INTO NAME n VALUE v ORDER BY v DESC LIMIT 1;
SELECT name, COUNT(*) AS n, COUNT(value) AS m, SUM(value) AS s
FROM sales UNPIVOT INCLUDE NULLS (value FOR name IN (qty, discount)) GROUP BY name;
SELECT name, value FROM (SELECT SUM(qty) AS q, SUM(price) FILTER (WHERE qty > 90) AS none FROM sales)
UNPIVOT INCLUDE NULLS (value FOR name IN (q, none))
