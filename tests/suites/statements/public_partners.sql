SELECT r.region, r.inhabitants FROM regions r SEMI JOIN people p ON p.region = r.region;
SELECT r.region FROM regions r ANTI JOIN people p ON p.region = r.region;
SELECT s.source, s.fee FROM sources s ANTI JOIN events e ON e.source = s.source;
SELECT s.source FROM sources s SEMI JOIN events e ON e.source = s.source AND e.step = 'paid';
SELECT s.source FROM sources s LEFT JOIN events e ON e.source = s.source WHERE e.source IS NULL;
SELECT s.channel, COUNT(*) AS n FROM sources s LEFT JOIN events e USING (source) WHERE e.source IS NULL AND s.fee > 2 GROUP BY s.channel;
SELECT p.pname FROM products p LEFT JOIN sales s ON s.store = p.pid WHERE s.store IS NULL ORDER BY p.pname LIMIT 5
