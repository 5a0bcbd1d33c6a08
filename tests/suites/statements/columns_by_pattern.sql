SELECT COUNT(COLUMNS(*)) FROM people;
SELECT COUNT(COLUMNS(*)) FROM stays;
SELECT MIN(COLUMNS('^(a|h)')) > -1 FROM people;
SELECT AVG(COLUMNS('age|hours')) FROM people;
SELECT AVG(COLUMNS(['age', 'hours'])) FROM people;
SELECT sex, SUM(COLUMNS(['age', 'hours'])), COUNT(*) FROM people GROUP BY sex;
SELECT AVG(COLUMNS('age')) * 2 + 1 AS x FROM people WHERE sex = 'F';
SELECT MAX(COLUMNS('age')) - COUNT(COLUMNS('age')) < 0 FROM people;
