SELECT first, COUNT(*) AS n FROM (SELECT person, ARG_MIN(ward, day) AS first FROM stays GROUP BY person) AS s GROUP BY first HAVING n > 0;
SELECT last, COUNT(*) AS n FROM (SELECT person, MAX_BY(ward, day) AS last FROM stays WHERE ward > 0 GROUP BY 1) AS s GROUP BY last HAVING n > 0;
SELECT src, COUNT(*) AS n FROM (SELECT person AS p, ARG_MIN(source, seen_at) AS src FROM events GROUP BY p) AS s GROUP BY src HAVING n > 0;
SELECT src, dst, COUNT(*) AS n FROM (SELECT person, ARG_MIN(source, seen_at) AS src, ARG_MAX(step, seen_at) AS dst FROM events WHERE source <> '' GROUP BY person) AS s GROUP BY ALL HAVING n > 0;
SELECT COUNT(*) AS n FROM (SELECT person, ARG_MIN(source, seen_at) FILTER (WHERE step = 'paid') AS src FROM events GROUP BY person) AS s WHERE src = 'web';
SELECT AVG(a) AS a FROM (SELECT person, ARG_MAX(change, seen_at) - ARG_MIN(change, seen_at) AS a FROM events GROUP BY person) AS s;
SELECT m, COUNT(*) AS n FROM (SELECT person, MIN(source) AS m FROM events WHERE source IS NOT NULL GROUP BY person) AS s GROUP BY m HAVING n > 0;
SELECT m, COUNT(*) AS n FROM (SELECT person, MAX(step) AS m FROM events GROUP BY person) AS s GROUP BY m HAVING n > 0;
SELECT COUNT(*) AS n FROM (SELECT person FROM events GROUP BY person HAVING ARG_MIN(step, seen_at) = 'seen') AS s;
