SELECT year(day), month(day), quarter(day), COUNT(*) FROM stays GROUP BY ALL;
SELECT month(day), quarter(day), COUNT(*) FROM stays GROUP BY ALL;
SELECT month(day), COUNT(*) FROM stays GROUP BY ALL;
SELECT age // 10 AS d, age // 20 AS dd, COUNT(*) FROM people GROUP BY ALL;
SELECT educ, upper(educ) AS u, length(educ) AS l, COUNT(*) FROM people GROUP BY ALL;
SELECT source, source = 'web' AS w, coalesce(source, 'none') AS c, COUNT(*) FROM events GROUP BY ALL;
SELECT age % 7 AS r, COUNT(*) FROM people GROUP BY ALL;
SELECT day, dayofweek(day) AS w, COUNT(*) FROM stays GROUP BY ALL;
SELECT month(day) AS m, quarter(day) AS q, COUNT(*) FROM stays WHERE day >= '2023-02-01' GROUP BY ALL;
SELECT month(day) AS m, quarter(day) AS q, COUNT(*) FROM stays GROUP BY ROLLUP (q, m);
SELECT sex, age // 50 AS a, CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS g, COUNT(*) FROM people GROUP BY ALL;
SELECT sex, age // 50 AS a, CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS g, AVG(income) FROM people GROUP BY ALL;
SELECT change, change > 0 AS up, COUNT(*) FROM events GROUP BY ALL;

SELECT age, age - 1, age - 2, age - 3, COUNT(*) AS c FROM people GROUP BY age, age - 1, age - 2, age - 3 ORDER BY c DESC, 1 LIMIT 10;
SELECT age, hours, age // 10 AS d, age % 10 AS e, COUNT(*) AS n FROM people WHERE hours < 3 GROUP BY ALL HAVING COUNT(*) > 0;
SELECT strftime(d, '%Y-%m') AS m, strftime(d, '%a') AS a, COUNT(*) AS n FROM odd GROUP BY ALL HAVING COUNT(*) > 0;
