SELECT p.pid, MAX(p.cost) AS c, MIN(p.cost) AS d, AVG(p.cost) AS m, COUNT(*) AS n
FROM sales JOIN products p USING (pid) GROUP BY p.pid;
SELECT store, MAX(s.city) AS c, COUNT(*) AS n FROM sales JOIN stores s USING (store) GROUP BY store;
SELECT p.pid, any_value(p.pname) AS c, COUNT(*) AS n FROM sales JOIN products p USING (pid) GROUP BY p.pid;
SELECT p.pname, AVG(p.cost) AS c, MIN(p.category) AS k, COUNT(*) AS n FROM sales JOIN products p USING (pid)
GROUP BY p.pname;
SELECT e.source, MIN(s.since) AS c, MAX(s.fee) AS f, COUNT(*) AS n FROM events e JOIN sources s ON e.source = s.source
GROUP BY e.source HAVING COUNT(*) > 0;
SELECT s.source, MEDIAN(s.fee) AS f, SUM(e.amount) AS a FROM events e JOIN sources s ON e.source = s.source
GROUP BY s.source HAVING COUNT(*) > 0;
