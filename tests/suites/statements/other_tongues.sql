-- postgres
SELECT extract(year from sold)::int AS y, channel, sum(qty) FROM sales GROUP BY y, channel ORDER BY y, channel
-- plain
SELECT year(sold)::int AS y, channel, sum(qty) FROM sales GROUP BY y, channel ORDER BY y, channel;
-- postgres
SELECT count(*) FILTER (WHERE employed) * 1.0 / nullif(count(*), 0) AS rate FROM people
-- plain
SELECT count(*) FILTER (WHERE employed) * 1.0 / nullif(count(*), 0) AS rate FROM people;
-- postgres
SELECT to_char(sold, 'YYYY-MM') AS ym, count(*) AS n FROM sales WHERE sold >= '2023-01-01'::date GROUP BY ym HAVING count(*) > 0 ORDER BY ym
-- plain
SELECT strftime(sold, '%Y-%m') AS ym, count(*) AS n FROM sales WHERE sold >= '2023-01-01'::date GROUP BY ym ORDER BY ym;
-- postgres
SELECT CASE WHEN age >= 65 THEN 'senior' WHEN age >= 18 THEN 'adult' ELSE 'minor' END AS grp, count(*) FROM people GROUP BY grp ORDER BY grp
-- plain
SELECT CASE WHEN age >= 65 THEN 'senior' WHEN age >= 18 THEN 'adult' ELSE 'minor' END AS grp, count(*) FROM people GROUP BY grp ORDER BY grp;
-- postgres
SELECT DISTINCT ON (sex) sex, educ, count(*) AS n FROM people GROUP BY sex, educ ORDER BY sex, n DESC
-- plain
SELECT DISTINCT ON (sex) sex, educ, count(*) AS n FROM people GROUP BY sex, educ ORDER BY sex, n DESC;
-- postgres
SELECT count(*) FROM people WHERE educ ~* '^(school|col)' AND region !~ 'w'
-- plain
SELECT count(*) FROM people WHERE regexp_matches(educ, '^(school|col)','i') AND NOT regexp_matches(region, 'w');
-- postgres
SELECT string_agg(DISTINCT region, ', ' ORDER BY region) FROM people
-- plain
SELECT string_agg(DISTINCT region, ', ' ORDER BY region) FROM people;
-- postgres
SELECT sum(qty * price) / sum(qty) AS wavg, stddev_samp(price), variance(price) FROM sales
-- plain
SELECT sum(qty * price) / sum(qty) AS wavg, stddev_samp(price), variance(price) FROM sales;
-- postgres
SELECT region, avg(income)::float8 AS m, avg(avg(income)) OVER () AS o FROM people GROUP BY region ORDER BY region
-- plain
SELECT region, avg(income) AS m, avg(avg(income)) OVER () AS o FROM people GROUP BY region ORDER BY region;
-- postgres
SELECT bool_or(employed), bool_and(employed), every(age >= 0) FROM people
-- plain
SELECT bool_or(employed), bool_and(employed), bool_and(age >= 0) FROM people;
-- postgres
SELECT substring(educ from 1 for 2) AS s, char_length(educ) AS l, count(*) FROM people GROUP BY 1, 2 ORDER BY 1
-- plain
SELECT substring(educ, 1, 2) AS s, length(educ) AS l, count(*) FROM people GROUP BY 1, 2 ORDER BY 1;
-- bigquery
SELECT DATE_TRUNC(sold, MONTH) AS m, COUNTIF(qty > 2) AS big, SAFE_DIVIDE(SUM(price), COUNT(*)) AS avg_price FROM `sales` GROUP BY m ORDER BY m
-- plain
SELECT date_trunc('month', sold)::DATE AS m, count_if(qty > 2) AS big, sum(price)/count(*) AS avg_price FROM sales GROUP BY m ORDER BY m;
-- bigquery
SELECT EXTRACT(ISOWEEK FROM sold) AS w, COUNT(*) AS n FROM sales WHERE EXTRACT(YEAR FROM sold) = 2022 GROUP BY w HAVING n > 0 ORDER BY w
-- plain
SELECT week(sold) AS w, COUNT(*) AS n FROM sales WHERE year(sold) = 2022 GROUP BY w ORDER BY w;
-- bigquery
SELECT FORMAT_DATE('%Y-%m', sold) AS ym, SUM(qty) AS q FROM sales GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1
-- plain
SELECT strftime(sold, '%Y-%m') AS ym, SUM(qty) AS q FROM sales GROUP BY 1 ORDER BY 1;
-- bigquery
SELECT IF(employed, 'yes', 'no') AS e, APPROX_COUNT_DISTINCT(region) AS r, COUNT(DISTINCT IF(age > 50, educ, NULL)) AS d FROM people GROUP BY e ORDER BY e
-- plain
SELECT IF(employed, 'yes', 'no') AS e, count(distinct region) AS r, COUNT(DISTINCT IF(age > 50, educ, NULL)) AS d FROM people GROUP BY e ORDER BY e;
-- bigquery
SELECT * EXCEPT (n2) FROM (SELECT sex, COUNT(*) AS n, COUNT(*) * 2 AS n2 FROM people GROUP BY sex) ORDER BY sex
-- plain
SELECT sex, COUNT(*) n FROM people GROUP BY sex ORDER BY sex;
-- bigquery
SELECT sex, n, SUM(n) OVER (ORDER BY sex ROWS UNBOUNDED PRECEDING) AS run FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) ORDER BY sex
-- plain
SELECT sex, n, SUM(n) OVER (ORDER BY sex ROWS UNBOUNDED PRECEDING) AS run FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) ORDER BY sex;
-- bigquery
SELECT region, AVG(income) AS m FROM people WHERE educ IN UNNEST(['school', 'college']) GROUP BY region ORDER BY m DESC
-- plain
SELECT region, AVG(income) AS m FROM people WHERE educ IN ('school', 'college') GROUP BY region ORDER BY m DESC;
-- bigquery
SELECT CAST(age / 10 AS INT64) AS d, COUNT(1) AS n FROM people GROUP BY d ORDER BY d
-- plain
SELECT (CASE WHEN age%10>=5 THEN age//10+1 ELSE age//10 END)::BIGINT AS d, COUNT(1) AS n FROM people GROUP BY d ORDER BY d;
-- bigquery
SELECT DATE_DIFF(DATE '2024-01-01', sold, MONTH) AS months, COUNT(*) AS n FROM sales GROUP BY months HAVING n > 0 ORDER BY months
-- plain
SELECT date_diff('month', sold, DATE '2024-01-01') AS months, COUNT(*) AS n FROM sales GROUP BY months ORDER BY months;
-- bigquery
SELECT TIMESTAMP_TRUNC(seen, DAY) AS d, COUNT(*) AS n FROM logins GROUP BY d HAVING n > 0 ORDER BY d
-- plain
SELECT date_trunc('day', seen) AS d, COUNT(*) AS n FROM logins GROUP BY d ORDER BY d;
-- bigquery
SELECT STRING_AGG(DISTINCT region ORDER BY region) AS r, ARRAY_AGG(DISTINCT sex ORDER BY sex) AS s FROM people
-- plain
SELECT string_agg(DISTINCT region, ',' ORDER BY region) AS r, list(DISTINCT sex ORDER BY sex) AS s FROM people;
-- bigquery
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex QUALIFY RANK() OVER (ORDER BY n DESC) = 1
-- plain
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex QUALIFY RANK() OVER (ORDER BY n DESC) = 1;
-- bigquery
FROM people |> WHERE age > 30 |> AGGREGATE COUNT(*) AS n, AVG(income) AS m GROUP BY sex |> EXTEND n / 2 AS half |> ORDER BY sex
-- plain
SELECT sex, count(*) n, avg(income) m, count(*)/2 half FROM people WHERE age>30 GROUP BY sex ORDER BY sex;
-- bigquery
SELECT CORR(age, income), COVAR_POP(age, hours), STDDEV(age), VAR_SAMP(hours) FROM people
-- plain
SELECT CORR(age, income), COVAR_POP(age, hours), STDDEV(age), VAR_SAMP(hours) FROM people;
-- snowflake
SELECT DATE_TRUNC('QUARTER', sold) AS q, SUM(IFF(channel = 'web', qty, 0)) AS web, ZEROIFNULL(SUM(discount)) AS d FROM sales GROUP BY q ORDER BY q
-- plain
SELECT date_trunc('quarter', sold) AS q, sum(if(channel='web',qty,0)) AS web, coalesce(sum(discount),0) AS d FROM sales GROUP BY q ORDER BY q;
-- snowflake
SELECT RATIO_TO_REPORT(COUNT(*)) OVER () AS share, region FROM people GROUP BY region ORDER BY region
-- plain
SELECT count(*)/sum(count(*)) OVER () AS share, region FROM people GROUP BY region ORDER BY region;
-- snowflake
SELECT NVL(device, 'none') AS d, COUNT_IF(ok) AS good, DIV0(COUNT_IF(ok), COUNT(*)) AS r FROM logins GROUP BY d ORDER BY d
-- plain
SELECT coalesce(device,'none') AS d, count_if(ok) AS good, count_if(ok)/count(*) AS r FROM logins GROUP BY d ORDER BY d;
-- snowflake
SELECT DATEDIFF('day', sold, '2024-01-01'::DATE) AS d, COUNT(*) AS n FROM sales WHERE sold > '2023-12-20' GROUP BY d HAVING n > 0 ORDER BY d
-- plain
SELECT date_diff('day', sold, DATE '2024-01-01') AS d, COUNT(*) AS n FROM sales WHERE sold > '2023-12-20' GROUP BY d ORDER BY d;
-- snowflake
SELECT YEAR(sold) AS y, MONTHNAME(sold) AS m, COUNT(*) AS n FROM sales GROUP BY ALL ORDER BY y, n DESC, m LIMIT 3
-- plain
SELECT year(sold) AS y, left(monthname(sold),3) AS m, COUNT(*) AS n FROM sales GROUP BY ALL ORDER BY y, n DESC, m LIMIT 3;
-- snowflake
SELECT LISTAGG(DISTINCT region, '|') WITHIN GROUP (ORDER BY region) FROM people
-- plain
SELECT string_agg(DISTINCT region, '|' ORDER BY region) FROM people;
-- snowflake
SELECT * FROM (SELECT sex, educ FROM people) PIVOT (COUNT(*) FOR educ IN ('none', 'school')) ORDER BY sex
-- plain
SELECT sex, count(*) FILTER (educ='none'), count(*) FILTER (educ='school') FROM people GROUP BY sex ORDER BY sex;
-- mysql
SELECT YEAR(sold) AS y, MONTH(sold) AS m, SUM(qty * price) AS rev FROM sales GROUP BY y, m WITH ROLLUP
-- plain
SELECT year(sold) AS y, month(sold) AS m, SUM(qty*price) AS rev FROM sales GROUP BY ROLLUP(y, m);
-- mysql
SELECT IFNULL(device, 'n/a') AS d, COUNT(*) AS c, AVG(secs) AS s FROM logins GROUP BY d ORDER BY c DESC, d
-- plain
SELECT coalesce(device,'n/a') AS d, COUNT(*) AS c, AVG(secs) AS s FROM logins GROUP BY d ORDER BY c DESC, d;
-- mysql
SELECT DATE_FORMAT(sold, '%Y-%m') AS ym, COUNT(DISTINCT cid) AS buyers FROM sales GROUP BY ym HAVING buyers > 0 ORDER BY ym
-- plain
SELECT strftime(sold,'%Y-%m') AS ym, COUNT(DISTINCT cid) AS buyers FROM sales GROUP BY ym ORDER BY ym;
-- mysql
SELECT GROUP_CONCAT(DISTINCT region ORDER BY region SEPARATOR ';') FROM people
-- plain
SELECT string_agg(DISTINCT region, ';' ORDER BY region) FROM people;
-- mysql
SELECT TIMESTAMPDIFF(DAY, sold, '2024-01-01') DIV 365 AS yrs, COUNT(*) AS n FROM sales GROUP BY yrs ORDER BY yrs
-- plain
SELECT date_diff('day', sold, DATE '2024-01-01')//365 AS yrs, COUNT(*) AS n FROM sales GROUP BY yrs ORDER BY yrs;
-- mysql
SELECT `sex`, COUNT(*) AS `number of people` FROM `people` WHERE `educ` RLIKE '^s' GROUP BY `sex` ORDER BY `sex` LIMIT 0, 10
-- plain
SELECT sex, COUNT(*) n FROM people WHERE educ LIKE 's%' GROUP BY sex ORDER BY sex;
-- mysql
SELECT sex, ROUND(100 * SUM(IF(educ = 'college', 1, 0)) / COUNT(*), 1) AS pct FROM people GROUP BY sex ORDER BY sex
-- plain
SELECT sex, ROUND(100 * SUM(IF(educ = 'college', 1, 0)) / COUNT(*), 1) AS pct FROM people GROUP BY sex ORDER BY sex;
-- mysql
SELECT DAYOFWEEK(sold) AS d, WEEKDAY(sold) AS w, COUNT(*) AS n FROM sales GROUP BY d, w HAVING n > 0 ORDER BY d
-- plain
SELECT dayofweek(sold)+1 AS d, isodow(sold)-1 AS w, COUNT(*) AS n FROM sales GROUP BY d, w ORDER BY d;
-- tsql
SELECT TOP 2 educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC, educ
-- plain
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC, educ LIMIT 2;
-- tsql
SELECT [sex], IIF([age] >= 50, 'old', 'young') AS [age group], COUNT_BIG(*) AS [n] FROM [dbo].[people] GROUP BY [sex], IIF([age] >= 50, 'old', 'young') ORDER BY [sex], [age group]
-- plain
SELECT sex, if(age>=50,'old','young') AS g, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY sex, g;
-- tsql
SELECT DATEPART(quarter, sold) AS q, DATENAME(month, sold) AS m, SUM(qty) AS s FROM sales GROUP BY DATEPART(quarter, sold), DATENAME(month, sold) HAVING COUNT(*) > 0 ORDER BY q, m
-- plain
SELECT quarter(sold) AS q, monthname(sold) AS m, SUM(qty) AS s FROM sales GROUP BY ALL ORDER BY q, m;
-- tsql
SELECT DATEFROMPARTS(YEAR(sold), MONTH(sold), 1) AS m, ISNULL(SUM(discount), 0) AS d FROM sales GROUP BY DATEFROMPARTS(YEAR(sold), MONTH(sold), 1) ORDER BY m
-- plain
SELECT date_trunc('month',sold)::DATE AS m, coalesce(SUM(discount),0) AS d FROM sales GROUP BY m ORDER BY m;
-- tsql
SELECT EOMONTH(sold) AS e, COUNT(*) AS n FROM sales WHERE sold >= '20230601' GROUP BY EOMONTH(sold) HAVING COUNT(*) > 0 ORDER BY e
-- plain
SELECT last_day(sold) AS e, COUNT(*) AS n FROM sales WHERE sold >= '2023-06-01' GROUP BY e ORDER BY e;
-- tsql
SELECT sex, STDEV(income) AS s, VARP(hours) AS v, AVG(CAST(age AS FLOAT)) AS a FROM people GROUP BY sex ORDER BY sex
-- plain
SELECT sex, stddev(income) AS s, var_pop(hours) AS v, AVG(age) AS a FROM people GROUP BY sex ORDER BY sex;
-- tsql
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY educ OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
-- plain
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY educ LIMIT 2 OFFSET 1;
-- tsql
SELECT CONVERT(varchar(7), sold, 120) AS ym, COUNT(*) AS n FROM sales GROUP BY CONVERT(varchar(7), sold, 120) HAVING COUNT(*) > 0 ORDER BY ym
-- plain
SELECT strftime(sold,'%Y-%m') AS ym, COUNT(*) AS n FROM sales GROUP BY ym ORDER BY ym;
-- spark
SELECT date_format(sold, 'yyyy-MM') AS ym, count(*) AS n FROM sales GROUP BY ym HAVING n > 0 ORDER BY ym
-- plain
SELECT strftime(sold,'%Y-%m') AS ym, COUNT(*) AS n FROM sales GROUP BY ym ORDER BY ym;
-- spark
SELECT explode(array(1, 2)) AS x, n FROM (SELECT count(*) AS n FROM people)
-- plain
SELECT unnest([1,2]) AS x, n FROM (SELECT count(*) AS n FROM people);
-- spark
SELECT nvl2(device, 'known', 'unknown') AS k, count(*) AS n FROM logins GROUP BY k ORDER BY k
-- plain
SELECT if(device is not null,'known','unknown') AS k, count(*) AS n FROM logins GROUP BY k ORDER BY k;
-- spark
SELECT months_between(DATE '2024-01-01', trunc(sold, 'MM')) AS k, count(*) AS n FROM sales GROUP BY k HAVING n > 0 ORDER BY k
-- plain
SELECT date_diff('month', date_trunc('month',sold), DATE '2024-01-01')::DOUBLE AS k, count(*) AS n FROM sales GROUP BY k ORDER BY k;
-- spark
SELECT dayofweek(sold) AS d, sum(qty) FILTER (WHERE channel <=> 'web') AS q FROM sales GROUP BY d HAVING COUNT(*) > 0 ORDER BY d
-- plain
SELECT dayofweek(sold)+1 AS d, sum(qty) FILTER (channel='web') AS q FROM sales GROUP BY d ORDER BY d;
-- redshift
SELECT DATE_TRUNC('week', sold)::date AS w, COUNT(*) AS n, SUM(price)::float / COUNT(*) AS a FROM sales WHERE sold BETWEEN '2022-03-01' AND '2022-03-31' GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1
-- plain
SELECT date_trunc('week', sold)::date AS w, COUNT(*) AS n, SUM(price)::DOUBLE/COUNT(*) AS a FROM sales WHERE sold BETWEEN '2022-03-01' AND '2022-03-31' GROUP BY 1 ORDER BY 1;
-- redshift
SELECT DATEDIFF(day, sold, '2024-01-01') / 100 AS h, COUNT(*) AS n FROM sales GROUP BY 1 ORDER BY 1
-- plain
SELECT date_diff('day', sold, DATE '2024-01-01')//100 AS h, COUNT(*) AS n FROM sales GROUP BY 1 ORDER BY 1;
-- oracle
SELECT NVL(device, 'none') AS d, COUNT(*) AS n FROM logins GROUP BY NVL(device, 'none') ORDER BY d
-- plain
SELECT coalesce(device,'none') AS d, COUNT(*) AS n FROM logins GROUP BY d ORDER BY d;
-- oracle
SELECT TO_CHAR(sold, 'YYYY-MM') AS ym, SUM(qty) AS q FROM sales GROUP BY TO_CHAR(sold, 'YYYY-MM') HAVING COUNT(*) > 0 ORDER BY ym FETCH FIRST 3 ROWS ONLY
-- plain
SELECT strftime(sold,'%Y-%m') AS ym, SUM(qty) AS q FROM sales GROUP BY ym ORDER BY ym LIMIT 3;
-- sqlite
SELECT strftime('%Y', sold) AS y, total(qty) AS t, count(*) AS n FROM sales GROUP BY y ORDER BY y
-- plain
SELECT strftime(sold,'%Y') AS y, sum(qty)::DOUBLE AS t, count(*) AS n FROM sales GROUP BY y ORDER BY y;
-- sqlite
SELECT sex, iif(age > 50, 1, 0) AS old, round(avg(income), 1) AS a FROM people GROUP BY 1, 2 ORDER BY 1, 2
-- plain
SELECT sex, if(age>50,1,0) AS old, round(avg(income),1) AS a FROM people GROUP BY 1, 2 ORDER BY 1, 2;
