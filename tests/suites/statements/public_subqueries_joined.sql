SELECT p.sex, COUNT(*) AS n FROM people p JOIN (SELECT region FROM regions ORDER BY inhabitants DESC LIMIT 2) r USING (region) GROUP BY p.sex;
SELECT r.region, r.inhabitants, COUNT(*) AS n FROM people p JOIN (SELECT region, inhabitants FROM regions ORDER BY inhabitants LIMIT 2) r ON r.region = p.region GROUP BY r.region, r.inhabitants;
WITH r AS (SELECT region FROM regions ORDER BY inhabitants LIMIT 1) SELECT COUNT(*) AS n, AVG(p.income) AS a FROM people p JOIN r ON r.region = p.region;
SELECT COUNT(*) AS n FROM people p LEFT JOIN (SELECT region FROM regions ORDER BY inhabitants LIMIT 2) r ON r.region = p.region WHERE r.region IS NULL;
SELECT c.fees, COUNT(*) AS n FROM events e JOIN (SELECT source, SUM(fee) AS fees FROM sources GROUP BY source) c ON c.source = e.source GROUP BY c.fees HAVING n > 0;
SELECT SUM(e.amount * c.fee) AS s FROM events e JOIN (SELECT source, AVG(fee) AS fee FROM sources GROUP BY source) c USING (source);
SELECT c.first, COUNT(*) AS n FROM events e JOIN (SELECT source, MIN(since) AS first FROM sources GROUP BY source) c USING (source) GROUP BY c.first HAVING n > 0;
SELECT COUNT(*) AS n FROM events e JOIN (SELECT DISTINCT source FROM sources WHERE channel = 'online') c ON c.source = e.source;
SELECT COUNT(*) AS n FROM people p JOIN (SELECT MAX(inhabitants) AS most FROM regions) r ON p.income > r.most;
SELECT COUNT(*) AS n FROM people p CROSS JOIN (SELECT AVG(inhabitants) AS mean, MIN(inhabitants) AS least FROM regions) r WHERE p.income BETWEEN r.least AND r.mean;
SELECT p.region, AVG(p.income - r.mean) AS a FROM people p, (SELECT AVG(inhabitants) AS mean FROM regions) r GROUP BY p.region;
SELECT COUNT(*) AS n FROM people p JOIN (SELECT region, ROW_NUMBER() OVER (ORDER BY inhabitants) AS i FROM regions QUALIFY i = 2) r ON r.region = p.region;
WITH large AS (SELECT region FROM regions GROUP BY region HAVING SUM(inhabitants) > 500), of_them AS (SELECT p.* FROM people p JOIN large USING (region)) SELECT educ, COUNT(*) AS n FROM of_them GROUP BY educ
