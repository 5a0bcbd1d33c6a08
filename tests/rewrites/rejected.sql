-- a raw column
SELECT age FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: the column "age" is neither a key nor in an aggregate
--   Hint: put it in GROUP BY or inside an aggregate; raw rows never leave

-- a raw column beside an aggregate
SELECT age, COUNT(*) AS n FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: the column "age" is neither a key nor in an aggregate
--   Hint: put it in GROUP BY or inside an aggregate; raw rows never leave

-- a raw column inside an expression over an aggregate
SELECT COUNT(*) / income AS q FROM people STRATIFY BY sex;
-- error
--   line 1, column 19: the column "income" is neither a key nor in an aggregate
--   Hint: put it in GROUP BY or inside an aggregate; raw rows never leave

-- a raw column in HAVING
SELECT COUNT(*) AS n FROM people STRATIFY BY sex HAVING income > 3;
-- error
--   line 1, column 57: the column "income" is neither a key nor in an aggregate
--   Hint: put it in GROUP BY or inside an aggregate; raw rows never leave

-- a raw column in ORDER BY
SELECT COUNT(*) AS n FROM people STRATIFY BY sex ORDER BY income;
-- error
--   line 1, column 59: the column "income" is neither a key nor in an aggregate
--   Hint: put it in GROUP BY or inside an aggregate; raw rows never leave

-- no such column
SELECT AVG(salary) AS a FROM people STRATIFY BY sex;
-- error
--   line 1, column 12: there is no column "salary" in "people"
--   Hint: its columns are: id, sex, race, age, income, debt, hours, region, born, employed, wealth, tips, note, tags

-- no such column outside an aggregate
SELECT salary, COUNT(*) AS n FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: there is no column "salary" in "people"
--   Hint: its columns are: id, sex, race, age, income, debt, hours, region, born, employed, wealth, tips, note, tags

-- a qualifier that is not the table
SELECT AVG(q.income) AS a FROM people AS p STRATIFY BY sex;
-- error
--   line 1, column 12: "q" is not the table of FROM
--   Hint: write p.income

-- the table's name behind an alias
SELECT AVG(people.income) AS a FROM people AS p STRATIFY BY sex;
-- error
--   line 1, column 12: "people" is not the table of FROM
--   Hint: write p.income

-- a column of a type that expressions cannot use
SELECT COUNT(tags) AS n FROM people STRATIFY BY sex;
-- error
--   line 1, column 14: the column "tags" is a VARCHAR[], which is not read in private rows
--   Hint: a list is no single value: select one element's column, or keep its elements in a table of their own that is linked to this one

-- no aggregate
SELECT sex FROM people STRATIFY BY sex;
-- error
--   line 1, column 1: this statement asks for no aggregate
--   Hint: add COUNT(*): declared levels themselves are public (DESCRIBE t)

-- SUM without declared bounds
SELECT SUM(wealth) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: SUM needs public bounds of its argument
--   Hint: the owner runs ALTER TABLE people ALTER COLUMN wealth SET PRIVACY DOMAIN BETWEEN (low, high)

-- AVG of an expression without bounds
SELECT AVG(income + wealth) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs public bounds of its argument
--   Hint: the owner runs ALTER TABLE people ALTER COLUMN wealth SET PRIVACY DOMAIN BETWEEN (low, high)

-- AVG without bounds where the divisor may be zero
SELECT AVG(age / income) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs public bounds of its argument
--   Hint: clamp it: LEAST(GREATEST(x, low), high)

-- AVG of a condition
SELECT AVG(age > 30) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs numbers, and this is a condition
--   Hint: write COUNT(*) FILTER (WHERE condition)

-- AVG of a boolean column
SELECT AVG(employed) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs numbers, and this is a condition
--   Hint: write COUNT(*) FILTER (WHERE condition)

-- AVG of text
SELECT AVG(note) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs numbers, not text values
--   Hint: count the groups instead: SELECT x, COUNT(*) FROM t GROUP BY x; where the texts are numbers, the owner runs ALTER TABLE people ALTER COLUMN note TYPE DOUBLE

-- AVG of a date
SELECT AVG(born) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs numbers, not date values
--   Hint: count from a day on: AVG(date_diff('day', DATE '2024-01-01', born))

-- bounds beyond a BIGINT
SELECT SUM(age * 1000000000 * 1000000000 * 10) AS s FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: the bounds of the argument of SUM go beyond ±2^62
--   Hint: narrow the declared domains, or clamp: LEAST(GREATEST(x, low), high)

