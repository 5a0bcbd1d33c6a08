SELECT COUNT(*) AS n FROM people WHERE region = E'north';
SELECT COUNT(*) AS n, E'a\tb' AS t FROM people WHERE region IN (e'north', E'it''s');
SELECT COUNT(*) AS n FROM odd WHERE s = E'a''b' OR s = E'\\';
-- postgres
SELECT COUNT(*) AS n FROM people WHERE educ = E'school' OR educ LIKE E'c%';
-- mysql
SELECT TIMESTAMPDIFF(MONTH, day, '2023-04-15') AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING COUNT(*) > 0
-- plain
SELECT date_diff('month', day, DATE '2023-04-15') - (day(day) > 15)::INT AS m, COUNT(*) AS n FROM stays GROUP BY m;
-- mysql
SELECT AVG(TIMESTAMPDIFF(MONTH, day, '2022-12-30')) AS m FROM stays
-- plain
SELECT AVG(date_diff('month', day, DATE '2022-12-30') + (day(day) < 30)::INT) AS m FROM stays;
-- databricks
SELECT COUNT(*) AS n FROM stays WHERE TIMESTAMPDIFF(MONTH, day, arrived) = 1
-- plain
SELECT COUNT(*) AS n FROM stays WHERE CASE WHEN day <= arrived
THEN date_diff('month', day, arrived) - (day(arrived) < day(day))::INT
ELSE date_diff('month', day, arrived)
+ ((day(arrived) > day(day)) OR (day(arrived) = day(day) AND arrived::TIME > TIME '00:00'))::INT END = 1;
