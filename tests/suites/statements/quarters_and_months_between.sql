-- postgres
SELECT to_char(arrived, 'YYYY-"Q"Q') AS q, COUNT(*) AS n FROM stays GROUP BY q HAVING COUNT(*) > 0
-- plain
SELECT year(arrived) || '-Q' || quarter(arrived) AS q, COUNT(*) AS n FROM stays GROUP BY q;
-- postgres
SELECT to_char(arrived, 'Q') AS q, COUNT(*) AS n FROM stays GROUP BY q HAVING COUNT(*) > 0
-- plain
SELECT quarter(arrived)::VARCHAR AS q, COUNT(*) AS n FROM stays GROUP BY q;
-- oracle
SELECT TO_CHAR(sold, 'YYYY-Q') AS q, COUNT(*) AS n FROM sales GROUP BY TO_CHAR(sold, 'YYYY-Q') HAVING COUNT(*) > 0
-- plain
SELECT year(sold) || '-' || quarter(sold) AS q, COUNT(*) AS n FROM sales GROUP BY q;
-- bigquery
SELECT FORMAT_DATE('%Y-Q%Q', sold) AS q, COUNT(*) AS n FROM sales GROUP BY q HAVING n > 0
-- plain
SELECT year(sold) || '-Q' || quarter(sold) AS q, COUNT(*) AS n FROM sales GROUP BY q;
-- spark
SELECT date_format(sold, "yyyy-'Q'Q") AS q, COUNT(*) AS n FROM sales GROUP BY q HAVING n > 0
-- plain
SELECT year(sold) || '-Q' || quarter(sold) AS q, COUNT(*) AS n FROM sales GROUP BY q;
-- snowflake
SELECT MONTHS_BETWEEN('2024-02-29'::DATE, sold) AS m, COUNT(*) AS n FROM sales WHERE sold >= '2023-10-01' GROUP BY m HAVING n > 0
-- plain
SELECT date_diff('month', sold, DATE '2024-02-29') + CASE WHEN day(sold) = 29 OR sold = last_day(sold) THEN 0 ELSE (29 - day(sold)) / 31 END AS m, COUNT(*) AS n FROM sales WHERE sold >= '2023-10-01' GROUP BY m;
-- spark
SELECT floor(months_between(DATE '2024-01-01', sold)) AS m, COUNT(*) AS n FROM sales GROUP BY m HAVING n > 0
-- plain
SELECT date_sub('month', sold, DATE '2024-01-01') AS m, COUNT(*) AS n FROM sales GROUP BY m;
-- oracle
SELECT AVG(MONTHS_BETWEEN(TIMESTAMP '2024-01-01 00:00:00', arrived)) AS m FROM stays
-- plain
SELECT AVG(date_diff('month', arrived, TIMESTAMP '2024-01-01') + CASE WHEN day(arrived) = 1 THEN 0 ELSE (1 - day(arrived) - (epoch(arrived) - epoch(date_trunc('day', arrived))) / 86400) / 31 END) FROM stays;
-- oracle
SELECT COUNT(*) AS n FROM stays WHERE arrived >= TIMESTAMP '2023-02-01 12:00:00'
-- plain
SELECT COUNT(*) AS n FROM stays WHERE arrived >= TIMESTAMP '2023-02-01 12:00:00';
-- bigquery
SELECT RANGE_BUCKET(age, [18, 40, 65]) AS b, COUNT(*) AS n FROM people GROUP BY b HAVING n > 0
-- plain
SELECT CASE WHEN age < 18 THEN 0 WHEN age < 40 THEN 1 WHEN age < 65 THEN 2 ELSE 3 END AS b, COUNT(*) AS n FROM people GROUP BY b;
-- bigquery
SELECT DATE_TRUNC(sold, MONTH) AS m, COUNT(*) AS n FROM sales GROUP BY m HAVING n > 0
-- plain
SELECT date_trunc('month', sold)::DATE AS m, COUNT(*) AS n FROM sales GROUP BY m
