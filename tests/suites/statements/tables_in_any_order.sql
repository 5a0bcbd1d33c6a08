SELECT d.y, p.category, SUM(s.qty) FROM days d, products p, stores st, sales s WHERE s.sold = d.d AND s.pid = p.pid AND s.store = st.store AND st.state = 'DE' GROUP BY d.y, p.category HAVING COUNT(*) > 0;
SELECT y, country, SUM(price) FROM days, customers, stores, products, sales WHERE sales.cid = customers.cid AND sales.store = stores.store AND sales.pid = products.pid AND sold = d AND state IN ('DE', 'FR') AND (category = 'toys' OR category = 'food') GROUP BY y, country;
SELECT st.city, COUNT(*) FROM products p CROSS JOIN stores st CROSS JOIN sales s WHERE s.pid = p.pid AND st.store = s.store AND p.cost > 10 GROUP BY st.city;
SELECT COUNT(*) FROM stores st, products p, customers c JOIN sales s ON s.cid = c.cid WHERE s.store = st.store AND s.pid = p.pid AND c.country = st.state AND p.category <> 'toys';
SELECT i.kind, COUNT(*), SUM(b.paid) FROM items i, sources q, members m, logins l, baskets b WHERE b.item = i.item AND l.mid = m.mid AND b.lid = l.lid AND q.fee = b.qty AND m.level = 'pro' GROUP BY i.kind HAVING COUNT(*) > 0;
SELECT COUNT(*) FROM regions r, sources s, people p WHERE p.region = r.region AND r.inhabitants > s.fee * 200;
SELECT t.category, AVG(n) FROM (SELECT s.cid, p.category, COUNT(*) AS n FROM days d, products p, sales s WHERE d.d = s.sold AND p.pid = s.pid AND d.y = 2022 GROUP BY s.cid, p.category) t GROUP BY t.category;
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT * FROM days d, products p, sales s WHERE s.cid = c.cid AND d.d = s.sold AND p.pid = s.pid AND d.dname = 'Sunday' AND p.category = 'toys');