-- MAX of a string
SELECT MAX(note) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: MAX needs numbers, not text values
--   Hint: count the groups instead: SELECT x, COUNT(*) FROM t GROUP BY x; where the texts are numbers, the owner runs ALTER TABLE people ALTER COLUMN note TYPE DOUBLE

-- a share beyond 1
SELECT QUANTILE_CONT(income, 50) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: QUANTILE_CONT takes a share from 0 to 1
--   Hint: write QUANTILE_CONT(x, 0.25)

-- a median without bounds
SELECT MEDIAN(wealth) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: MEDIAN needs public bounds of its argument
--   Hint: the owner runs ALTER TABLE people ALTER COLUMN wealth SET PRIVACY DOMAIN BETWEEN (low, high)

-- MODE of a measure
SELECT MODE(income) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: MODE needs a public list of its argument's values
--   Hint: count the groups instead: SELECT x, COUNT(*) FROM t GROUP BY x

-- a list of values
SELECT LIST(note) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: LIST has no private counterpart
--   Hint: list(DISTINCT x) has the listed values that occur, histogram(x) their counts, and answers can be a list: SELECT list(x ORDER BY x) FROM (SELECT x, COUNT(*) AS n FROM t GROUP BY x)

-- an aggregate misspelt
SELECT sex, summ(income) + 1 AS m FROM people GROUP BY sex;
-- error
--   line 1, column 13: there is no function summ
--   Hint: did you mean sum?

-- text put together
SELECT STRING_AGG(note, ',') AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: STRING_AGG has no private counterpart
--   Hint: list(DISTINCT x) has the listed values that occur, histogram(x) their counts, and answers can be a list: SELECT list(x ORDER BY x) FROM (SELECT x, COUNT(*) AS n FROM t GROUP BY x)

-- an aggregate inside another
SELECT SUM(AVG(income)) AS m FROM people STRATIFY BY sex;
-- error
--   line 1, column 12: an aggregate cannot hold another
--   Hint: build it outside: SUM(x) / COUNT(*)

-- an aggregate in WHERE
SELECT COUNT(*) AS n FROM people WHERE AVG(income) > 3 STRATIFY BY sex;
-- error
--   line 1, column 40: WHERE cannot hold an aggregate
--   Hint: filter groups with HAVING

-- an aggregate's alias in WHERE
SELECT COUNT(*) AS n FROM people WHERE n > 3 STRATIFY BY sex;
-- error
--   line 1, column 8: WHERE cannot hold an aggregate
--   Hint: filter groups with HAVING

-- an aggregate in GROUP BY
SELECT COUNT(*) AS n FROM people GROUP BY SUM(income);
-- error
--   line 1, column 43: GROUP BY cannot hold an aggregate
--   Hint: use HAVING to filter groups

-- WHERE without a condition
SELECT COUNT(*) AS n FROM people WHERE age STRATIFY BY sex;
-- error
--   line 1, column 40: WHERE needs a condition
--   Hint: compare it, as in age >= 18

-- a number beside text
SELECT COUNT(*) AS n FROM people WHERE sex = 1 STRATIFY BY sex;
-- error
--   line 1, column 46: 1 stands where text is needed
--   Hint: put text in single quotes, as in sex = '1'

-- a number in a list of text
SELECT COUNT(*) AS n FROM people WHERE sex IN ('F', 2) STRATIFY BY sex;
-- error
--   line 1, column 53: 2 stands where text is needed
--   Hint: put text in single quotes, as in sex = '1'

-- a column of another kind in an IN list
SELECT COUNT(*) AS n FROM people WHERE age IN (sex, 2) STRATIFY BY sex;
-- error
--   line 1, column 40: the types integer and text are mixed
--   Hint: bring both sides to one type

-- not a date
SELECT COUNT(*) AS n FROM people WHERE born > 'yesterday' STRATIFY BY sex;
-- error
--   line 1, column 47: 'yesterday' is not a date
--   Hint: write DATE '2020-12-31'

-- a number beside a date
SELECT COUNT(*) AS n FROM people WHERE born > 1990 STRATIFY BY sex;
-- error
--   line 1, column 47: 1990 stands where a date is needed
--   Hint: write DATE '2020-12-31'

-- a time of day beside a date
SELECT COUNT(*) AS n FROM people WHERE born IN (TIMESTAMP '1990-01-01 12:00:00') STRATIFY BY sex;
-- error
--   line 1, column 49: a DATE column is compared with a time of day
--   Hint: write the date alone

-- columns of two types
SELECT COUNT(*) AS n FROM people WHERE age = sex STRATIFY BY sex;
-- error
--   line 1, column 40: the types integer and text are mixed
--   Hint: bring both sides to one type

