SELECT year, AVG(COUNT(*)) OVER (ORDER BY year ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM people GROUP BY year;
SELECT year, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY year) AS change FROM people GROUP BY year ORDER BY year;
SELECT year, AVG(income) / LAG(AVG(income)) OVER (ORDER BY year) - 1 AS growth FROM people GROUP BY year;
SELECT year, LEAD(AVG(income), 1) OVER (ORDER BY year) AS next FROM people GROUP BY year;
SELECT sex, year, SUM(hours) AS h, SUM(SUM(hours)) OVER (PARTITION BY sex ORDER BY year) AS so_far FROM people GROUP BY sex, year;
WITH y AS (SELECT year, COUNT(*) AS n FROM people GROUP BY year) SELECT year, n, AVG(n) OVER (ORDER BY year ROWS 1 PRECEDING) AS two FROM y;
SELECT year, regr_slope(n, year) OVER (ORDER BY year) AS slope FROM (SELECT year, COUNT(*) AS n FROM people GROUP BY year);
SELECT v.ward, SUM(COUNT(*)) OVER (ORDER BY v.ward RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS near FROM visits v GROUP BY v.ward;
