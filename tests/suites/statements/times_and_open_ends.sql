SELECT hour(wakes) AS h, COUNT(*) AS n FROM members GROUP BY h;
SELECT hour(wakes) AS h, minute(wakes) // 30 AS half, COUNT(*) AS n FROM members WHERE wakes IS NOT NULL GROUP BY ALL;
SELECT COUNT(*) AS n FROM members WHERE wakes BETWEEN TIME '05:30' AND TIME '06:15:00';
SELECT hour(wakes) AS h, COUNT(*) AS n FROM members WHERE wakes >= TIME '06:00:00' GROUP BY h;
SELECT hour(wakes) AS h, COUNT(*) AS n FROM members WHERE wakes < TIME '07:00:00' GROUP BY h;
SELECT hour(wakes) AS h, COUNT(*) AS n FROM members WHERE wakes > TIME '05:59:59.999999' GROUP BY h;
SELECT COUNT(DISTINCT wakes) AS n, AVG(hour(wakes)) AS a FROM members;
SELECT floor(income) AS k, COUNT(*) AS n FROM people WHERE income < 25 GROUP BY k HAVING n > 0;
SELECT floor(income / 100) * 100 AS k, COUNT(*) AS n FROM people WHERE income < 500 GROUP BY k;
SELECT ceil(income / 250) AS k, COUNT(*) AS n FROM people WHERE income > 250 GROUP BY k;
SELECT CAST(floor(income / 10) AS INTEGER) AS k, SUM(hours) AS s FROM people WHERE income < 100 AND income >= 50 GROUP BY k;
SELECT COUNT(*) AS n FROM (SELECT DISTINCT educ, year FROM people WHERE educ = 'none' OR year = 2020);
SELECT COUNT(*) AS n FROM (SELECT DISTINCT sex, age // 50 AS half FROM people WHERE age < 50);
SELECT sex, COUNT(*) AS n FROM (SELECT DISTINCT sex, region FROM people) GROUP BY sex;
WITH d AS (SELECT DISTINCT channel, qty FROM sales WHERE qty > 3) SELECT COUNT(*) AS n, MAX(qty) AS m FROM d;
SELECT COUNT(*) AS n FROM (SELECT step, source FROM events GROUP BY step, source)
