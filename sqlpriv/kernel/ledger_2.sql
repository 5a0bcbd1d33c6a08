-- Version 2, over ledger.sql: strata, and ceilings for principals. What version 1 wrote keeps its
-- meaning by the defaults: a budget is the table's own, a charge concerns every unit.
PRAGMA user_version = 2;

-- Whom the amount is a ceiling for, under the table's own budget; '': it is that budget.
ALTER TABLE budget ADD COLUMN holder TEXT NOT NULL DEFAULT '';

-- Which units a charge concerns, in which state of the vault: see strata.py. NULL: of before.
ALTER TABLE charge ADD COLUMN snapshot_id INTEGER REFERENCES snapshot;
ALTER TABLE charge ADD COLUMN strata TEXT NOT NULL DEFAULT '{}';  -- JSON

-- The budgets and ceilings in force.
CREATE VIEW standing AS
SELECT unit_table, holder, kind, nano, delta
FROM budget
WHERE id IN (SELECT max(id) FROM budget GROUP BY unit_table, holder);

-- What each principal paid, by state of the vault and strata.
CREATE VIEW spending AS
SELECT charge.unit_table, statement.principal, charge.kind, charge.snapshot_id, charge.strata,
    sum(charge.nano) AS nano, count(*) AS charges
FROM charge
JOIN statement ON statement.id = charge.statement_id
GROUP BY 1, 2, 3, 4, 5;

DROP VIEW account;
