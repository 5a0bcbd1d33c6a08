SELECT date_trunc('month', arrived) AS m, COUNT(*) AS n FROM stays
WHERE arrived >= CAST('2023-02-01' AS DATE)
    AND arrived < date_trunc('month', CAST('2023-02-20' AS TIMESTAMP) + INTERVAL '1 month')
GROUP BY m;
SELECT day, COUNT(*) AS n FROM stays
WHERE day BETWEEN date_trunc('month', DATE '2023-02-09') AND last_day(DATE '2023-02-09')
GROUP BY day;
SELECT ward, day - DATE '2022-12-31' AS number, COUNT(*) AS n FROM stays
WHERE day IN ('2023-01-05', '2023-03-05') GROUP BY number, ward HAVING COUNT(*) > 0;
SELECT age / 10 AS tenth, COUNT(*) AS n FROM people WHERE age IN (20, 45, 70) GROUP BY tenth;
SELECT income * 2 AS twice, COUNT(*) AS n FROM people WHERE income IN (100, 101, 333) GROUP BY twice;
SELECT date_diff('day', day, DATE '2023-04-01') / 10 AS tens, COUNT(*) AS n FROM stays
WHERE day IN ('2023-01-05', '2023-03-05') GROUP BY tens;
SELECT upper(source) AS u, COUNT(*) AS n FROM events WHERE source IN ('web', 'app') GROUP BY u;
SELECT upper(source) AS u, COUNT(*) AS n FROM events WHERE source = 'web' OR source IS NULL GROUP BY u;
SELECT ward * 2 - 1 AS odd, COUNT(*) AS n FROM stays WHERE ward = 2 OR ward = 3 GROUP BY odd;
SELECT width_bucket(income, 0, 900, 3) AS third, COUNT(*) AS n FROM people
WHERE income >= 0 AND income < 900 GROUP BY third
-- plain
SELECT 1 + floor(income / 300) AS third, COUNT(*) AS n FROM people WHERE income < 900 GROUP BY third;
SELECT width_bucket(age, 0, 200, 10) AS part, AVG(hours) AS h FROM people GROUP BY part
-- plain
SELECT 1 + age // 20 AS part, AVG(hours) AS h FROM people GROUP BY part
