SELECT SUM(fee) AS s, AVG(fee) AS a, MIN(since) AS d FROM events JOIN sources USING (source);
SELECT channel, SUM(fee * change) AS s FROM events JOIN sources USING (source) GROUP BY channel;
SELECT AVG(total) AS a FROM (SELECT person, SUM(fee) AS total FROM events JOIN sources USING (source) GROUP BY person) AS s;
SELECT AVG(date_diff('day', since, seen_at)) AS a FROM events JOIN sources USING (source);
SELECT SUM(cost) AS s FROM (SELECT e.id, fee * 2 AS cost FROM events e JOIN sources USING (source)) AS x;
SELECT SUM(inhabitants) AS s, AVG(inhabitants / 10) AS a FROM people JOIN regions USING (region) WHERE sex = 'F';

SELECT p, COUNT(*) AS n FROM odd JOIN moods USING (m) GROUP BY p HAVING COUNT(*) > 0;
SELECT floor(p) AS f, COUNT(*) AS n, SUM(neg) AS s FROM odd JOIN moods USING (m) GROUP BY f HAVING COUNT(*) > 0;
SELECT moods.m, p, SUM(neg) * p AS s FROM odd JOIN moods USING (m) GROUP BY moods.m, p HAVING COUNT(*) > 0;
SELECT MIN(p) AS low, MAX(p) AS high FROM odd JOIN moods USING (m);
SELECT CASE WHEN p < 1 THEN 'cheap' ELSE 'dear' END AS k, COUNT(*) AS n FROM odd JOIN moods USING (m) GROUP BY k;
