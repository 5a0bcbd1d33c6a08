SELECT region, COUNT(*) AS n FROM people WHERE region LIKE '%o%' GROUP BY region;
SELECT upper(educ) AS e, AVG(age) AS a FROM people WHERE length(educ) = 6 GROUP BY upper(educ);
SELECT educ, COUNT(*) AS n FROM people WHERE educ LIKE '%zz%' GROUP BY educ;
SELECT year, COUNT(*) AS n FROM people WHERE year % 2 = 0 GROUP BY year;
SELECT day, COUNT(*) AS n FROM stays WHERE month(day) = 2 AND isodow(day) = 1 GROUP BY day ORDER BY day;
SELECT day - INTERVAL 7 DAY AS week_before, COUNT(*) AS n FROM stays WHERE month(day) = 3 GROUP BY 1;
SELECT date_trunc('month', day) AS m, ward, COUNT(*) AS n FROM stays WHERE year(day) = 2023 AND month(day) < 3 GROUP BY ALL;
SELECT hour(arrived) AS h, COUNT(*) AS n FROM stays WHERE hour(arrived) BETWEEN 8 AND 11 GROUP BY h;
SELECT s.channel, COUNT(*) AS n FROM events e JOIN sources s ON e.source = s.source WHERE s.fee BETWEEN 3 AND 5 GROUP BY s.channel;
SELECT s.channel, s.source, COUNT(*) AS n FROM events e JOIN sources s USING (source) WHERE s.since < '2020-12-31' GROUP BY ALL;
SELECT p.category, SUM(s.qty) AS q FROM sales s JOIN products p ON p.pid = s.pid WHERE p.cost > 20 AND p.category <> 'toys' GROUP BY ROLLUP (p.category);
SELECT st.state, st.city, COUNT(*) AS n FROM sales s JOIN stores st USING (store) WHERE st.city LIKE 'B%' GROUP BY st.state, st.city;
SELECT a.channel AS one, b.channel AS other, COUNT(DISTINCT a.cid) AS n FROM sales a JOIN sales b ON a.cid = b.cid AND a.channel < b.channel GROUP BY 1, 2;
SELECT floor(income / 250) * 250 AS low, floor(income / 250) * 250 + 250 AS high, COUNT(*) AS n FROM people WHERE income < 1000 GROUP BY 1, 2;
SELECT age // 20 AS bin, age // 20 * 20 || ' and more' AS title, COUNT(*) AS n FROM people GROUP BY ALL;
SELECT s.source, COUNT(e.id) AS n FROM sources s LEFT JOIN events e ON e.source = s.source AND e.source <> 'app' GROUP BY s.source;
SELECT s.source, COUNT(e.id) AS n FROM sources s LEFT JOIN events e ON e.source = s.source AND s.fee > 4 GROUP BY s.source;
SELECT v.store, COUNT(*) AS n FROM customers c LEFT JOIN (SELECT cid, store FROM sales WHERE store IN (1, 2)) v ON v.cid = c.cid GROUP BY v.store
-- plain
SELECT v.store, COUNT(*) AS n FROM customers c LEFT JOIN (SELECT cid, store FROM sales WHERE store IN (1, 2)) v ON v.cid = c.cid GROUP BY v.store UNION ALL VALUES (3, 0), (4, 0);
SELECT split_part(educ, 'o', 1) AS k, COUNT(*) AS n FROM people GROUP BY k;
SELECT time_bucket(INTERVAL 30 DAY, day) AS b, COUNT(*) AS n FROM stays GROUP BY b;
WITH f AS (SELECT person, MIN(day) AS first_day FROM stays GROUP BY person) SELECT dayname(first_day) AS d, COUNT(*) AS n FROM f GROUP BY d;
WITH f AS (SELECT person, MIN(day) AS first_day FROM stays GROUP BY person) SELECT month(first_day) AS m, COUNT(*) AS n FROM f WHERE month(first_day) < 3 GROUP BY m;
WITH f AS (SELECT cid, MAX(qty) > 3 AS many FROM sales GROUP BY cid) SELECT many, COUNT(*) AS n FROM f GROUP BY many;
SELECT n, COUNT(*) AS customers FROM (SELECT cid, COUNT(*) AS n FROM sales GROUP BY cid HAVING COUNT(*) BETWEEN 3 AND 3) GROUP BY n;
SELECT concat(channel, ' ', year(sold)) AS k, COUNT(*) AS n FROM sales GROUP BY k;
SELECT p.category, p.pid // 10 AS tens, COUNT(*) AS n FROM sales s JOIN products p USING (pid) WHERE p.cost < 20 GROUP BY ALL;
SELECT p.category, CASE WHEN p.cost > 10 THEN 'dear' ELSE 'cheap' END AS k, COUNT(*) AS n FROM sales s LEFT JOIN products p ON p.pid = s.pid AND p.cost < 20 GROUP BY ALL;
SELECT q, COUNT(*) AS n FROM (SELECT person, MIN(date_trunc('month', day)) AS q FROM stays GROUP BY person) WHERE q < '2023-03-01' GROUP BY q;
SELECT st.city, SUM(CASE WHEN s.channel = 'web' THEN 1 ELSE 0 END) AS web, COUNT(CASE WHEN s.qty > 3 THEN 1 END) AS large FROM stores st LEFT JOIN sales s ON s.store = st.store GROUP BY st.city;
SELECT r.source, COUNT(e.id) AS n, COUNT(e.id) / MAX(r.fee) AS per_fee, SUM(CASE WHEN e.mobile THEN 1 ELSE 0 END) AS mobile FROM sources r LEFT JOIN events e ON e.source = r.source GROUP BY r.source
;
SELECT device, COUNT(*) AS n FROM logins WHERE device <> 'phone' GROUP BY device;
SELECT device, COUNT(*) AS n FROM logins WHERE device <> '' GROUP BY device ORDER BY device;
SELECT m.m, COUNT(*) AS n FROM odd o JOIN moods m ON m.s = o.s WHERE m.p < 3 GROUP BY m.m;
SELECT year(d) AS y, year(ts) - year(d) AS k, COUNT(*) AS n FROM odd WHERE date_trunc('year', ts) >= date_trunc('year', d) AND d >= DATE '1969-12-01' AND d < DATE '1970-02-01' GROUP BY 1, 2;
SELECT rn, COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS rn FROM stays) WHERE rn <= 2 GROUP BY rn;
SELECT floor(amount / 60) * 60 AS bin, COUNT(*) AS n FROM events WHERE amount IS NOT NULL GROUP BY bin;
SELECT SUM(POWER(neg, 2)) AS s, SUM(POW(neg - 3, 3)) AS c, AVG(neg ** 2) AS a FROM odd;
SELECT e.source, s.fee, COUNT(*) AS n FROM events e LEFT JOIN sources s ON s.source = e.source AND s.fee > 4 GROUP BY e.source, s.fee
-- plain
SELECT e.source, s.fee, COUNT(*) AS n FROM events e LEFT JOIN sources s ON s.source = e.source AND s.fee > 4 GROUP BY e.source, s.fee UNION ALL VALUES ('web', 3, 0), ('shop', 2, 0), ('app', NULL, 0);
SELECT s.channel, s.since, COUNT(*) AS n FROM events e LEFT JOIN sources s ON s.source = e.source WHERE s.fee < 5 GROUP BY s.channel, s.since;
SELECT trunc(price / 25) AS t, COUNT(*) AS n, SUM(price) AS s FROM sales WHERE price < 75 GROUP BY t;
SELECT date_diff('day', d, ts::DATE) // 100 AS h, COUNT(*) AS n FROM odd WHERE ts::DATE >= d AND d >= DATE '1969-06-01' GROUP BY h;
SELECT n, COUNT(*) AS people FROM (SELECT person, COUNT(DISTINCT day) AS n FROM stays GROUP BY person) WHERE n < 2 GROUP BY n
-- plain
SELECT * FROM (VALUES (1, 0));
SELECT amount > 10 AS c, COUNT(*) AS n FROM events WHERE amount > 0 GROUP BY c;
SELECT upper(source) AS s, COUNT(*) AS n FROM events WHERE source LIKE '%p%' GROUP BY s;
SELECT discount // 5 AS d, COUNT(*) AS n, AVG(discount) AS a FROM sales WHERE discount < 15 GROUP BY d;
SELECT discount > 4 AS d, COUNT(*) AS n FROM sales WHERE NOT discount = 10 GROUP BY d;
SELECT rate, COUNT(*) AS n FROM odd WHERE abs(rate) < 0.03 GROUP BY rate;
SELECT rate, COUNT(*) AS n FROM odd WHERE 0.03 >= abs(rate) AND rate > -0.01 GROUP BY rate;
SELECT big, COUNT(*) AS n FROM odd WHERE abs(big) < 3000 GROUP BY big HAVING COUNT(*) > 0;
SELECT big, COUNT(*) AS n FROM odd WHERE big BETWEEN 1000 AND 4000 GROUP BY big HAVING COUNT(*) > 0;
