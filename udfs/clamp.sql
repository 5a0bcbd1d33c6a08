-- Claim: the result is NULL (for NULL) or lies in [low, high], for every x that compares with them.
-- NULL fails both tests and stays NULL. NaN is above every number and would become `high`: real
-- arguments pass through `number` first.
CREATE MACRO sqlpriv_clamp(x, low, high) AS
    CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END;
