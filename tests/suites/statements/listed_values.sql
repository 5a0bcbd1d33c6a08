SELECT COUNT(*) AS n FROM people WHERE region IN (VALUES ('north'), ('west'));
SELECT COUNT(*) AS n FROM people WHERE age NOT IN (VALUES (1), (2), (3));
SELECT COUNT(*) AS n FROM people WHERE (sex, region) IN (VALUES ('F', 'north'), ('M', 'west'));
SELECT COUNT(*) AS n FROM people WHERE region = ANY (['north', 'west']);
SELECT region, COUNT(*) AS n FROM people WHERE region = ANY (['north', 'west']) AND age = ANY ([1, 2, 3]) GROUP BY region;
