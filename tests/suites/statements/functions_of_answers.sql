SELECT educ, printf('%d people', COUNT(*)) AS text FROM people GROUP BY educ;
SELECT upper(educ) AS educ, COUNT(*) AS n FROM people GROUP BY educ;
SELECT DISTINCT COUNT(*) > 100 AS large FROM people GROUP BY educ;
SELECT educ, log10(COUNT(*)) AS digits, sqrt(SUM(hours)) AS root FROM people GROUP BY educ;
SELECT {'n': COUNT(*), 'm': AVG(income)} AS both FROM people;
SELECT [COUNT(*), SUM(hours)] AS pair FROM people;
SELECT DISTINCT ON (sex) sex, educ, COUNT(*) AS n FROM people GROUP BY sex, educ ORDER BY sex, n DESC, educ;
FROM (SELECT educ, COUNT(*) AS n FROM people GROUP BY educ) SELECT educ, n ORDER BY ALL;
