-- The analyst's part, on the vault that ny_census_vault.sql makes:
--   sqlpriv query ny.duckdb -f examples/ny_census.sql

SHOW PRIVACY BUDGET;

-- What it would cost and how good it would be: touches no row, charges nothing.
EXPLAIN PRIVACY
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25)
       SEX, RAC5, COUNT(*) AS n, AVG(WKHP) AS hours
FROM people STRATIFY BY SEX, RAC5;

-- Every group, and in the last row everybody, at that one price.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25)
       SEX, RAC5, COUNT(*) AS n, AVG(WKHP) AS hours
FROM people STRATIFY BY SEX, RAC5;

-- Who earns more than 50,000 dollars a year, by sex and decade of age.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25)
       SEX, AGEP // 10 AS decade, AVG(PINCP_GT50K) AS above_50k
FROM people GROUP BY AGEP // 10 STRATIFY BY SEX
HAVING GROUPING(SEX) = 0 ORDER BY SEX, decade;

SHOW PRIVACY BUDGET;
