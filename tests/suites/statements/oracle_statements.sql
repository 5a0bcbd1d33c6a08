-- oracle
SELECT NVL(device, 'none') AS d, COUNT(*) AS n, ROUND(AVG(secs), 1) AS a FROM logins GROUP BY NVL(device, 'none')
-- plain
SELECT COALESCE(device, 'none'), COUNT(*), round(AVG(secs), 1) FROM logins GROUP BY 1;
-- oracle
SELECT TRUNC(seen) AS d, COUNT(*) AS n FROM logins GROUP BY TRUNC(seen) HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('day', seen), COUNT(*) FROM logins GROUP BY 1;
-- oracle
SELECT TRUNC(day, 'MM') AS m, SUM(paid) AS t FROM baskets GROUP BY TRUNC(day, 'MM') HAVING COUNT(*) > 0
-- plain
SELECT date_trunc('month', day), SUM(paid) FROM baskets GROUP BY 1;
-- oracle
SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM baskets WHERE day >= TO_DATE('31.12.2023', 'DD.MM.YYYY') GROUP BY TO_CHAR(day, 'YYYY-MM') HAVING COUNT(*) > 0
-- plain
SELECT strftime(day, '%Y-%m'), COUNT(*) FROM baskets WHERE day >= DATE '2023-12-31' GROUP BY 1;
-- oracle
SELECT DECODE(qty, 0, 'none', 1, 'one', 'more') AS k, COUNT(*) AS n FROM baskets GROUP BY DECODE(qty, 0, 'none', 1, 'one', 'more')
-- plain
SELECT CASE qty WHEN 0 THEN 'none' WHEN 1 THEN 'one' ELSE 'more' END, COUNT(*) FROM baskets GROUP BY 1;
-- oracle
SELECT INITCAP(item) || '/' || device AS k, COUNT(*) AS n FROM baskets b JOIN logins l ON l.lid = b.lid GROUP BY INITCAP(item) || '/' || device HAVING COUNT(*) > 0
-- plain
SELECT CASE item WHEN 'o''il' THEN 'O''Il' ELSE upper(item[1]) || item[2:] END || '/' || COALESCE(device, ''), COUNT(*) FROM baskets b JOIN logins l USING (lid) GROUP BY 1;
-- oracle
SELECT LISTAGG(item, ';') WITHIN GROUP (ORDER BY item) AS s FROM (SELECT item, COUNT(*) AS n FROM baskets GROUP BY item HAVING COUNT(*) > 10)
-- plain
SELECT 'jam;o''il;salt;tea';
-- oracle
SELECT EXTRACT(YEAR FROM born) AS y, COUNT(*) AS n FROM members WHERE born >= DATE '2000-01-01' GROUP BY EXTRACT(YEAR FROM born) HAVING COUNT(*) > 0 ORDER BY n DESC
-- plain
SELECT year(born), COUNT(*) FROM members WHERE born >= '2000-01-01' GROUP BY 1;
-- oracle
SELECT item, SUM(paid) / COUNT(*) AS a, STDDEV(paid) AS s, MOD(SUM(qty), 7) AS m FROM baskets GROUP BY item ORDER BY a DESC FETCH FIRST 2 ROWS ONLY
-- plain
SELECT item, SUM(paid) / COUNT(*) AS a, STDDEV(paid), SUM(qty) % 7 FROM baskets GROUP BY item ORDER BY a DESC LIMIT 2;
-- oracle
SELECT COUNT(*) FROM members m WHERE REGEXP_LIKE(m.nick, '^.[t;]') AND NOT EXISTS (SELECT 1 FROM logins l WHERE l.mid = m.mid AND INSTR(l.device, 'e') > 0)
-- plain
SELECT COUNT(*) FROM members m WHERE nick IN ('it''s', 'x;y') AND NOT EXISTS (SELECT 1 FROM logins l WHERE l.mid = m.mid AND l.device LIKE '%e%');
-- oracle
SELECT COUNT(*) FROM (SELECT mid FROM logins WHERE ok = TRUE MINUS SELECT mid FROM logins WHERE device = 'web')
-- plain
SELECT COUNT(*) FROM (SELECT mid FROM logins WHERE ok EXCEPT SELECT mid FROM logins WHERE device = 'web');
-- oracle
SELECT item, RATIO_TO_REPORT(COUNT(*)) OVER () AS r, NVL2(MAX(qty), 'y', 'n') AS y FROM baskets WHERE day < TRUNC(SYSDATE) AND (item, qty) IN (('tea', 0), ('jam', 3)) GROUP BY item HAVING COUNT(*) > 0
-- plain
SELECT item, COUNT(*) / SUM(COUNT(*)) OVER (), 'y' FROM baskets WHERE item IN ('tea', 'jam') GROUP BY item;
-- oracle
SELECT * FROM (SELECT category, SUM(qty) AS q FROM sales s, products p WHERE s.pid = p.pid GROUP BY category ORDER BY q DESC, category) WHERE ROWNUM <= 2
-- plain
SELECT category, SUM(qty) AS q FROM sales s, products p WHERE s.pid = p.pid GROUP BY category ORDER BY q DESC, category LIMIT 2;
-- oracle
SELECT st.city, NVL(SUM(s.qty), 0) AS q FROM stores st, sales s WHERE st.store = s.store (+) AND s.qty (+) > 4 GROUP BY st.city
-- plain
SELECT st.city, COALESCE(SUM(s.qty), 0) FROM stores st LEFT JOIN sales s ON st.store = s.store AND s.qty > 4 GROUP BY st.city;
-- oracle
SELECT TRUNC(age, -1) AS d, COUNT(*) FROM people WHERE age < TRUNC(57.29, 1) GROUP BY TRUNC(age, -1) HAVING COUNT(*) > 0
-- plain
SELECT age // 10 * 10, COUNT(*) FROM people WHERE age < 57.2 GROUP BY 1;
-- oracle
SELECT COUNT(*) FROM sales WHERE sold > TO_DATE('01-JUN-2023', 'DD-MON-YYYY')
-- plain
SELECT COUNT(*) FROM sales WHERE sold > '2023-06-01';
-- tsql
SELECT COUNT(*) AS n FROM sales WHERE price > CAST(49.5 AS money)
-- plain
SELECT COUNT(*) FROM sales WHERE price > 49.5;
-- postgres
SELECT count(*) FROM sales WHERE sold >= '2022-03-01'::date + '1 month'::interval
-- plain
SELECT COUNT(*) FROM sales WHERE sold >= '2022-04-01';
-- bigquery
SELECT channel, APPROX_QUANTILES(qty, 2) AS q FROM sales GROUP BY channel
-- plain
SELECT channel, [1, 3, 5] FROM sales GROUP BY channel;
-- spark
SELECT date_add(date_trunc('week', seen), 6) AS w, count(*) AS n FROM logins GROUP BY 1 HAVING n > 0
-- plain
SELECT date_trunc('week', seen)::DATE + 6, COUNT(*) FROM logins GROUP BY 1;
