SELECT COUNT(*) AS n FROM stays WHERE arrived > TIMESTAMP '2023-02-01' + INTERVAL '3 days 12 hours';
SELECT COUNT(*) AS n FROM stays WHERE arrived - INTERVAL '1 day 6 hours 30 minutes' < day + INTERVAL '-2 days 1 month';
SELECT date_part('day', TIMESTAMP '2023-04-05 06:00:00' - arrived) AS d, COUNT(*) AS n FROM stays GROUP BY d HAVING n > 0;
SELECT AVG(extract(day FROM arrived - TIMESTAMP '2023-02-15 12:00:00')) AS a FROM stays;
SELECT COUNT(*) AS n FROM stays WHERE day(day - 3) = 1 OR date_part('day', day - INTERVAL 1 DAY) = 7;
-- postgres
SELECT AVG(extract(day from '2023-04-05 06:00:00'::timestamp - arrived)) AS a FROM stays WHERE arrived > '2023-02-01'::timestamp + interval '1 day 6 hours'
-- plain
SELECT AVG(date_sub('day', arrived, TIMESTAMP '2023-04-05 06:00:00')) AS a FROM stays WHERE arrived > TIMESTAMP '2023-02-02 06:00:00';
-- postgres
SELECT btrim(region) AS r, COUNT(*) AS n FROM people WHERE educ = ANY (ARRAY['none', 'school']::varchar[]) GROUP BY 1
-- plain
SELECT region AS r, COUNT(*) AS n FROM people WHERE educ IN ('none', 'school') GROUP BY 1;
-- bigquery
SELECT DATE_TRUNC(day, WEEK(MONDAY)) AS w, DATE_TRUNC(day, ISOWEEK) AS i, COUNT(*) AS n FROM stays GROUP BY w, i HAVING n > 0
-- plain
SELECT date_trunc('week', day) AS w, date_trunc('week', day) AS i, COUNT(*) AS n FROM stays GROUP BY w, i;
-- bigquery
SELECT EXTRACT(DATE FROM arrived) AS d, COUNT(*) AS n FROM stays WHERE arrived < TIMESTAMP '2023-01-05 00:00:00' GROUP BY d HAVING n > 0
-- plain
SELECT arrived::DATE AS d, COUNT(*) AS n FROM stays WHERE arrived < TIMESTAMP '2023-01-05' GROUP BY d;
-- snowflake
SELECT DATE_TRUNC('week', day) AS w, DAYOFWEEK(day) AS d, WEEK(day) AS i, COUNT(*) AS n FROM stays GROUP BY w, d, i HAVING n > 0
-- plain
SELECT date_trunc('week', day) AS w, dayofweek(day) AS d, week(day) AS i, COUNT(*) AS n FROM stays GROUP BY w, d, i;
-- snowflake
SELECT TRUNC(AVG(income)) AS a, COUNT(*) AS n FROM people
-- plain
SELECT trunc(AVG(income)) AS a, COUNT(*) AS n FROM people;
-- mysql
SELECT UCASE(region) AS u, LCASE(sex) AS l, COUNT(*) AS n FROM people GROUP BY u, l
-- plain
SELECT upper(region) AS u, lower(sex) AS l, COUNT(*) AS n FROM people GROUP BY u, l;
-- mysql
SELECT COUNT(*) AS n FROM stays WHERE day >= '2023-03-31' - INTERVAL 1 MONTH AND day < '2023-03-01' + INTERVAL 10 DAY
-- plain
SELECT COUNT(*) AS n FROM stays WHERE day >= DATE '2023-02-28' AND day < DATE '2023-03-11';
-- tsql
SELECT region + '/' + sex AS k, LEN(region) AS l, COUNT(*) AS n FROM people WITH (NOLOCK) GROUP BY region + '/' + sex, LEN(region) HAVING COUNT(*) > 0
-- plain
SELECT region || '/' || sex AS k, length(region) AS l, COUNT(*) AS n FROM people GROUP BY ALL;
-- tsql
SELECT SUM(age + hours) AS s, '<' + region + '>' AS r FROM people AS p WITH (NOLOCK) GROUP BY '<' + region + '>'
-- plain
SELECT SUM(age + hours) AS s, '<' || region || '>' AS r FROM people AS p GROUP BY ALL;
-- spark
SELECT add_months(day, 1) AS d, COUNT(*) AS n FROM stays WHERE day BETWEEN DATE'2023-01-29' AND DATE'2023-02-01' GROUP BY d HAVING n > 0
-- plain
SELECT (day + INTERVAL 1 MONTH)::DATE AS d, COUNT(*) AS n FROM stays WHERE day BETWEEN DATE '2023-01-29' AND DATE '2023-02-01' GROUP BY d;
-- bigquery
SELECT DATE_ADD(sold, INTERVAL 7 DAY) AS d, COUNT(*) AS n FROM sales
WHERE sold <= DATE_SUB('2022-01-05', INTERVAL 1 DAY) GROUP BY d
-- plain
SELECT (sold + INTERVAL 7 DAY)::DATE AS d, COUNT(*) AS n FROM sales WHERE sold <= '2022-01-04'
GROUP BY d;
