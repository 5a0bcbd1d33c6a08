SELECT COUNT(*) // 10 AS c, COUNT(age) // 7 * 7 AS d FROM people;
SELECT year // 10 AS decade, COUNT(*) FROM people GROUP BY year;
SELECT fee, AVG(fee) AS a, MAX(fee) AS m, COUNT(*) FROM events JOIN sources USING (source) GROUP BY fee HAVING COUNT(*) > 0;
SELECT cost, AVG(cost) AS a, MIN(cost) AS m, SUM(qty) FROM sales JOIN products USING (pid) GROUP BY cost;
SELECT year AS y, MEDIAN(year) AS m, MIN(y) AS x, SUM(age) AS s FROM people GROUP BY year;
SELECT floor(income / 500) AS k, COUNT(*) AS n, AVG(floor(income / 500)) AS a FROM people GROUP BY k HAVING n > 0;
SELECT year, COUNT(*) AS n, MAX(year) AS m FROM people GROUP BY ROLLUP (year)