-- branches of two types
SELECT COUNT(CASE WHEN age > 3 THEN sex ELSE age END) AS n FROM people STRATIFY BY sex;
-- error
--   line 1, column 37: the types integer and text are mixed
--   Hint: bring both sides to one type

-- arithmetic on text
SELECT COUNT(*) AS n FROM people WHERE sex + 1 > 2 STRATIFY BY sex;
-- error
--   line 1, column 40: + needs integer or real, not integer and text
--   Hint: arithmetic is for numbers; dates have parts: year(d), month(d), and moments a distance: date_diff('hour', x, y)

-- a function that has no total form
SELECT COUNT(*) AS n FROM people WHERE reverse(note) = 'x' STRATIFY BY sex;
-- error
--   line 1, column 40: the function reverse cannot be used on private rows
--   Hint: row expressions know + - * / // %, comparisons, AND/OR/NOT, IN, BETWEEN, IS NULL, CASE, IF, COALESCE, NULLIF, LEAST, GREATEST, abs, floor, ceil, round, sqrt, ln, exp, pow, date parts; any function of columns with declared lists of values

-- a function that raises on some row
SELECT AVG(ln(income)) AS a FROM people STRATIFY BY sex;
-- error
--   line 1, column 8: AVG needs public bounds of its argument
--   Hint: clamp it: LEAST(GREATEST(x, low), high)

-- concatenation on rows
SELECT COUNT(*) AS n FROM people WHERE sex || note = 'x' STRATIFY BY sex;
-- error
--   line 1, column 40: the operator || is not for private rows
--   Hint: compare whole values: region IN ('north', 'south'), or CASE region WHEN 'north' THEN …

-- an unknown function on rows
SELECT AVG(frobnicate(income)) AS a FROM people STRATIFY BY sex;
-- error
--   line 1, column 12: the function frobnicate cannot be used on private rows
--   Hint: row expressions know + - * / // %, comparisons, AND/OR/NOT, IN, BETWEEN, IS NULL, CASE, IF, COALESCE, NULLIF, LEAST, GREATEST, abs, floor, ceil, round, sqrt, ln, exp, pow, date parts; any function of columns with declared lists of values

-- a cast that could fail
SELECT AVG(CAST(note AS INTEGER)) AS a FROM people STRATIFY BY sex;
-- error
--   line 1, column 12: a cast from text to INTEGER could fail on some row
--   Hint: casts between INTEGER or BIGINT and DOUBLE, and from BOOLEAN, can be used

-- a date part of a number
SELECT COUNT(*) AS n FROM people WHERE year(age) > 3 STRATIFY BY sex;
-- error
--   line 1, column 40: YEAR needs date or timestamp, not integer
--   Hint: dates and timestamps have parts; hours and minutes are a TIMESTAMP's or a TIME's

-- a stratum without a domain
SELECT note, COUNT(*) AS n FROM people STRATIFY BY note;
-- error
--   line 1, column 52: STRATIFY BY needs a public list of this key's values
--   Hint: the owner runs ALTER TABLE people ALTER COLUMN note SET PRIVACY DOMAIN IN ('a', 'b'), or keeps keys_delta in the budget of people, from which keys are selected

-- a stratum of reals
SELECT COUNT(*) AS n FROM people STRATIFY BY income;
-- error
--   line 1, column 46: STRATIFY BY needs a public list of this key's values
--   Hint: use GROUP BY with bins of it: CAST(floor(income / 10) AS INTEGER)

-- a stratum of dates
SELECT COUNT(*) AS n FROM people STRATIFY BY born;
-- error
--   line 1, column 46: STRATIFY BY needs a public list of this key's values
--   Hint: use GROUP BY date_trunc('month', born), parts: year(born), or its days, in WHERE born BETWEEN … AND … (at most ten years)

-- a stratum named twice
SELECT COUNT(*) AS n FROM people STRATIFY BY sex, sex;
-- error
--   line 1, column 51: a stratum column is named twice
--   Hint: name it once

-- no such stratum
SELECT COUNT(*) AS n FROM people STRATIFY BY gender;
-- error
--   line 1, column 46: there is no column "gender" in "people"
--   Hint: its columns are: id, sex, race, age, income, debt, hours, region, born, employed, wealth, tips, note, tags

-- a group without a domain
SELECT note, COUNT(*) AS n FROM people GROUP BY note;
-- error
--   line 1, column 49: GROUP BY needs a public list of this key's values
--   Hint: the owner runs ALTER TABLE people ALTER COLUMN note SET PRIVACY DOMAIN IN ('a', 'b'), or keeps keys_delta in the budget of people, from which keys are selected

