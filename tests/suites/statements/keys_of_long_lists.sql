SELECT p.pid, p.pname, p.category, p.cost, store, channel, COUNT(*) AS n, SUM(qty) AS q
FROM sales JOIN products p USING (pid) GROUP BY ALL HAVING COUNT(*) > 0;
SELECT p.pname, p.pid, d.d, COUNT(*) AS n FROM sales s JOIN products p USING (pid) JOIN days d ON d.d = s.sold
GROUP BY p.pname, p.pid, d.d HAVING COUNT(*) > 0;
SELECT d.y, d.moy, d.dname, d.d, SUM(s.qty) AS q FROM sales s JOIN days d ON d.d = s.sold
WHERE d.y = 2023 AND d.moy < 4 GROUP BY d.y, d.moy, d.dname, d.d HAVING COUNT(*) > 0;
SELECT d.d, d.dname, p.category, p.cost, COUNT(*) AS n FROM sales s, days d, products p
WHERE d.d = s.sold AND p.pid = s.pid AND d.moy IN (5, 6) AND p.cost < 12 GROUP BY ALL HAVING COUNT(*) > 0;
SELECT d.moy, p.pid, p.pname, d.dname, SUM(s.price) AS amount, SUM(s.price) / SUM(SUM(s.price)) OVER
    (PARTITION BY p.pid) AS share
FROM sales s JOIN days d ON d.d = s.sold JOIN products p USING (pid) GROUP BY d.moy, p.pid, p.pname, d.dname, p.cost
HAVING COUNT(*) > 0;
SELECT p.category, p.pname, p.cost, d.y, d.d, COUNT(*) AS n FROM sales s JOIN days d ON d.d = s.sold
JOIN products p USING (pid) WHERE d.moy = 7 GROUP BY ROLLUP (p.category, p.pname, p.cost, d.y, d.d) HAVING COUNT(*) > 0;
SELECT d.d, d.moy, d.dname, COUNT(s.sid) AS n FROM sales s LEFT JOIN days d ON d.d = s.sold AND d.dname <> 'Sunday'
WHERE s.qty > 1 GROUP BY d.d, d.moy, d.dname HAVING COUNT(*) > 0;
SELECT p.pid, p.pname, d.d, COUNT(DISTINCT s.store) AS n, SUM(s.qty) AS q FROM sales s JOIN products p USING (pid)
JOIN days d ON d.d = s.sold WHERE p.category = 'toys' AND d.d < '2022-02-01' GROUP BY ALL HAVING COUNT(*) > 0;
SELECT y.d, y.dname, c.country, c.tier, COUNT(*) AS n FROM customers c JOIN sales s USING (cid) JOIN days y ON y.d = s.sold
GROUP BY y.d, y.dname, c.country, c.tier, y.moy HAVING COUNT(*) > 0;
SELECT p.category, COUNT(*) AS n, SUM(u.qty) AS q FROM (SELECT pid, qty FROM sales WHERE channel = 'web' UNION ALL SELECT pid, qty FROM sales WHERE store = 2) u
JOIN products p ON p.pid = u.pid GROUP BY p.category;
SELECT d.y, p.pname, SUM(u.amount) AS amount FROM (SELECT sold AS day, pid, price AS amount FROM sales UNION ALL SELECT sold, pid, -price FROM sales WHERE channel = 'phone') u,
    days d, products p WHERE d.d = u.day AND p.pid = u.pid AND p.cost < 10 GROUP BY d.y, p.pname;
WITH weekly AS (SELECT d.moy, d.y, SUM(s.qty) AS q FROM sales s JOIN days d ON d.d = s.sold GROUP BY d.moy, d.y)
SELECT a.moy, a.q AS before, b.q AS after FROM (SELECT moy, q FROM weekly WHERE y = 2022) a, (SELECT moy, q FROM weekly WHERE y = 2023) b WHERE a.moy = b.moy;
