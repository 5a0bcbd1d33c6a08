SELECT COUNT(*) AS n FROM stays WHERE ward = 0 OR ward IN (SELECT ward + 1 FROM stays AS t WHERE t.person = stays.person);
SELECT COUNT(*) AS n FROM visits AS v WHERE ward = 4 OR ward IN (SELECT ward - 1 FROM visits AS w WHERE w.person = v.person AND w.ward > 1);
SELECT COUNT(*) FILTER (WHERE person IN (SELECT person FROM visits WHERE ward = 3)) AS n FROM visits;
SELECT ward, SUM(CASE WHEN person IN (SELECT person FROM visits WHERE ward = 3) THEN 1 ELSE 0 END) AS n FROM visits GROUP BY ward;
SELECT AVG(amount) FILTER (WHERE person IN (SELECT person FROM events WHERE step = 'paid') OR change > 1) AS a FROM events;
SELECT COUNT_IF(person IN (SELECT person FROM stays WHERE ward > 2)) AS n FROM stays;
SELECT CASE WHEN person IN (SELECT person FROM stays WHERE ward > 2) THEN 'far' ELSE 'near' END AS k, COUNT(*) AS n FROM stays GROUP BY k;
SELECT COUNT(*) AS n FROM people WHERE sex IN (SELECT 'F') AND age > (SELECT 30);
SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS c FROM visits GROUP BY person) AS x WHERE c > (SELECT 2);
