-- The owner's part: 103,021 people of New York (ACS 2018, the folktables income task) become a
-- vault. Run from the repository's root, where ../shared/data holds the rows:
--   sqlpriv query ny.duckdb --role owner -f examples/ny_census_vault.sql

CREATE OR REPLACE TABLE people (
    person_id BIGINT PRIMARY KEY, SEX TINYINT, RAC5 TINYINT, AGEP TINYINT, SCHL TINYINT,
    MAR2 TINYINT, COW TINYINT, WKHP TINYINT, PINCP_GT50K TINYINT
);
-- The survey has one row a person and no key: the row's number serves as one.
INSERT INTO people
SELECT row_number() OVER (), SEX, RAC5, AGEP, SCHL, MAR2, COW, WKHP, PINCP_GT50K
FROM '../shared/data/acs2018_ny_income.parquet';

ALTER TABLE people ADD PRIVACY_KEY (person_id);
ALTER TABLE people SET PU;
-- NOT NULL promises that no value is missing: AVG(WKHP) then shares the count of COUNT(*).
ALTER TABLE people ALTER COLUMN SEX SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN RAC5 SET PRIVACY DOMAIN IN (1, 2, 3, 4, 5);
ALTER TABLE people ALTER COLUMN AGEP SET PRIVACY DOMAIN BETWEEN (17, 95);
ALTER TABLE people ALTER COLUMN SCHL SET PRIVACY DOMAIN BETWEEN (1, 24);
ALTER TABLE people ALTER COLUMN MAR2 SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN COW SET PRIVACY DOMAIN BETWEEN (1, 8);
ALTER TABLE people ALTER COLUMN WKHP SET PRIVACY DOMAIN BETWEEN (1, 99) NOT NULL;
ALTER TABLE people ALTER COLUMN PINCP_GT50K SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
