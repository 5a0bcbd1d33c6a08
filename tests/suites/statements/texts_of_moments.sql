SELECT left(arrived::VARCHAR, 7) AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0;
SELECT left(CAST(seen AS VARCHAR), 4) AS y, COUNT(*) AS n FROM logins GROUP BY y HAVING n > 0;
SELECT substring(seen::VARCHAR, 1, 10) AS d, COUNT(*) AS n FROM logins GROUP BY d HAVING n > 0;
SELECT seen::DATE::VARCHAR AS d, COUNT(*) AS n FROM logins GROUP BY d HAVING n > 0;
SELECT COUNT(*) AS n FROM logins WHERE left(seen::VARCHAR, 13) = '2024-01-02 11';
SELECT make_date(year(arrived), month(arrived), 1) AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0;
SELECT make_date(year(seen), 1, 1) AS y, COUNT(*) AS n FROM logins GROUP BY y HAVING n > 0;
SELECT make_date(date_part('year', seen), date_part('month', seen), day(seen)) AS d, COUNT(*) AS n FROM logins GROUP BY d HAVING n > 0;
SELECT make_timestamp(year(seen), month(seen), day(seen), hour(seen), 0, 0) AS h, COUNT(*) AS n FROM logins WHERE seen < TIMESTAMP '2023-12-30 00:00:00' GROUP BY h HAVING n > 0;
SELECT year(arrived) || '-Q' || quarter(arrived) AS q, COUNT(*) AS n FROM stays GROUP BY q HAVING n > 0;
SELECT concat(year(seen), '-', lpad(month(seen)::VARCHAR, 2, '0')) AS m, COUNT(*) AS n FROM logins GROUP BY m HAVING n > 0;
SELECT upper(strftime(arrived, '%b')) AS m, COUNT(*) AS n FROM stays GROUP BY m HAVING n > 0;
SELECT printf('%02d:00', hour(arrived)) AS h, COUNT(*) AS n FROM stays GROUP BY h HAVING n > 0;
SELECT quarter(sold)::VARCHAR AS q, COUNT(*) AS n FROM sales GROUP BY q HAVING n > 0;
SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END || '/' || region AS k, COUNT(*) AS n FROM people GROUP BY k HAVING n > 0;
SELECT (age // 25)::VARCHAR || ' quarters' AS k, COUNT(*) AS n FROM people GROUP BY k HAVING n > 0;
SELECT COUNT(*) AS n FROM stays WHERE format('{}-{}', year(arrived), month(arrived)) = '2023-2'
