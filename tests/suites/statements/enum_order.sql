SELECT MIN(step) AS a, MAX(step) AS b FROM events;
SELECT source, MIN(step) AS a, MAX(step) AS b FROM events GROUP BY source;
SELECT step, COUNT(*) AS n, RANK() OVER (ORDER BY step) AS r FROM events GROUP BY step;
SELECT MAX(step) AS s FROM (SELECT step, COUNT(*) AS n FROM events WHERE change > 2 GROUP BY step HAVING n > 0) AS x;
SELECT list(step ORDER BY step) AS s FROM (SELECT step, COUNT(*) AS n FROM events GROUP BY step) AS x WHERE n > 0;
SELECT step FROM (SELECT step, COUNT(*) AS n FROM events GROUP BY step) AS x ORDER BY step DESC LIMIT 1;
SELECT step, SUM(COUNT(*)) OVER (ORDER BY step) AS up_to FROM events GROUP BY step;
SELECT step, n FROM (SELECT step, COUNT(*) AS n FROM events GROUP BY step) AS x WHERE step > 'seen';
