SELECT educ, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY educ;
SELECT sex, educ, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY sex) AS percent FROM people GROUP BY sex, educ;
SELECT educ, round(COUNT(*) * 100 / SUM(COUNT(*)) OVER (), 1) || ' %' AS percent FROM people GROUP BY educ;
WITH t AS (SELECT SUM(hours) AS h FROM people) SELECT educ, w.h / t.h AS share FROM (SELECT educ, SUM(hours) AS h FROM people GROUP BY educ) w, t;
SELECT educ, SUM(income) / SUM(SUM(income)) OVER () AS share, SUM(SUM(income)) OVER (ORDER BY educ) AS running FROM people GROUP BY educ;
SELECT sex, AVG(CASE WHEN employed THEN 1 ELSE 0 END) AS rate, rate / MAX(rate) OVER () AS of_best FROM people GROUP BY sex;
