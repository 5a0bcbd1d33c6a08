SELECT a.educ, a.n, b.n AS f FROM (SELECT educ, COUNT(*) AS n FROM people GROUP BY educ) a JOIN (SELECT educ, COUNT(*) AS n FROM people WHERE sex = 'F' GROUP BY educ) b USING (educ);
WITH a AS (SELECT year, AVG(income) AS m FROM people GROUP BY year), b AS (SELECT year, COUNT(*) AS n FROM people GROUP BY year) SELECT * FROM a NATURAL JOIN b;
SELECT w.region, w.n * 1000.0 / r.inhabitants AS per_thousand FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) w JOIN regions r USING (region);
WITH w AS (SELECT year, COUNT(*) AS n FROM people GROUP BY year) SELECT x.year, x.n - y.n AS change FROM w x LEFT JOIN w y ON y.year = x.year - 1;
WITH w AS (SELECT educ, AVG(income) AS m FROM people GROUP BY educ) SELECT a.educ, b.educ AS than, a.m - b.m AS gap FROM w a, w b WHERE a.educ < b.educ;
SELECT r.region, coalesce(w.n, 0) AS n FROM regions r LEFT JOIN (SELECT region, COUNT(*) AS n FROM people WHERE age > 90 GROUP BY region) w ON w.region = r.region;
WITH w AS (SELECT educ, COUNT(*) AS n FROM people GROUP BY educ) SELECT educ FROM w WHERE n = (SELECT MAX(n) FROM w);
