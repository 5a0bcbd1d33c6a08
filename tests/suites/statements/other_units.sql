SELECT COUNT(*) AS n FROM people p WHERE age > (SELECT AVG(q.age) FROM people q WHERE q.region = p.region);
SELECT AVG(age) AS a FROM people p WHERE hours > (SELECT AVG(q.hours) + 0.25 FROM people q WHERE q.educ = p.educ AND q.sex = 'F');
SELECT COUNT(*) AS n FROM people p WHERE (SELECT COUNT(*) FROM people q WHERE q.year = p.year) > 300;
