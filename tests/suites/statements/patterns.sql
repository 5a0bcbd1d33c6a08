SELECT COUNT(*) AS n FROM people WHERE region SIMILAR TO '(north|south)';
SELECT COUNT(*) AS n FROM people WHERE region ~ '^n' OR region GLOB 's*';
SELECT COUNT(*) AS n FROM people WHERE NOT (educ GLOB '*o*') AND region NOT SIMILAR TO 'w.*';
SELECT region ~ 'o' AS o, COUNT(*) AS n FROM people GROUP BY o;