-- a group of reals
SELECT income, COUNT(*) AS n FROM people GROUP BY income;
-- error
--   line 1, column 51: GROUP BY needs a public list of this key's values
--   Hint: use GROUP BY with bins of it: CAST(floor(income / 10) AS INTEGER)

-- a group of dates
SELECT born, COUNT(*) AS n FROM people GROUP BY born;
-- error
--   line 1, column 49: GROUP BY needs a public list of this key's values
--   Hint: use GROUP BY date_trunc('month', born), parts: year(born), or its days, in WHERE born BETWEEN … AND … (at most ten years)

-- a derived group without bounds
SELECT floor(wealth) AS f, COUNT(*) AS n FROM people GROUP BY f;
-- error
--   line 1, column 63: GROUP BY needs a public list of this key's values
--   Hint: group by bins of a column with declared bounds: CAST(floor(x / 10) AS INTEGER)

-- a group that is a stratum already
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex STRATIFY BY sex;
-- error
--   line 1, column 48: this key of GROUP BY is a stratum already
--   Hint: leave it out here

-- no such ordinal in GROUP BY
SELECT sex, COUNT(*) AS n FROM people GROUP BY 3;
-- error
--   line 1, column 48: GROUP BY has no such output
--   Hint: outputs are 1 to 2

-- no such ordinal in ORDER BY
SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY 3;
-- error
--   line 1, column 59: ORDER BY has no such output
--   Hint: outputs are 1 to 2

-- too many cells
SELECT COUNT(*) AS n FROM people GROUP BY age, hours, race, region STRATIFY BY sex;
-- error
--   line 1, column 68: the answer would have 147600 cells; 100000 is the most
--   Hint: group by fewer keys or wider bins, as in age // 10

-- GROUPING of what is no key
SELECT GROUPING(age) AS g, COUNT(*) AS n FROM people STRATIFY BY sex;
-- error
--   line 1, column 17: GROUPING takes strata and grouping keys
--   Hint: GROUPING(sex, race)

-- a LIMIT that is no whole number
SELECT COUNT(*) AS n FROM people STRATIFY BY sex LIMIT 1.5;
-- error
--   line 1, column 56: LIMIT and OFFSET take a whole number
--   Hint: as in LIMIT 10

-- an option that does not exist
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (gamma = 1) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: there is no option gamma
--   Hint: one of: epsilon, rho, max_relative_error, report, smooth, left_out, integers, population_share, coinpress_steps, coinpress_sigma, max_rows_contributed, max_groups_contributed

-- two prices
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, rho = 1) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: a statement has one price
--   Hint: write epsilon or rho, once

-- a price of nothing
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: epsilon is a positive finite number, not 0
--   Hint: write epsilon = 0.1

-- a negative price
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = -1) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: epsilon is a positive finite number, not -1
--   Hint: write epsilon = 0.1

-- a bound above the owner's
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 2) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: max_rows_contributed is above the owner's bound, which is 1
--   Hint: write max_rows_contributed = 1 or less

-- a bound of nothing
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 0) COUNT(*) AS n FROM people;
-- error
--   line 1, column 1: the option max_groups_contributed is out of range
--   Hint: write max_groups_contributed = 2: a whole number of strata of one unit

-- WHERE behind LIMIT
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM people LIMIT 1 WHERE sex = 1;
-- error
--   line 1, column 90: WHERE comes before LIMIT
--   Hint: the order is SELECT … FROM … WHERE … GROUP BY … STRATIFY BY … HAVING … ORDER BY … LIMIT

-- HAVING behind ORDER BY
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n HAVING n > 1;
-- error
--   line 1, column 111: HAVING comes before ORDER
--   Hint: the order is SELECT … FROM … WHERE … GROUP BY … STRATIFY BY … HAVING … ORDER BY … LIMIT

-- a threshold alone, as GoogleSQL has it
SELECT WITH AGGREGATION_THRESHOLD OPTIONS (threshold = 10) sex, COUNT(*) AS n FROM people GROUP BY sex;
-- error
--   line 1, column 8: a threshold alone protects nobody: differences tell of one row
--   Hint: write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) …

-- the price of a synthetic table as PostgreSQL writes a table's options
CREATE SYNTHETIC TABLE s AS SELECT sex FROM people USING mst WITH (epsilon = 1);
-- error
--   line 1, column 62: the options of a synthetic table stand behind OPTIONS, not WITH
--   Hint: write OPTIONS (epsilon = 1)
