-- Version 4, over schema_3.sql: budgets of periods. What earlier versions wrote keeps its meaning by the defaults: an amount for
-- all time.
PRAGMA user_version = 4;

-- The period that the amount is an allowance for ('': for all time), the last day (UTC) on which anything may be charged ('': none),
-- and the most over all periods in nano (0: no such limit).
ALTER TABLE budget ADD COLUMN per TEXT NOT NULL DEFAULT ''
    CHECK (per IN ('', 'day', 'week', 'month', 'quarter', 'year'));
ALTER TABLE budget ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE budget ADD COLUMN whole INTEGER NOT NULL DEFAULT 0
    CHECK (typeof(whole) = 'integer' AND whole BETWEEN 0 AND 1000000000000000000);

-- The budgets and ceilings in force.
DROP VIEW standing;
CREATE VIEW standing AS
SELECT unit_table, holder, kind, nano, delta, yocto, per, until, whole
FROM budget
WHERE id IN (SELECT max(id) FROM budget GROUP BY unit_table, holder);
