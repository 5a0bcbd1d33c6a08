PIVOT people ON sex USING COUNT(*) GROUP BY educ;
PIVOT people ON sex USING COUNT(*) AS n, AVG(income) AS m GROUP BY educ;
PIVOT (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) ON sex USING SUM(n);
SELECT * FROM (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) PIVOT (SUM(n) FOR sex IN ('F', 'M'));
WITH w AS (SELECT year, sex, AVG(income) AS m FROM people GROUP BY year, sex) PIVOT w ON sex USING first(m);
SELECT educ, SUM(n) FILTER (WHERE sex = 'F') AS f, SUM(n) FILTER (WHERE sex = 'M') AS m FROM (SELECT educ, sex, COUNT(*) AS n FROM people GROUP BY educ, sex) GROUP BY educ;
UNPIVOT (SELECT COUNT(*) AS n, SUM(hours) AS h FROM people) ON n, h;
