-- Version 2, over ledger.sql: strata, ceilings for principals, and delta for selections of keys. What version 1 wrote keeps its
-- meaning by the defaults: a budget is the table's own, a charge concerns every unit.
PRAGMA user_version = 2;

-- Whom the amount is a ceiling for, under the table's own budget; '': it is that budget.
ALTER TABLE budget ADD COLUMN holder TEXT NOT NULL DEFAULT '';

-- The delta that selections of keys may use, and the one that a charge used, in 1e-24.
ALTER TABLE budget ADD COLUMN yocto INTEGER NOT NULL DEFAULT 0
    CHECK (typeof(yocto) = 'integer' AND yocto BETWEEN 0 AND 1000000000000000000);
ALTER TABLE charge ADD COLUMN yocto INTEGER NOT NULL DEFAULT 0
    CHECK (typeof(yocto) = 'integer' AND yocto BETWEEN 0 AND 1000000000000000000);

-- Which units a charge concerns, in which state of the vault: see strata.py. NULL: of before.
ALTER TABLE charge ADD COLUMN snapshot_id INTEGER REFERENCES snapshot;
ALTER TABLE charge ADD COLUMN strata TEXT NOT NULL DEFAULT '{}';  -- JSON

-- The budgets and ceilings in force.
CREATE VIEW standing AS
SELECT unit_table, holder, kind, nano, delta, yocto
FROM budget
WHERE id IN (SELECT max(id) FROM budget GROUP BY unit_table, holder);

-- What each principal paid, by state of the vault and strata.
CREATE VIEW spending AS
SELECT charge.unit_table, statement.principal, charge.kind, charge.snapshot_id, charge.strata,
    sum(charge.nano) AS nano, sum(charge.yocto) AS yocto, count(*) AS charges
FROM charge
JOIN statement ON statement.id = charge.statement_id
GROUP BY 1, 2, 3, 4, 5;

DROP VIEW account;
