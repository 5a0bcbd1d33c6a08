SELECT * FROM people WHERE 1 = 0;
SELECT * FROM (SELECT p.sex, v.ward FROM people p JOIN visits v ON v.person = p.id) T WHERE 0 = 1;
SELECT s.*, c.country FROM sales s JOIN customers c ON c.cid = s.cid LIMIT 0;
SELECT id, income FROM main.people WHERE false;
SELECT COUNT(*) AS n, SUM(hours) AS h FROM people WHERE 1 = 2;
WITH x AS (SELECT * FROM people) SELECT * FROM x LIMIT 0;
