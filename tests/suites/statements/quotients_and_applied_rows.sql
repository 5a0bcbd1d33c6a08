-- postgres
SELECT region, SUM(income) / COUNT(*) AS mean FROM people GROUP BY region;
-- postgres
SELECT SUM(price) FILTER (WHERE channel = 'web') / SUM(price) AS share FROM sales;
-- postgres
SELECT channel, COALESCE(SUM(price), 0) / NULLIF(COUNT(*), 0) AS mean FROM sales GROUP BY channel;
-- postgres
SELECT channel, SUM(price) / SUM(SUM(price)) OVER () AS share FROM sales GROUP BY channel;
-- postgres
WITH a AS (SELECT channel, SUM(price) AS p, COUNT(*) AS n FROM sales GROUP BY channel) SELECT SUM(p) / SUM(n) AS mean FROM a;
-- postgres
SELECT AVG(m) AS mean FROM (SELECT cid, SUM(price) / COUNT(*) AS m FROM sales GROUP BY cid) t;
-- postgres
SELECT SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END) / COUNT(*) AS share FROM people
-- plain
SELECT 0;
-- tsql
SELECT sex, SUM(income) / COUNT(*) AS mean FROM people GROUP BY sex;
-- tsql
SELECT sex, SUM(age) / COUNT(*) AS mean FROM people GROUP BY sex
-- plain
SELECT sex, SUM(age) // COUNT(*) FROM people GROUP BY sex;
-- trino
SELECT sex, SUM(age) / COUNT(*) AS mean FROM people GROUP BY sex
-- plain
SELECT sex, SUM(age) // COUNT(*) FROM people GROUP BY sex;
-- sqlite
SELECT SUM(income) / SUM(hours) AS r FROM people;
-- tsql
SELECT s.city, x.n FROM stores s CROSS APPLY (SELECT COUNT(*) AS n FROM sales v WHERE v.store = s.store) x
-- plain
SELECT city, COUNT(*) FROM stores JOIN sales USING (store) GROUP BY city;
-- tsql
SELECT s.city, x.n, x.m FROM stores s OUTER APPLY (SELECT COUNT(*) AS n, AVG(v.price) AS m FROM sales v WHERE v.store = s.store) x
-- plain
SELECT city, COUNT(*), AVG(price) FROM stores JOIN sales USING (store) GROUP BY city;
-- snowflake
SELECT ADD_MONTHS(day, 1) AS d, COUNT(*) AS n FROM stays WHERE day BETWEEN '2023-01-29' AND '2023-02-28' GROUP BY d
-- plain
SELECT CASE WHEN day = last_day(day) THEN last_day((day + INTERVAL 1 MONTH)::DATE) ELSE (day + INTERVAL 1 MONTH)::DATE END AS d, COUNT(*) FROM stays WHERE day BETWEEN '2023-01-29' AND '2023-02-28' GROUP BY d;
-- snowflake
SELECT COUNT(*) AS n FROM stays WHERE ADD_MONTHS(day, -1) = '2023-01-31'
-- plain
SELECT COUNT(*) FROM stays WHERE day = '2023-02-28';
-- snowflake
SELECT DATE_PART(week, day) AS w, COUNT(*) AS n FROM stays GROUP BY w
-- plain
SELECT week(day), COUNT(*) FROM stays GROUP BY ALL;
-- mysql
SELECT EXTRACT(YEAR_MONTH FROM day) AS ym, COUNT(*) AS n FROM stays GROUP BY ym
-- plain
SELECT year(day) * 100 + month(day), COUNT(*) FROM stays GROUP BY ALL
