SELECT COUNT(*) AS n FROM people WHERE educ = ANY (VALUES ('school'), ('master'));
SELECT COUNT(*) AS n FROM people WHERE age > ALL (VALUES (10), (20));
SELECT COUNT(*) AS n FROM people WHERE age <> ALL (VALUES (10), (20), (30));
SELECT COUNT(*) AS n FROM people WHERE age < ANY ([10, 20]);
SELECT COUNT(*) AS n FROM people WHERE age >= ALL ([50, 90]) OR hours = ANY ([1, 2]);
SELECT COUNT(*) AS n FROM people WHERE NOT region = ANY (VALUES ('north'), ('west'));
SELECT COUNT(*) AS n FROM events WHERE amount <= ALL (VALUES (-0.25), (10));
