SELECT COUNT(*) AS n FROM logins s JOIN days d ON s.seen::DATE = d.d;
SELECT d.dname, COUNT(*) AS n FROM stays s JOIN days d ON s.arrived::DATE = d.d GROUP BY d.dname HAVING COUNT(*) > 0;
SELECT d.dname, COUNT(*) AS n FROM logins s JOIN days d ON d.d = CAST(s.seen AS DATE) GROUP BY d.dname
HAVING COUNT(*) > 0;
SELECT COUNT(*) AS n FROM (SELECT *, seen::DATE AS dd FROM logins) AS s JOIN days d ON s.dd = d.d WHERE d.moy = 12;
SELECT COUNT(*) AS n FROM logins s LEFT JOIN days d ON s.seen::DATE = d.d AND d.moy = 12;
SELECT COUNT(*) AS n, SUM(d.moy) AS m FROM logins s LEFT JOIN days d ON s.seen::DATE = d.d WHERE d.d IS NOT NULL;
SELECT e.moy, COUNT(*) AS n FROM logins s JOIN days d ON s.seen::DATE = d.d JOIN days e ON e.d = s.seen::DATE
GROUP BY e.moy HAVING COUNT(*) > 0;;
SELECT d.y, COUNT(*) AS n FROM sales s JOIN days d ON d.d = date_trunc('month', s.sold) GROUP BY d.y;
SELECT d.moy, COUNT(s.sid) AS n FROM sales s JOIN days d ON date_trunc('day', s.sold) = d.d WHERE s.qty > 1 GROUP BY d.moy;
SELECT d.y, COUNT(*) AS n FROM sales s, products p, days d WHERE d.d = date_trunc('quarter', s.sold) AND p.pid = s.pid AND p.category = 'toys' GROUP BY d.y;
SELECT d.y, COUNT(*) AS n FROM days d, sales s WHERE date_trunc('week', s.sold)::DATE = d.d GROUP BY d.y;
SELECT COUNT(d.moy) AS n, AVG(d.moy) AS a FROM sales s LEFT JOIN days d ON d.d = date_trunc('week', s.sold)
