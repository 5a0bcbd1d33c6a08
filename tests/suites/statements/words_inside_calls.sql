SELECT repeat(sex, 2) AS r, COUNT(*) AS n FROM people GROUP BY r;
SELECT trim(both 'n' from region) AS r, trim(leading 'n' from region) AS l, COUNT(*) AS n FROM people GROUP BY r, l;
SELECT trim(region, 'n') AS s, trim(region) AS u, COUNT(*) AS n FROM people GROUP BY s, u;
SELECT overlay(region PLACING 'x' FROM 1 FOR 1) AS r, COUNT(*) AS n FROM people GROUP BY r;
SELECT COUNT(*) AS n FROM people WHERE position('o' IN region) = 2 AND trim(sex) = 'F' AND trim(both ' ' from sex) = 'F';
SELECT trim(sex), COUNT(*) AS n FROM people GROUP BY trim(sex);
SELECT g.i, n FROM generate_series(0, 3) g(i) JOIN (SELECT age // 25 AS b, COUNT(*) AS n FROM people GROUP BY b) q ON q.b = g.i;
SELECT range, n FROM range(1, 4, 2) LEFT JOIN (SELECT age // 25 AS b, COUNT(*) AS n FROM people GROUP BY b) q ON q.b = range;
SELECT g.i, COUNT(*) AS n FROM people p JOIN range(4) g(i) ON p.age // 25 = g.i GROUP BY g.i;
SELECT d, coalesce(n, 0) AS n FROM generate_series(DATE '2023-02-01', DATE '2023-02-12', INTERVAL 3 DAY) g(d) LEFT JOIN (SELECT day, COUNT(*) AS n FROM stays GROUP BY day) q ON q.day = d;
SELECT u.r, COUNT(*) AS n FROM people p JOIN unnest(['north', 'west']) AS u(r) ON u.r = p.region GROUP BY u.r;
SELECT AVG(least(u2, (neg % 5.5))) AS a FROM odd;
SELECT SUM(greatest(neg, 0)) AS a, SUM(least(neg, 5)) AS b, SUM(greatest(neg, rate)) AS c FROM odd;
SELECT AVG(greatest(discount, qty)) AS a, AVG(least(discount, qty)) AS b FROM sales;
SELECT COUNT(*) AS n FROM people WHERE ROW(sex, region) IN (ROW('F', 'north'), ROW('M', 'west'));
SELECT COUNT(*) AS n FROM people WHERE (sex, region) = ROW('F', 'north') OR ROW(sex, educ) <> ('M', 'none');
SELECT COUNT(*) AS n FROM events WHERE amount = '1.75' OR amount > '249';
SELECT COUNT(*) AS n FROM people WHERE income BETWEEN '100' AND '200.5' AND age IN ('50', '51') AND hours < ' 30 ';
SELECT COUNT(*) AS n FROM events WHERE change = '1.5'
