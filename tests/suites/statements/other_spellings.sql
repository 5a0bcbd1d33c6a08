SELECT main.people.sex, COUNT(*) AS n FROM main.people WHERE main.people.age > 30 GROUP BY main.people.sex;
SELECT people.sex, COUNT(*) AS n FROM memory.main.people GROUP BY 1;
SELECT r.inhabitants, a.n FROM (SELECT region, COUNT(*) AS n FROM main.people GROUP BY region) a JOIN main.regions r ON r.region = a.region;
SELECT position('o' IN region) AS p, COUNT(*) AS n FROM people GROUP BY p;
SELECT COUNT(*) AS n FROM people WHERE age << 1 > 100 OR hours >> 1 = 7 OR xor(hours, 3) = 4;
SELECT COUNT(*) AS n FROM people WHERE (sex, region) = ('F', 'north');
SELECT COUNT(*) AS n FROM people WHERE (sex, year) <> ('F', 2020) AND (sex, year) <> ('M', NULL);
SELECT upper(region[1]) || region[2:] AS r, region[-1] AS l, region[:2] AS b, region[2:3] AS m, COUNT(*) AS n FROM people GROUP BY ALL HAVING n > 0;
SELECT string_split(region, 'o')[1] AS s, COUNT(*) AS n FROM people GROUP BY s;
SELECT COUNT(*) AS n FROM stays WHERE arrived > TIMESTAMPTZ '2023-01-31 12:00:00+02' AND arrived AT TIME ZONE 'UTC' < TIMESTAMP '2023-03-01'
-- plain
SELECT COUNT(*) FROM stays WHERE arrived > '2023-01-31 10:00:00' AND arrived < '2023-03-01';
SELECT COUNT(*) AS n FROM stays WHERE arrived < make_timestamp(2023, 2, 1, 12, 0, 0.0) AND day > make_date(2023, 1, 5) AND arrived > strptime('03.01.2023', '%d.%m.%Y');
SELECT COUNT(*) AS n FROM stays WHERE to_timestamp(1675000000) < arrived
-- plain
SELECT COUNT(*) FROM stays WHERE arrived > '2023-01-29 13:46:40';
SELECT date(arrived) AS d, COUNT(*) AS n FROM stays WHERE arrived < '2023-01-05' GROUP BY d HAVING n > 0;
SELECT decade(arrived) AS d, century(arrived) AS c, date_part('millennium', arrived) AS m, isoyear(arrived) AS i, COUNT(*) AS n FROM stays GROUP BY ALL HAVING n > 0;
SELECT yearweek(arrived) AS w, COUNT(*) AS n FROM stays GROUP BY w HAVING n > 0;
SELECT COUNT(*) AS n FROM people WHERE region = lower('NORTH') AND income > sqrt(10000) + abs(-5);
