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
SELECT item, COUNT(*) / SUM(COUNT(*)) OVER (), 'y' FROM baskets WHERE item IN ('tea', 'jam') GROUP BY item
