SELECT r.region FROM regions r WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.region = r.region);
SELECT r.region FROM regions r WHERE EXISTS (SELECT 1 FROM people p WHERE p.region = r.region);
SELECT s.source FROM sources s WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.source = s.source);
SELECT source FROM sources EXCEPT SELECT source FROM events;
SELECT source FROM sources INTERSECT SELECT source FROM events;
SELECT source FROM sources WHERE source IN (SELECT source FROM events);
SELECT p.pid FROM products p WHERE p.pid NOT IN (SELECT store FROM sales);
SELECT 'web' IN (SELECT channel FROM sales) AS w, 'phone' IN (SELECT channel FROM sales WHERE qty > 1) AS f
