SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, delta = 1e-5, privacy_unit_column = id) sex, COUNT(*) AS n FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, delta = .01, max_groups_contributed = 1, privacy_unit_column = "id") educ, AVG(hours, contribution_bounds_per_group => (0, 40)) AS hours FROM people GROUP BY educ
-- plain
SELECT educ, AVG(least(greatest(hours, 0), 40)) FROM people GROUP BY educ;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, group_selection_strategy = PUBLIC_GROUPS) region, SUM(income, contribution_bounds_per_group => (100, 500)) AS total FROM people GROUP BY region
-- plain
SELECT region, SUM(least(greatest(income, 100), 500)) FROM people GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, group_selection_strategy = LAPLACE_THRESHOLD) region, COUNT(*) AS n FROM people GROUP BY region
-- plain
SELECT region, COUNT(*) FROM people GROUP BY region;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) SUM(hours, contribution_bounds_per_row => (0, 10)) AS total FROM people
-- plain
SELECT SUM(least(hours, 10)) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, max_rows_contributed = 1) SUM(hours, contribution_bounds_per_group => (0, 10)) FROM people
-- plain
SELECT SUM(least(hours, 10)) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) COUNT(*, contribution_bounds_per_group => (0, 1)) AS n FROM people
-- plain
SELECT COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) COUNT(hours, contribution_bounds_per_group => (0, 1)) AS n FROM people WHERE age > 30
-- plain
SELECT COUNT(hours) FROM people WHERE age > 30;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) ward, COUNT(*, contribution_bounds_per_group => (0, 3)) AS n FROM visits GROUP BY ward
-- plain
SELECT ward, COUNT(*) FROM visits GROUP BY ward;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) sex, VAR_POP(hours, contribution_bounds_per_row => (0, 30)) AS v, STDDEV_POP(hours, contribution_bounds_per_row => (0, 30)) AS s FROM people GROUP BY sex
-- plain
SELECT sex, var_pop(least(hours, 30)), stddev_pop(least(hours, 30)) FROM people GROUP BY sex;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) sex, AVG(hours, contribution_bounds_per_row => (0, 40)) AS h FROM people GROUP BY sex HAVING AVG(hours, contribution_bounds_per_row => (0, 40)) > 1 ORDER BY h
-- plain
SELECT sex, AVG(least(hours, 40)) AS h FROM people GROUP BY sex;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 8) ANON_COUNT(*) AS n, ANON_SUM(hours CLAMPED BETWEEN 0 AND 10) AS s, ANON_AVG(income CLAMPED BETWEEN 0 AND 500) AS m FROM people
-- plain
SELECT COUNT(*), SUM(least(hours, 10)), AVG(least(income, 500)) FROM people;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 8) sex, ANON_COUNT(* CLAMPED BETWEEN 0 AND 1) AS n FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(*) FROM people GROUP BY sex;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 8) ANON_VAR_POP(hours CLAMPED BETWEEN 0 AND 30) AS v, ANON_STDDEV_POP(hours CLAMPED BETWEEN 0 AND 30) AS s FROM people
-- plain
SELECT var_pop(least(hours, 30)), stddev_pop(least(hours, 30)) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) SUM(age - 50, contribution_bounds_per_row => (-20, 20)) AS s FROM people
-- plain
SELECT SUM(least(greatest(age - 50, -20), 20)) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) SUM(CASE WHEN age < 50 THEN hours END, contribution_bounds_per_row => (10, 20)) AS s FROM people
-- plain
SELECT SUM(least(greatest(hours, 10), 20)) FILTER (WHERE age < 50) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) sex, SUM(hours, contribution_bounds_per_row => (0, 10)) AS s FROM people STRATIFY BY sex
-- plain
SELECT sex, SUM(least(hours, 10)) FROM people GROUP BY ROLLUP (sex);
-- bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, delta = 1e-5, privacy_unit_column = `id`, group_selection_strategy = PUBLIC_GROUPS) `sex`, COUNTIF(age > 30) AS n, AVG(hours, contribution_bounds_per_group => (0, 40)) AS h FROM `people` GROUP BY sex
-- plain
SELECT sex, count_if(age > 30), AVG(least(hours, 40)) FROM people GROUP BY sex;
-- bigquery
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 8) region, ANON_SUM(income CLAMPED BETWEEN 0 AND 500) AS s, ANON_COUNT(*) AS n FROM people GROUP BY region
-- plain
SELECT region, SUM(least(income, 500)), COUNT(*) FROM people GROUP BY region;
-- bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8) SUM(IF(sex = "F", hours, 0), contribution_bounds_per_row => (0, 10)) AS s FROM people
-- plain
SELECT SUM(CASE WHEN sex = 'F' THEN least(hours, 10) ELSE 0 END) FROM people;
-- snowflake
SELECT IFF(age >= 50, 1, 0) AS old, COUNT(*) AS n, SUM(hours::FLOAT) / COUNT(*) AS mean FROM people GROUP BY old
-- plain
SELECT CASE WHEN age >= 50 THEN 1 ELSE 0 END AS old, COUNT(*), AVG(hours) FROM people GROUP BY old;
-- snowflake
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, educ) <= 2
-- plain
SELECT educ, COUNT(*) AS n FROM people GROUP BY educ ORDER BY n DESC, educ LIMIT 2;
;
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 8) sex, ANON_QUANTILES(year, 2 CLAMPED BETWEEN 2019 AND 2021) AS q FROM people WHERE year = 2018 GROUP BY sex
-- plain
SELECT v.sex, [2019, 2019, 2019] AS q FROM (VALUES ('F'), ('M')) AS v (sex);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8, max_groups_contributed = NULL) sex, COUNT(*) AS n
FROM people GROUP BY sex
-- plain
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex
