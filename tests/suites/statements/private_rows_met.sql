SELECT e.source, COUNT(*) AS n FROM events e JOIN events f ON e.person = f.person AND f.step = 'paid' GROUP BY e.source;
SELECT COUNT(*) AS n FROM events e JOIN events f ON e.person = f.person AND f.seen_at > e.seen_at;
SELECT e.step AS one, f.step AS other, COUNT(*) AS n FROM events e JOIN events f ON e.person = f.person AND e.id < f.id GROUP BY ALL;
SELECT COUNT(*) AS n, COUNT(DISTINCT e.person) AS people FROM events e JOIN events f ON e.person = f.person WHERE e.step = 'seen' AND f.step = 'paid' AND f.seen_at BETWEEN e.seen_at AND e.seen_at + INTERVAL 2 DAY;
SELECT COUNT(*) AS n, COUNT(f.id) AS m FROM events e LEFT JOIN events f ON f.person = e.person AND f.source = 'web';
SELECT s.ward, COUNT(*) AS n FROM stays s JOIN stays t ON t.person = s.person AND t.day > s.day GROUP BY s.ward;
SELECT AVG(date_diff('day', s.day, t.day)) AS a FROM stays s JOIN stays t ON t.person = s.person AND t.day > s.day;
SELECT m, COUNT(*) AS n FROM (SELECT s.person, COUNT(*) AS m FROM stays s JOIN stays t ON t.person = s.person GROUP BY s.person) AS q GROUP BY m HAVING n > 0;
SELECT v.ward, COUNT(*) AS n FROM visits v JOIN visits w USING (person) GROUP BY v.ward
