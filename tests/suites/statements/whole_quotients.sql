SELECT sex, SUM(age) // 60 || 'h' AS h, MAX(age) // 10 AS d FROM people WHERE age < 96 GROUP BY sex;
SELECT SUM(age) // 7 AS d, COUNT(*) // 3 AS c, -SUM(age) // 7 AS e, SUM(income) // 7 AS f, AVG(age) // 7 AS g FROM people;
SELECT year, year // 10 AS decade, SUM(age) // COUNT(*) AS a, (COUNT(*) + SUM(hours)) // (year - 2000) AS x FROM people GROUP BY year;
SELECT sex, COUNT(*) // 10 * 10 AS n FROM people GROUP BY sex HAVING SUM(age) // 1000 > 5;
